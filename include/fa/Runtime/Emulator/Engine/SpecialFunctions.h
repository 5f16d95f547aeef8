// The approximate functions of PTX (MUFU). Hardware bits are not published, so each result is the correctly rounded one
// or within 1 ulp of it, inside the bound that PTX documents; tests of kernels must allow the documented bound.
// Each works on one value, and on 32 lanes held as bit patterns (`in` and `out` may be the same array).
#pragma once
#include "fa/Runtime/Emulator/Engine/Types.h"

namespace fa::runtime::emulator {

/// PTX bound: 2 ulp (ex2), 1 ulp (rcp, sqrt), 2^-22.9 relative (rsqrt), 2^-22 (lg2), 2^-11 relative (tanh), 2^-20.5
/// absolute in [-pi, pi] (sin, cos). Here: at most 0.51 ulp for ex2, rcp, sqrt, rsqrt and lg2, at most 1 ulp else.
enum class SpecialFunction : uint8_t { Ex2, Lg2, Rcp, Rsqrt, Sqrt, Tanh, Sin, Cos };

/// `ftz`: subnormal inputs and results become zero of the same sign (ex2.approx.ftz of a subnormal is 1).
float evaluate(SpecialFunction function, float value, bool ftz);
void evaluate(SpecialFunction function, bool ftz, const uint32_t *in, uint32_t *out);

} // namespace fa::runtime::emulator
