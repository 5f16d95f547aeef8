// Rounding between float64 and the small float formats, done on bits once for every format (width of exponent and
// fraction), so that f16, bf16, e4m3 and e5m2 cannot disagree on ties, subnormals or overflow.
#include "fa/Support/DType.h"
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>

namespace fa {
namespace {

/// A binary format of at most 16 bits. `ieeeSpecials`: the all-ones exponent holds infinity and NaN; otherwise (e4m3fn)
/// only the all-ones pattern is NaN and the rest of that binade are numbers.
struct Format {
  int exponentBits;
  int fractionBits;
  bool ieeeSpecials;

  constexpr int bias() const { return (1 << (exponentBits - 1)) - 1; }
  constexpr uint32_t exponentMask() const { return (1u << exponentBits) - 1; }
  constexpr uint32_t infinity() const { return exponentMask() << fractionBits; }
  constexpr uint32_t nan() const {
    return ieeeSpecials ? infinity() | (1u << (fractionBits - 1)) : (1u << (exponentBits + fractionBits)) - 1;
  }
  /// Largest finite number, as bits.
  constexpr uint32_t largest() const { return (ieeeSpecials ? infinity() : nan()) - 1; }
  constexpr uint32_t overflow() const { return ieeeSpecials ? infinity() : nan(); }
};

constexpr Format f16{5, 10, true}, bf16{8, 7, true}, e4m3{4, 3, false}, e5m2{5, 2, true};

constexpr int doubleFraction = 52;

uint32_t encode(Format format, double value) {
  const uint64_t bits = std::bit_cast<uint64_t>(value);
  const uint32_t sign = static_cast<uint32_t>(bits >> 63) << (format.exponentBits + format.fractionBits);
  if (std::isnan(value))
    return sign | format.nan();
  if (std::isinf(value))
    return sign | format.overflow();
  const int doubleExponent = static_cast<int>((bits >> doubleFraction) & 0x7ff);
  if (doubleExponent == 0) // zero, or far below half of the smallest subnormal
    return sign;
  const uint64_t significand = (bits & ((1ull << doubleFraction) - 1)) | (1ull << doubleFraction);
  int exponent = doubleExponent - 1023 + format.bias();
  int drop = doubleFraction - format.fractionBits;
  if (exponent < 1) {
    drop += 1 - exponent;
    exponent = 1;
  }
  if (drop > doubleFraction + 1)
    return sign;
  const uint64_t kept = significand >> drop, rest = significand & ((1ull << drop) - 1), half = 1ull << (drop - 1);
  uint64_t rounded = kept + (rest > half || (rest == half && (kept & 1)) ? 1 : 0);
  // The hidden bit adds one to the exponent field, and so does a carry out of the fraction.
  rounded += static_cast<uint64_t>(exponent - 1) << format.fractionBits;
  return sign | (rounded > format.largest() ? format.overflow() : static_cast<uint32_t>(rounded));
}

double decode(Format format, uint32_t bits) {
  const uint32_t signBit = 1u << (format.exponentBits + format.fractionBits);
  const bool negative = bits & signBit;
  const uint32_t magnitude = bits & (signBit - 1);
  const uint32_t exponent = magnitude >> format.fractionBits;
  const uint32_t fraction = magnitude & ((1u << format.fractionBits) - 1);
  double value;
  if (format.ieeeSpecials ? exponent == format.exponentMask() : magnitude == format.nan())
    value = format.ieeeSpecials && fraction == 0 ? std::numeric_limits<double>::infinity()
                                                 : std::numeric_limits<double>::quiet_NaN();
  else if (exponent == 0)
    value = std::ldexp(static_cast<double>(fraction), 1 - format.bias() - format.fractionBits);
  else
    value = std::bit_cast<double>(static_cast<uint64_t>(static_cast<int>(exponent) - format.bias() + 1023)
                                      << doubleFraction |
                                  static_cast<uint64_t>(fraction) << (doubleFraction - format.fractionBits));
  return negative ? -value : value;
}

struct Names {
  DType type;
  std::string_view mlir;
  std::string_view numpy;
  size_t bytes;
};

constexpr Names names[] = {
    {DType::F64, "f64", "float64", 8},
    {DType::F32, "f32", "float32", 4},
    {DType::F16, "f16", "float16", 2},
    {DType::BF16, "bf16", "bfloat16", 2},
    {DType::E4M3, "f8E4M3FN", "float8_e4m3fn", 1},
    {DType::E5M2, "f8E5M2", "float8_e5m2", 1},
    {DType::I64, "i64", "int64", 8},
    {DType::I32, "i32", "int32", 4},
    {DType::I16, "i16", "int16", 2},
    {DType::I8, "i8", "int8", 1},
    {DType::U8, "ui8", "uint8", 1},
    {DType::I1, "i1", "bool", 1},
};

const Names &entryOf(DType type) { return names[static_cast<size_t>(type)]; }

template <typename T> double loadRaw(const void *element) {
  T value;
  std::memcpy(&value, element, sizeof value);
  return static_cast<double>(value);
}

template <typename T> void storeRaw(void *element, T value) { std::memcpy(element, &value, sizeof value); }

/// Nearest integer, ties to even, saturating; NaN becomes 0.
template <typename T> void storeInteger(void *element, double value) {
  const double low = static_cast<double>(std::numeric_limits<T>::min());
  const double high = static_cast<double>(std::numeric_limits<T>::max());
  const double rounded = std::nearbyint(value);
  T result = 0;
  if (rounded >= high)
    result = std::numeric_limits<T>::max();
  else if (rounded <= low)
    result = std::numeric_limits<T>::min();
  else if (!std::isnan(rounded))
    result = static_cast<T>(rounded);
  storeRaw(element, result);
}

} // namespace

size_t sizeOf(DType type) { return entryOf(type).bytes; }
std::string_view nameOf(DType type) { return entryOf(type).mlir; }
bool isFloat(DType type) { return type <= DType::E5M2; }

Expected<DType> parseDType(std::string_view name) {
  for (const Names &entry : names)
    if (name == entry.mlir || name == entry.numpy)
      return entry.type;
  std::string known;
  for (const Names &entry : names)
    known += (known.empty() ? "" : ", ") + std::string(entry.mlir);
  return makeError("expected a dtype (one of " + known + "), but got '" + std::string(name) + "'");
}

uint16_t toF16(double value) { return static_cast<uint16_t>(encode(f16, value)); }
uint16_t toBF16(double value) { return static_cast<uint16_t>(encode(bf16, value)); }
uint8_t toE4M3(double value) { return static_cast<uint8_t>(encode(e4m3, value)); }
uint8_t toE5M2(double value) { return static_cast<uint8_t>(encode(e5m2, value)); }
double fromF16(uint16_t bits) { return decode(f16, bits); }
double fromBF16(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }
double fromE4M3(uint8_t bits) { return decode(e4m3, bits); }
double fromE5M2(uint8_t bits) { return decode(e5m2, bits); }

double loadAsDouble(DType type, const void *element) {
  switch (type) {
  case DType::F64:
    return loadRaw<double>(element);
  case DType::F32:
    return loadRaw<float>(element);
  case DType::F16:
  case DType::BF16: {
    uint16_t bits;
    std::memcpy(&bits, element, sizeof bits);
    return type == DType::F16 ? fromF16(bits) : fromBF16(bits);
  }
  case DType::E4M3:
    return fromE4M3(*static_cast<const uint8_t *>(element));
  case DType::E5M2:
    return fromE5M2(*static_cast<const uint8_t *>(element));
  case DType::I64:
    return loadRaw<int64_t>(element);
  case DType::I32:
    return loadRaw<int32_t>(element);
  case DType::I16:
    return loadRaw<int16_t>(element);
  case DType::I8:
    return loadRaw<int8_t>(element);
  case DType::U8:
    return loadRaw<uint8_t>(element);
  case DType::I1:
    return *static_cast<const uint8_t *>(element) != 0;
  }
  return std::numeric_limits<double>::quiet_NaN();
}

void storeFromDouble(DType type, void *element, double value) {
  switch (type) {
  case DType::F64:
    return storeRaw(element, value);
  case DType::F32:
    return storeRaw(element, static_cast<float>(value));
  case DType::F16:
    return storeRaw(element, toF16(value));
  case DType::BF16:
    return storeRaw(element, toBF16(value));
  case DType::E4M3:
    return storeRaw(element, toE4M3(value));
  case DType::E5M2:
    return storeRaw(element, toE5M2(value));
  case DType::I64:
    return storeInteger<int64_t>(element, value);
  case DType::I32:
    return storeInteger<int32_t>(element, value);
  case DType::I16:
    return storeInteger<int16_t>(element, value);
  case DType::I8:
    return storeInteger<int8_t>(element, value);
  case DType::U8:
    return storeInteger<uint8_t>(element, value);
  case DType::I1:
    return storeRaw<uint8_t>(element, value != 0);
  }
}

} // namespace fa
