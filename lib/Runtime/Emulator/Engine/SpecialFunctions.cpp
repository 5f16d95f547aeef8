// Single values and rare functions on top of the vector kernels.
#include "fa/Runtime/Emulator/Engine/SpecialFunctions.h"
#include "Kernels.h"
#include <bit>
#include <cmath>

namespace fa::runtime::emulator {
namespace {

using Trigonometric = double (*)(double);

void evaluateTrigonometric(Trigonometric function, bool ftz, const uint32_t *in, uint32_t *out) {
  auto flush = [&](uint32_t bits) { return ftz && (bits & 0x7f800000) == 0 ? bits & 0x80000000 : bits; };
  for (unsigned i = 0; i < lanesPerWarp; ++i) {
    float value = static_cast<float>(function(static_cast<double>(std::bit_cast<float>(flush(in[i])))));
    out[i] = std::isnan(value) ? 0x7fffffff : flush(std::bit_cast<uint32_t>(value));
  }
}

} // namespace

void evaluate(SpecialFunction function, bool ftz, const uint32_t *in, uint32_t *out) {
  const detail::Kernels &kernels = detail::kernels();
  switch (function) {
  case SpecialFunction::Ex2:
    return kernels.ex2(in, out, ftz);
  case SpecialFunction::Lg2:
    return kernels.lg2(in, out, ftz);
  case SpecialFunction::Rcp:
    return kernels.rcp(in, out, ftz);
  case SpecialFunction::Rsqrt:
    return kernels.rsqrt(in, out, ftz);
  case SpecialFunction::Sqrt:
    return kernels.sqrt(in, out, ftz);
  case SpecialFunction::Tanh:
    return kernels.tanh(in, out, ftz);
  case SpecialFunction::Sin:
    return evaluateTrigonometric([](double x) { return std::sin(x); }, ftz, in, out);
  case SpecialFunction::Cos:
    return evaluateTrigonometric([](double x) { return std::cos(x); }, ftz, in, out);
  }
}

float evaluate(SpecialFunction function, float value, bool ftz) {
  uint32_t lanes[lanesPerWarp] = {std::bit_cast<uint32_t>(value)};
  evaluate(function, ftz, lanes, lanes);
  return std::bit_cast<float>(lanes[0]);
}

} // namespace fa::runtime::emulator
