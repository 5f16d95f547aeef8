// Rounding between floating-point formats on bit patterns.
#include "fa/Runtime/Emulator/Engine/Convert.h"
#include "Kernels.h"
#include <cmath>

namespace fa::runtime::emulator {
namespace {

/// A binary format narrower than f32: how many fraction bits, and the smallest normal exponent.
struct Format {
  int fractionBits;
  int minExponent;
  uint32_t largest;  ///< bits of the largest finite value
  uint32_t overflow; ///< bits of what a larger value becomes
  uint32_t nan;
  unsigned signBit;
};

constexpr Format f16{10, -14, 0x7bff, 0x7c00, 0x7fff, 15};
constexpr Format bf16{7, -126, 0x7f7f, 0x7f80, 0x7fff, 15};
constexpr Format e4m3{3, -6, 0x7e, 0x7e, 0x7f, 7};
constexpr Format e5m2{2, -14, 0x7b, 0x7b, 0x7f, 7};

enum class Rounding { NearestEven, TowardZero };

/// The value as an integer multiple of the format's step at its exponent; carries into the exponent are correct because
/// exponent and fraction are adjacent fields.
uint32_t roundTo(const Format &format, float value, Rounding rounding) {
  uint32_t bits = std::bit_cast<uint32_t>(value), magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000)
    return format.nan;
  uint32_t sign = (bits >> 31) << format.signBit;
  if (magnitude == 0x7f800000)
    return sign | format.overflow;
  int exponent = static_cast<int>(magnitude >> 23) - 127;
  uint32_t significand = magnitude & 0x7fffff;
  if (exponent == -127)
    exponent = -126;
  else
    significand |= 0x800000;
  int kept = exponent < format.minExponent ? format.minExponent : exponent;
  int shift = 23 - format.fractionBits + (kept - exponent);
  if (shift > 25)
    shift = 25; // below half of the smallest step: rounds to zero
  uint32_t whole = significand >> shift, rest = significand & ((1u << shift) - 1), half = 1u << (shift - 1);
  if (rounding == Rounding::NearestEven && (rest > half || (rest == half && (whole & 1))))
    ++whole;
  // The implicit bit of `whole` adds one to the exponent field.
  int64_t result = (static_cast<int64_t>(kept - format.minExponent) << format.fractionBits) + whole;
  if (result > static_cast<int64_t>(format.largest))
    result = rounding == Rounding::TowardZero ? format.largest : format.overflow;
  return sign | static_cast<uint32_t>(result);
}

float widen(const Format &format, uint32_t magnitude, bool negative) {
  uint32_t field = magnitude >> format.fractionBits, fraction = magnitude & ((1u << format.fractionBits) - 1);
  double value = field ? std::ldexp(1.0 + std::ldexp(fraction, -format.fractionBits),
                                    static_cast<int>(field) - 1 + format.minExponent)
                       : std::ldexp(fraction, format.minExponent - format.fractionBits);
  return static_cast<float>(negative ? -value : value);
}

struct Fp8Table {
  float e4m3[256], e5m2[256];
  Fp8Table() {
    for (unsigned i = 0; i < 256; ++i) {
      uint32_t sign = i >> 7 << 31;
      e4m3[i] = (i & 127) == 127 ? std::bit_cast<float>(0x7fffffffu) : widen(emulator::e4m3, i & 127, i >> 7);
      e5m2[i] = (i & 127) == 0x7c  ? std::bit_cast<float>(0x7f800000u | sign)
                : (i & 127) > 0x7c ? std::bit_cast<float>(0x7fffffffu)
                                   : widen(emulator::e5m2, i & 127, i >> 7);
    }
  }
};

const Fp8Table &fp8Table() {
  static const Fp8Table table;
  return table;
}

/// cvt with .relu: negative values (and -0) become +0, NaN stays for the conversion to canonicalise.
struct ReluLanes {
  uint32_t lanes[lanesPerWarp];
  explicit ReluLanes(const uint32_t *in) {
    for (unsigned i = 0; i < lanesPerWarp; ++i)
      lanes[i] = (in[i] & 0x7fffffff) > 0x7f800000 ? in[i] : in[i] >> 31 ? 0 : in[i];
  }
};

template <typename Convert>
void convertPairs(const uint32_t *upper, const uint32_t *lower, bool relu, Convert convert) {
  if (relu)
    return convert(ReluLanes(upper).lanes, ReluLanes(lower).lanes);
  convert(upper, lower);
}

template <typename Round> void packBytes(const uint32_t *upper, const uint32_t *lower, uint32_t *out, Round round) {
  for (unsigned i = 0; i < lanesPerWarp; ++i)
    out[i] = static_cast<uint32_t>(round(std::bit_cast<float>(upper[i]))) << 8 | round(std::bit_cast<float>(lower[i]));
}

template <typename Widen> void widenBytes(const uint32_t *in, uint32_t *out, Widen widen) {
  for (unsigned i = 0; i < lanesPerWarp; ++i) {
    uint32_t low = roundToF16(widen(static_cast<uint8_t>(in[i])));
    out[i] = low | static_cast<uint32_t>(roundToF16(widen(static_cast<uint8_t>(in[i] >> 8)))) << 16;
  }
}

} // namespace

