// Sizes and types of one attention, as plain numbers: what the traffic model and the machine model need to know.
#pragma once
#include "fa/Support/DType.h"
#include "fa/Support/Expected.h"
#include <cstdint>

namespace fa::analysis {

struct AttentionShape {
  int64_t batch = 1;
  int64_t headsQ = 1;
  int64_t headsKv = 1;
  int64_t seqQ = 1;
  int64_t seqKv = 1;
  int64_t depth = 64;
  int64_t depthV = 64;
  DType input = DType::F32;
  DType output = DType::F32;
  bool lse = true; ///< LSE is stored too, as f32 (f64 for f64 inputs)
};

/// Sizes of 0 or more and below 2^40, headsQ a multiple of headsKv, float types.
Status validate(const AttentionShape &shape);

} // namespace fa::analysis
