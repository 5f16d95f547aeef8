// One output element of a Hopper tensor core, bit for bit: exact products and C, each truncated toward zero to F bits
// relative to the largest exponent, summed exactly, then rounded once. Sources: arXiv 2511.10909, arXiv 2512.07004.
#include "Kernels.h"
#include "fa/Runtime/Emulator/Engine/Convert.h"
#include <algorithm>
#include <bit>
#include <cmath>

namespace fa::runtime::emulator::detail {
namespace {

/// Exponent of a nonzero finite value in a format whose subnormals keep `minimum`.
int exponentOf(float value, int minimum) {
  int field = static_cast<int>(std::bit_cast<uint32_t>(value) >> 23 & 255);
  return std::max(field - 127, minimum);
}

/// Keeps `bits` fraction bits of a double, toward zero; `lowest` is the exponent of the smallest representable step.
double truncateFraction(double value, int bits, int lowest) {
  if (value == 0)
    return 0;
  int step = std::max(std::ilogb(value) - bits, lowest);
  return std::ldexp(std::trunc(std::ldexp(value, -step)), step);
}

/// f16 nearest even of an exact double, as f32; 65520 and more become infinity.
float roundToHalf(double value) {
  if (value == 0)
    return 0;
  int step = std::max(std::ilogb(value) - 10, -24);
  double scaled = std::ldexp(value, -step), whole = std::trunc(scaled), rest = std::fabs(scaled - whole);
  if (rest > 0.5 || (rest == 0.5 && std::fmod(whole, 2) != 0))
    whole += std::copysign(1, value);
  double result = std::ldexp(whole, step);
  return std::fabs(result) > 65504 ? std::copysign(INFINITY, static_cast<float>(value)) : static_cast<float>(result);
}

/// NaN, or the infinity that takes part, or 0 when all terms are finite.
float specialResult(const float *a, unsigned strideA, const float *b, unsigned strideB, unsigned k, float c) {
  float nan = std::bit_cast<float>(0x7fffffffu);
  bool plus = c == INFINITY, minus = c == -INFINITY, invalid = std::isnan(c);
  for (unsigned i = 0; i < k; ++i) {
    float product = a[i * strideA] * b[i * strideB];
    bool infinite = std::isinf(a[i * strideA]) || std::isinf(b[i * strideB]);
    invalid |= std::isnan(product);
    plus |= infinite && product > 0;
    minus |= infinite && product < 0;
  }
  if (invalid || (plus && minus))
    return nan;
  return plus ? INFINITY : minus ? -INFINITY : 0;
}

} // namespace

float exactDot(const ExactRule &rule, const float *a, unsigned strideA, const float *b, unsigned strideB, unsigned k,
               float c) {
  if (float special = specialResult(a, strideA, b, strideB, k, c); special != 0)
    return special;
  int largest = -126; // what a zero counts as
  if (c != 0)
    largest = std::max(largest, exponentOf(c, rule.halfAccumulator ? -14 : -126));
  for (unsigned i = 0; i < k; ++i)
    if (float x = a[i * strideA], y = b[i * strideB]; x != 0 && y != 0)
      largest = std::max(largest, exponentOf(x, rule.minExponentA) + exponentOf(y, rule.minExponentB));
  double scale = std::ldexp(1.0, rule.fractionBits - largest);
  // Sums stay below 2^33 in magnitude: exact in a double.
  double sum = std::trunc(static_cast<double>(c) * scale);
  for (unsigned i = 0; i < k; ++i)
    sum += std::trunc(static_cast<double>(a[i * strideA]) * static_cast<double>(b[i * strideB]) * scale);
  double value = std::ldexp(sum, largest - rule.fractionBits);
  if (rule.halfAccumulator)
    return roundToHalf(value);
  double truncated = truncateFraction(value, rule.resultFractionBits, -149);
  double limit = truncateFraction(0x1.fffffep127, rule.resultFractionBits, -149);
  return static_cast<float>(std::clamp(truncated, -limit, limit));
}

} // namespace fa::runtime::emulator::detail
