// The register block: an outer product accumulated over a loop.
#pragma once
#include "Emitter.h"
#include <functional>

namespace mlir::fa::cpu {

/// acc[r * vectors + i] += scalar(t, r) * vector(t, i) for t in [lower, upper), r in [0, rows), i in [0, vectors).
/// `scalar` returns one element (broadcast here), `vector` one vector; `beside` (may be empty) emits what is to happen
/// once in every iteration. Returns the new accumulators.
struct MicroKernel {
  int64_t rows;
  std::function<Value(Value t, int64_t row)> scalar;
  std::function<Value(Value t, int64_t i)> vector;
  std::function<void(Value t)> beside = nullptr;

  SmallVector<Value> emit(Emitter &e, Value lower, Value upper, SmallVector<Value> accumulators) const;
};

/// Transposes lanes x lanes elements held in `lanes` vectors, in log2(lanes) stages of two-operand shuffles.
void emitTranspose(Emitter &e, SmallVector<Value> &rows);

} // namespace mlir::fa::cpu
