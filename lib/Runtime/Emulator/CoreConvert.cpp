// Conversions, approximate functions, directed rounding and the rarer scalar operations.
#include "CoreValues.h"
#include "Handlers.h"
#include "LaneMath.h"
#include "Machine.h"
#include "fa/Runtime/Emulator/Engine/SpecialFunctions.h"
#include <cfenv>
#include <cmath>

namespace fa::runtime::emulator {

namespace {

/// A source value: an integer with its sign, or a float.
struct Value {
  bool isFloat = false;
  bool isSigned = false;
  uint64_t bits = 0;
  double real = 0;
};

Value decodeValue(ConvertType type, uint64_t raw) {
  switch (type) {
  case ConvertType::U8:
    return {false, false, raw & 0xff, 0};
  case ConvertType::S8:
    return {false, true, static_cast<uint64_t>(static_cast<int64_t>(static_cast<int8_t>(raw))), 0};
  case ConvertType::U16:
    return {false, false, raw & 0xffff, 0};
  case ConvertType::S16:
    return {false, true, static_cast<uint64_t>(static_cast<int64_t>(static_cast<int16_t>(raw))), 0};
  case ConvertType::U32:
    return {false, false, raw & 0xffffffff, 0};
  case ConvertType::S32:
    return {false, true, static_cast<uint64_t>(static_cast<int64_t>(static_cast<int32_t>(raw))), 0};
  case ConvertType::U64:
    return {false, false, raw, 0};
  case ConvertType::S64:
    return {false, true, raw, 0};
  case ConvertType::F16:
    return {true, true, 0, widenF16(static_cast<uint16_t>(raw))};
  case ConvertType::BF16:
    return {true, true, 0, widenBF16(static_cast<uint16_t>(raw))};
  case ConvertType::F32:
  case ConvertType::TF32:
    return {true, true, 0, floatOf(static_cast<uint32_t>(raw))};
  case ConvertType::F64: {
    double real;
    std::memcpy(&real, &raw, 8);
    return {true, true, 0, real};
  }
  }
  return {};
}

struct IntegerRange {
  unsigned bits;
  bool isSigned;
};
bool integerRange(ConvertType type, IntegerRange &range) {
  unsigned index = static_cast<unsigned>(type);
  if (index > static_cast<unsigned>(ConvertType::S64))
    return false;
  range = {8u << (index / 2), index % 2 == 1};
  return true;
}

double roundReal(double value, int rounding) {
  switch (rounding) {
  case 1:
    return std::trunc(value);
  case 2:
    return std::floor(value);
  case 3:
    return std::ceil(value);
  default:
    return std::nearbyint(value);
  }
}

uint64_t maskOf(unsigned bits) { return bits >= 64 ? ~0ull : (1ull << bits) - 1; }

uint64_t realToInteger(double value, ConvertType from, IntegerRange to, int rounding) {
  if (std::isnan(value))
    return from == ConvertType::F64 || to.bits == 64 ? 1ull << (to.bits - 1) : 0;
  value = roundReal(value, rounding);
  double limit = std::ldexp(1.0, static_cast<int>(to.isSigned ? to.bits - 1 : to.bits));
  if (to.isSigned) {
    if (value >= limit)
      return maskOf(to.bits - 1);
    if (value < -limit)
      return 1ull << (to.bits - 1);
    return static_cast<uint64_t>(static_cast<int64_t>(value)) & maskOf(to.bits);
  }
  if (value >= limit)
    return maskOf(to.bits);
  return value <= 0 ? 0 : static_cast<uint64_t>(value);
}

uint64_t integerToInteger(const Value &value, IntegerRange to, bool saturate) {
  if (!saturate)
    return value.bits & maskOf(to.bits);
  bool negative = value.isSigned && static_cast<int64_t>(value.bits) < 0;
  if (to.isSigned) {
    int64_t high = static_cast<int64_t>(maskOf(to.bits - 1));
    if (negative)
      return static_cast<uint64_t>(std::max<int64_t>(static_cast<int64_t>(value.bits), -high - 1)) & maskOf(to.bits);
    return std::min<uint64_t>(value.bits, static_cast<uint64_t>(high));
  }
  return negative ? 0 : std::min<uint64_t>(value.bits, maskOf(to.bits));
}

const int hostRounding[4] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD};

/// Integer or f64 to f32 with a PTX rounding.
uint32_t toFloat32(const Value &value, int rounding) {
  RoundingScope scope(hostRounding[rounding & 3]);
  float result = value.isFloat    ? static_cast<float>(opaque(value.real))
                 : value.isSigned ? static_cast<float>(static_cast<int64_t>(opaque(value.bits)))
                                  : static_cast<float>(opaque(value.bits));
  result = opaque(result);
  return std::isnan(result) ? 0x7fffffffu : bitsOf(result);
}

uint64_t toFloat64(const Value &value, int rounding) {
  RoundingScope scope(hostRounding[rounding & 3]);
  double result = value.isFloat    ? value.real
                  : value.isSigned ? static_cast<double>(static_cast<int64_t>(opaque(value.bits)))
                                   : static_cast<double>(opaque(value.bits));
  result = opaque(result);
  uint64_t bits;
  std::memcpy(&bits, &result, 8);
  return bits;
}

/// A wide value to one of 16 bits. f64 and integers go through round-to-odd f32 so that they are rounded once.
uint16_t toHalf(const Value &value, bool brain, int rounding) {
  double wide = value.isFloat    ? value.real
                : value.isSigned ? static_cast<double>(static_cast<int64_t>(value.bits))
                                 : static_cast<double>(value.bits);
  if (rounding == 0)
    return static_cast<uint16_t>(brain ? narrowBrain(wide) : narrowHalf(wide));
  float narrow = floatOf(toFloat32({true, true, 0, wide}, 1));
  if (rounding == 1)
    return brain ? truncateToBF16(narrow) : truncateToF16(narrow);
  // Down / up: truncate, then step away from zero when something was cut off on that side.
  uint16_t cut = brain ? truncateToBF16(narrow) : truncateToF16(narrow);
  double back = brain ? widenBF16(cut) : widenF16(cut);
  bool away = back != wide && ((rounding == 2 && wide < 0) || (rounding == 3 && wide > 0));
  return away && !std::isnan(wide) ? static_cast<uint16_t>(cut + 1) : cut;
}

} // namespace

