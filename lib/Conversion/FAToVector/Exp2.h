// 2^x on vector lanes.
#pragma once
#include "Emitter.h"

namespace mlir::fa::cpu {

/// 2^x per lane: exactly 1 at 0, 0 at -inf and below the smallest normal exponent, NaN stays NaN, and above the largest
/// exponent something from 2^126 (f64: 2^1022) up. Relative error below 1.2e-7 (f32) and 3e-16 (f64): a polynomial 1 +
/// f q(f) of minimax relative error on the fraction, and the integer part put into the exponent. Without this, vectors
/// of math.exp2 become one libm call per lane.
Value emitExp2(Emitter &e, Value x);

} // namespace mlir::fa::cpu