uint16_t roundToF16(float value) { return static_cast<uint16_t>(roundTo(f16, value, Rounding::NearestEven)); }
uint16_t roundToBF16(float value) { return static_cast<uint16_t>(roundTo(bf16, value, Rounding::NearestEven)); }
uint16_t truncateToF16(float value) { return static_cast<uint16_t>(roundTo(f16, value, Rounding::TowardZero)); }
uint16_t truncateToBF16(float value) { return static_cast<uint16_t>(roundTo(bf16, value, Rounding::TowardZero)); }

// NaN has no sign in the result; the sign of an overflow is kept.
uint8_t roundToE4M3(float value) { return static_cast<uint8_t>(roundTo(e4m3, value, Rounding::NearestEven)); }
uint8_t roundToE5M2(float value) { return static_cast<uint8_t>(roundTo(e5m2, value, Rounding::NearestEven)); }

uint32_t roundAwayToTF32(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffff) > 0x7f800000)
    return 0x7fffffff & ~0x1fffu;
  return (bits & 0x7f800000) == 0x7f800000 ? bits : (bits + 0x1000) & ~0x1fffu;
}

uint32_t roundToTF32(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffff) > 0x7f800000)
    return 0x7fffffff & ~0x1fffu;
  return (bits & 0x7f800000) == 0x7f800000 ? bits : (bits + 0xfff + (bits >> 13 & 1)) & ~0x1fffu;
}

float widenF16(uint16_t bits) {
  uint32_t magnitude = bits & 0x7fff, sign = static_cast<uint32_t>(bits & 0x8000) << 16;
  float value = std::bit_cast<float>(magnitude << 13) * 0x1p112f;
  uint32_t special = magnitude >= 0x7c00 ? 0x7f800000u : 0;
  return std::bit_cast<float>(std::bit_cast<uint32_t>(value) | special | sign);
}
float widenE4M3(uint8_t bits) { return fp8Table().e4m3[bits]; }
float widenE5M2(uint8_t bits) { return fp8Table().e5m2[bits]; }

void convertToBF16x2(const uint32_t *upper, const uint32_t *lower, uint32_t *out, bool relu) {
  convertPairs(upper, lower, relu,
               [&](const uint32_t *u, const uint32_t *l) { detail::kernels().convertToBF16x2(u, l, out); });
}
void convertToF16x2(const uint32_t *upper, const uint32_t *lower, uint32_t *out, bool relu) {
  convertPairs(upper, lower, relu,
               [&](const uint32_t *u, const uint32_t *l) { detail::kernels().convertToF16x2(u, l, out); });
}
void convertToE4M3x2(const uint32_t *upper, const uint32_t *lower, uint32_t *out, bool relu) {
  convertPairs(upper, lower, relu, [&](const uint32_t *u, const uint32_t *l) { packBytes(u, l, out, roundToE4M3); });
}
void convertToE5M2x2(const uint32_t *upper, const uint32_t *lower, uint32_t *out, bool relu) {
  convertPairs(upper, lower, relu, [&](const uint32_t *u, const uint32_t *l) { packBytes(u, l, out, roundToE5M2); });
}
void convertE4M3x2ToF16x2(const uint32_t *in, uint32_t *out) { widenBytes(in, out, widenE4M3); }
void convertE5M2x2ToF16x2(const uint32_t *in, uint32_t *out) { widenBytes(in, out, widenE5M2); }

} // namespace fa::runtime::emulator
