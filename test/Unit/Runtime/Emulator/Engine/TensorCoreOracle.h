// The tests' own statement of tensor-core semantics: scalar, element by element, in integers. Shares no code with lib/.
#pragma once
#include "fa/Runtime/Emulator/Engine/Types.h"
#include <bit>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

namespace fa::test {
using namespace fa::runtime::emulator;

/// Value of an element from its bits, by the definition of the format (sign, exponent field, fraction).
inline double valueOf(MmaType type, uint32_t bits) {
  struct Format {
    int exponentBits, fractionBits, bias;
  };
  auto format = [&]() -> Format {
    switch (type) {
    case MmaType::F16:
      return {5, 10, 15};
    case MmaType::BF16:
      return {8, 7, 127};
    case MmaType::TF32:
      return {8, 23, 127};
    case MmaType::E4M3:
      return {4, 3, 7};
    case MmaType::E5M2:
      return {5, 2, 15};
    }
    return {};
  }();
  if (type == MmaType::TF32)
    bits &= ~0x1fffu;
  int field = static_cast<int>(bits >> format.fractionBits) & ((1 << format.exponentBits) - 1);
  int fraction = static_cast<int>(bits & ((1u << format.fractionBits) - 1));
  bool negative = bits >> (format.exponentBits + format.fractionBits) & 1;
  double sign = negative ? -1 : 1;
  if (type == MmaType::E4M3 ? field == 15 && fraction == 7 : field == (1 << format.exponentBits) - 1)
    return type == MmaType::E4M3 || fraction ? NAN : sign * INFINITY;
  double scaled = std::ldexp(field ? fraction + (1 << format.fractionBits) : fraction,
                             (field ? field : 1) - format.bias - format.fractionBits);
  return sign * scaled;
}

/// f32 FMA for every product in order of k.
inline float fastDot(const std::vector<double> &a, const std::vector<double> &b, float c) {
  for (size_t k = 0; k < a.size(); ++k)
    c = std::fma(static_cast<float>(a[k]), static_cast<float>(b[k]), c);
  return c;
}

/// Exponent and integer significand of a finite value in a format with `fraction` bits whose smallest exponent is
/// `lowest`.
struct Scaled {
  int exponent;
  int64_t significand;
};
inline Scaled scaled(double value, int fraction, int lowest) {
  if (value == 0)
    return {-126, 0};
  int exponent = std::max(std::ilogb(value), lowest);
  return {exponent, static_cast<int64_t>(std::ldexp(value, fraction - exponent))};
}

inline int lowestExponent(MmaType type) {
  return type == MmaType::E4M3 ? -6 : type == MmaType::F16 || type == MmaType::E5M2 ? -14 : -126;
}

/// The truncated fused sum (ptx-semantics section 2) as an integer times 2^exponent.
inline Scaled exactSum(MmaType aType, MmaType bType, const std::vector<double> &a, const std::vector<double> &b,
                       double c, int lowestC) {
  int bits = sizeOf(aType) == 1 ? 13 : 25;
  std::vector<Scaled> terms{scaled(c, 23, lowestC)};
  std::vector<int> fractions{23};
  for (size_t k = 0; k < a.size(); ++k) {
    Scaled x = scaled(a[k], 10, lowestExponent(aType)), y = scaled(b[k], 10, lowestExponent(bType));
    bool zero = x.significand == 0 || y.significand == 0;
    terms.push_back({zero ? -126 : x.exponent + y.exponent, x.significand * y.significand});
    fractions.push_back(20);
  }
  int largest = -1000;
  for (const Scaled &t : terms)
    largest = std::max(largest, t.exponent);
  int64_t sum = 0;
  for (size_t i = 0; i < terms.size(); ++i) {
    int64_t magnitude = std::abs(terms[i].significand) << 10; // room below, then shifted right: truncation toward zero
    int shift = 10 + fractions[i] - bits + (largest - terms[i].exponent);
    magnitude = shift > 62 ? 0 : magnitude >> shift;
    sum += terms[i].significand < 0 ? -magnitude : magnitude;
  }
  return {largest - bits, sum};
}

/// Rounds integer * 2^exponent toward zero to `fraction` bits, in integers.
inline float roundTowardZero(Scaled sum, int fraction) {
  if (sum.significand == 0)
    return 0;
  uint64_t magnitude = static_cast<uint64_t>(std::abs(sum.significand));
  int top = 63 - std::countl_zero(magnitude), drop = std::max(top - fraction, -149 - sum.exponent);
  if (drop > 0)
    magnitude = drop > 63 ? 0 : magnitude >> drop << drop;
  double value = std::ldexp(static_cast<double>(magnitude), sum.exponent);
  return static_cast<float>(sum.significand < 0 ? -value : value);
}

inline float h100Dot(MmaType aType, MmaType bType, const std::vector<double> &a, const std::vector<double> &b,
                     float c) {
  return roundTowardZero(exactSum(aType, bType, a, b, static_cast<double>(c), -126), sizeOf(aType) == 1 ? 13 : 23);
}

/// Random element bits: `spread` 0 gives values of similar size, else exponents over the format's whole range and
/// zeros.
inline uint32_t randomElement(MmaType type, std::mt19937 &random, bool spread) {
  auto pick = [&](uint32_t n) { return static_cast<uint32_t>(random() % n); };
  uint32_t sign = pick(2), zero = spread && pick(16) == 0 ? 0 : 1;
  switch (type) {
  case MmaType::F16:
    return zero * (sign << 15 | (spread ? pick(31) : 12 + pick(6)) << 10 | pick(1024));
  case MmaType::BF16:
    return zero * (sign << 15 | (spread ? 110 + pick(35) : 124 + pick(6)) << 7 | pick(128));
  case MmaType::TF32:
    return zero * (sign << 31 | (spread ? 110 + pick(35) : 124 + pick(6)) << 23 | pick(1 << 23));
  case MmaType::E4M3:
    return zero * (sign << 7 | (spread ? pick(127) : 40 + pick(40)));
  case MmaType::E5M2:
    return zero * (sign << 7 | (spread ? pick(0x7c) : 50 + pick(24)));
  }
  return 0;
}

inline const char *nameOf(MmaType type) {
  constexpr const char *names[] = {"f16", "bf16", "tf32", "e4m3", "e5m2"};
  return names[static_cast<unsigned>(type)];
}
constexpr MmaType allTypes[] = {MmaType::F16, MmaType::BF16, MmaType::TF32, MmaType::E4M3, MmaType::E5M2};
constexpr const char *allIsas[] = {"sse2", "avx2", "avx512"};

} // namespace fa::test
