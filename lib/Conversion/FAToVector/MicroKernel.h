// The register block: an outer product accumulated over a loop.
#pragma once
#include "Emitter.h"
#include <functional>

namespace mlir::fa::cpu {

/// acc[r * vectors + i] += scalar(t, r) * vector(t, i) for t in [lower, upper), r in [0, rows), i in [0, vectors).
struct MicroKernel {
  /// Operand (t, n) is at memory[start + t * stride + n * next].
  struct Stream {
    Value memory; ///< 1-d memref
    Value start;
    int64_t stride, next;
  };

  int64_t rows = 0, vectors = 0;
  bool remainder = true;               ///< upper - lower may be no multiple of the table's `unroll`
  Stream scalar, vector;               ///< one element (broadcast here); one vector
  std::function<void(Value t)> beside; ///< what happens once in every iteration; may be empty

  /// The new accumulators.
  SmallVector<Value> emit(Emitter &e, Value lower, Value upper, SmallVector<Value> accumulators) const;
};

} // namespace mlir::fa::cpu