static uint64_t convertOne(uint64_t raw, const Instr &instr) {
  auto to = static_cast<ConvertType>(instr.mode & 15), from = static_cast<ConvertType>(instr.mode >> 4 & 15);
  int rounding = instr.mode >> convert::roundShift & 7;
  Value value = decodeValue(from, raw);
  if ((instr.mode & convert::ftz) && from == ConvertType::F32)
    value.real = flush(static_cast<float>(value.real));
  IntegerRange range;
  if (integerRange(to, range))
    return value.isFloat ? realToInteger(value.real, from, range, rounding)
                         : integerToInteger(value, range, instr.mode & convert::sat);
  if (value.isFloat && (instr.mode & convert::toInteger)) {
    value.real = roundReal(value.real, rounding);
    rounding = 0;
  }
  if (value.isFloat && (instr.mode & convert::relu) && !(value.real > 0))
    value.real = std::isnan(value.real) ? value.real : 0.0;
  if (value.isFloat && (instr.mode & convert::sat))
    value.real = value.real >= 1 ? 1 : value.real > 0 ? value.real : 0;
  switch (to) {
  case ConvertType::F16:
    return toHalf(value, false, rounding);
  case ConvertType::BF16:
    return toHalf(value, true, rounding);
  case ConvertType::TF32:
    return rounding == 4 ? roundAwayToTF32(static_cast<float>(value.real))
                         : roundToTF32(static_cast<float>(value.real));
  case ConvertType::F32: {
    uint32_t bits = toFloat32(value, rounding);
    return instr.mode & convert::ftz ? bitsOf(flush(floatOf(bits))) : bits;
  }
  default:
    return toFloat64(value, rounding);
  }
}

void handleConvert(Warp &warp, const Instr &instr, uint32_t mask) {
  unsigned dBytes = instr.size & 255, aBytes = instr.size >> 8;
  uint64_t results[32];
  for (int l = 0; l < 32; ++l)
    results[l] = mask >> l & 1 ? convertOne(readValue(warp, instr.a, aBytes, l), instr) : 0;
  auto to = static_cast<ConvertType>(instr.mode & 15);
  IntegerRange range;
  bool extend = integerRange(to, range) && range.isSigned && range.bits < 8 * dBytes;
  for (int l = 0; l < 32; ++l)
    if (mask >> l & 1) {
      uint64_t value = results[l];
      if (extend && (value >> (range.bits - 1) & 1))
        value |= ~maskOf(range.bits);
      writeValue(warp, instr.d, dBytes, l, value);
    }
}

static void writeMasked(Warp &warp, uint32_t offset, uint32_t mask, const uint32_t (&values)[32]) {
  uint32_t *d = warp.slot<uint32_t>(offset);
  for (int l = 0; l < 32; ++l)
    d[l] = mask >> l & 1 ? values[l] : d[l];
}

void handleConvertPair(Warp &warp, const Instr &instr, uint32_t mask) {
  const uint32_t *a = warp.slot<uint32_t>(instr.a), *b = warp.slot<uint32_t>(instr.b);
  bool relu = instr.mode & 256;
  uint32_t out[32];
  switch (static_cast<PairConversion>(instr.mode & 255)) {
  case PairConversion::BF16x2:
    convertToBF16x2(a, b, out, relu);
    break;
  case PairConversion::F16x2:
    convertToF16x2(a, b, out, relu);
    break;
  case PairConversion::E4M3x2:
    convertToE4M3x2(a, b, out, relu);
    break;
  case PairConversion::E5M2x2:
    convertToE5M2x2(a, b, out, relu);
    break;
  case PairConversion::F16x2FromE4M3x2:
    convertE4M3x2ToF16x2(a, out);
    break;
  case PairConversion::F16x2FromE5M2x2:
    convertE5M2x2ToF16x2(a, out);
    break;
  default: {
    bool e4m3 = static_cast<PairConversion>(instr.mode & 255) == PairConversion::E4M3x2FromF16x2;
    for (int l = 0; l < 32; ++l) {
      float low = widenF16(static_cast<uint16_t>(a[l])), high = widenF16(static_cast<uint16_t>(a[l] >> 16));
      if (relu) {
        low = low < 0 ? 0 : low;
        high = high < 0 ? 0 : high;
      }
      out[l] = static_cast<uint32_t>(e4m3 ? roundToE4M3(high) : roundToE5M2(high)) << 8 |
               (e4m3 ? roundToE4M3(low) : roundToE5M2(low));
    }
  }
  }
  writeMasked(warp, instr.d, mask, out);
}

