// Rounding of whole score matrices has to be fast: numbers in the normal range of f16 and bf16 are rounded on the bits
// of the float32, the rest by the general conversion.
#include "Rounding.h"
#include <bit>
#include <cmath>

namespace fa::reference {

double unitRoundoff(DType type) {
  switch (type) {
  case DType::F64:
    return std::ldexp(1.0, -53);
  case DType::F32:
    return std::ldexp(1.0, -24);
  case DType::F16:
    return std::ldexp(1.0, -11);
  case DType::BF16:
    return std::ldexp(1.0, -8);
  case DType::E4M3:
    return std::ldexp(1.0, -4);
  case DType::E5M2:
    return std::ldexp(1.0, -3);
  default:
    return 0;
  }
}

double underflowError(DType type) {
  switch (type) {
  case DType::F64:
    return std::ldexp(1.0, -1022);
  case DType::F32:
    return std::ldexp(1.0, -126);
  case DType::F16:
    return std::ldexp(1.0, -25);
  case DType::BF16:
    return std::ldexp(1.0, -126); // as wide as f32, and made from flushed f32 values
  case DType::E4M3:
    return std::ldexp(1.0, -10);
  case DType::E5M2:
    return std::ldexp(1.0, -17);
  default:
    return 0;
  }
}

DType computeType(DType input) { return input == DType::F64 ? DType::F64 : DType::F32; }

float roundTo(DType type, float value) {
  if (type == DType::F32 || type == DType::F64)
    return value;
  const int drop = type == DType::BF16 ? 16 : type == DType::F16 ? 13 : 0;
  if (drop) {
    const uint32_t bits = std::bit_cast<uint32_t>(value);
    const uint32_t exponent = bits >> 23 & 0xff;
    // One binade short of overflow on either side, so that a carry cannot leave the range.
    const bool normal = type == DType::BF16 ? exponent > 0 && exponent < 254 : exponent > 112 && exponent < 142;
    if (normal) {
      const uint32_t half = (1u << (drop - 1)) - 1 + (bits >> drop & 1);
      return std::bit_cast<float>((bits + half) & ~((1u << drop) - 1));
    }
  }
  return static_cast<float>(roundTo(type, static_cast<double>(value)));
}

double roundTo(DType type, double value) {
  if (type == DType::F64)
    return value;
  unsigned char element[8];
  storeFromDouble(type, element, value);
  return loadAsDouble(type, element);
}

} // namespace fa::reference
