// FlashAttention explained by experiments on executed kernels.
#pragma once
#include "fa/Execution/Compile.h"
#include "fa/Support/Expected.h"
#include <ostream>

namespace fa::execution {

/// Prints seven demonstrations, each with its numbers and a verdict: the tiled forms equal the naive one; tile sizes do
/// not matter; a causal row depends on earlier keys only; shifted logits stay finite; both loop orders agree; the
/// accumulator is rescaled by exactly 1 while the row reference stays; traffic grows with N, not with N^2. Returns
/// whether all hold; fails only if a kernel cannot be compiled or run. `options` gives the device, the lowering and the
/// threads.
Expected<bool> runLesson(std::ostream &out, const CompileOptions &options);

} // namespace fa::execution