void handleSpecialFunction(Warp &warp, const Instr &instr, uint32_t mask) {
  uint32_t out[32];
  evaluate(static_cast<SpecialFunction>(instr.mode & 255), instr.mode & 256, warp.slot<uint32_t>(instr.a), out);
  writeMasked(warp, instr.d, mask, out);
}

void handleSpecialFunctionHalf(Warp &warp, const Instr &instr, uint32_t mask) {
  auto function = static_cast<SpecialFunction>(instr.mode & 255);
  bool ftz = instr.mode & 256, brain = instr.mode & 512;
  const uint32_t *a = warp.slot<uint32_t>(instr.a);
  auto one = [&](uint32_t bits) {
    float value = brain ? widenBF16(static_cast<uint16_t>(bits)) : widenF16(static_cast<uint16_t>(bits));
    value = evaluate(function, value, ftz);
    return static_cast<uint32_t>(brain ? roundToBF16(value) : roundToF16(value));
  };
  uint32_t out[32];
  for (int l = 0; l < 32; ++l)
    out[l] = one(a[l] & 0xffff) | (instr.mode & 1024 ? one(a[l] >> 16) << 16 : 0);
  writeMasked(warp, instr.d, mask, out);
}

template <typename T> static T roundedOperation(int operation, T a, T b, T c) {
  a = opaque(a);
  b = opaque(b);
  switch (operation) {
  case 0:
    return opaque(a + b);
  case 1:
    return opaque(a - b);
  case 2:
    return opaque(a * b);
  case 3:
    return opaque(std::fma(a, b, opaque(c)));
  case 4:
    return opaque(a / b);
  case 5:
    return opaque(std::sqrt(a));
  default:
    return opaque(T(1) / a);
  }
}

void handleRounded(Warp &warp, const Instr &instr, uint32_t mask) {
  RoundingScope scope(hostRounding[instr.mode >> 4 & 3]);
  int operation = instr.mode & 15;
  for (int l = 0; l < 32; ++l) {
    if (!(mask >> l & 1))
      continue;
    if (instr.size == 8) {
      double *d = warp.slot<double>(instr.d);
      d[l] = roundedOperation(operation, warp.slot<double>(instr.a)[l], warp.slot<double>(instr.b)[l],
                              warp.slot<double>(instr.c)[l]);
      continue;
    }
    float a = warp.slot<float>(instr.a)[l], b = warp.slot<float>(instr.b)[l], c = warp.slot<float>(instr.c)[l];
    bool ftz = instr.mode & 64;
    float result = roundedOperation(operation, ftz ? flush(a) : a, ftz ? flush(b) : b, ftz ? flush(c) : c);
    result = ftz ? flush(result) : result;
    warp.slot<float>(instr.d)[l] = instr.mode & 128 ? saturateFloat(result) : result;
  }
}

void handleCompareHalf(Warp &warp, const Instr &instr, uint32_t mask) {
  const uint32_t *pa = warp.slot<uint32_t>(instr.a), *pb = warp.slot<uint32_t>(instr.b);
  uint32_t result = 0;
  for (int l = 0; l < 32; ++l) {
    float a = instr.size ? widenBF16(static_cast<uint16_t>(pa[l])) : widenF16(static_cast<uint16_t>(pa[l]));
    float b = instr.size ? widenBF16(static_cast<uint16_t>(pb[l])) : widenF16(static_cast<uint16_t>(pb[l]));
    bool unordered = a != a || b != b;
    bool values[] = {a == b,    a < b || a > b, a<b, a <= b, a> b,   a >= b,   false,     false,
                     false,     false,          a == b || unordered, a != b,   !(a >= b), !(a > b),
                     !(a <= b), !(a < b),       !unordered,          unordered};
    result |= values[instr.imm] ? 1u << l : 0;
  }
  uint32_t complement = ~result;
  if (uint32_t combine = instr.mode & 3) {
    uint32_t c = warp.predicates[instr.c] ^ (instr.mode & 4 ? ~0u : 0);
    result = combine == 1 ? result & c : combine == 2 ? result | c : result ^ c;
    complement = combine == 1 ? complement & c : combine == 2 ? complement | c : complement ^ c;
  }
  uint32_t &p = warp.predicates[instr.d];
  p = (p & ~mask) | (result & mask);
  if (instr.extra) {
    uint32_t &q = warp.predicates[instr.extra];
    q = (q & ~mask) | (complement & mask);
  }
}

} // namespace fa::runtime::emulator
