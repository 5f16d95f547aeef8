// Unit roundoffs, and rounding of float32 values to narrower types.
#pragma once
#include "fa/Support/DType.h"

namespace fa::reference {

/// Largest relative error of rounding a normal number to nearest: 2^-p for p significant bits.
double unitRoundoff(DType type);
/// Largest absolute error below the normal range when subnormals may be flushed: the smallest normal number for f64 and
/// f32, half a subnormal step for narrower types (which no target flushes).
double underflowError(DType type);
/// The type in which scores and sums are computed: f64 for f64, else f32.
DType computeType(DType input);
/// Rounds to a float type and back; exact for f32 and f64.
float roundTo(DType type, float value);
double roundTo(DType type, double value);

} // namespace fa::reference
