// The online softmax on fragments (docs/Numerics.md): exact at the row reference whatever the size of the logits.
#pragma once
#include "KernelPlan.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::fa {

/// State of the 64 query rows of one warpgroup.
struct RowState {
  Value max; ///< row reference, in units of x; -inf before any key
  Value sum; ///< this thread's part of the row sum
};

/// What one tile adds.
struct TileSoftmax {
  Value probabilities; ///< fragment: e^(S - m), f32
  Value factor;        ///< e^(m_old - m_new) per row; null for the first tile
  RowState state;
};

class Softmax {
public:
  /// Emits what every tile shares. `scale` is the runtime scale, null if it is static.
  Softmax(ImplicitLocOpBuilder &b, const KernelPlan &plan, Value scale);

  /// x of the rows' logits: raw products when the scale can wait for the exponent, else scale and score applied.
  bool needsScaledScores() const { return scaled; }
  bool negatesQuery() const { return staticScale && *staticScale < 0 && !scaled; }
  /// S times the scale, as a score function or a runtime scale needs it.
  Value scaleScores(ImplicitLocOpBuilder &b, Value scores) const;
  /// One tile; `old` has null values for the first. Few tiles run outside the main loop: their code is short rather
  /// than fast.
  TileSoftmax tile(ImplicitLocOpBuilder &b, Value scores, RowState old, bool isMainLoop) const;
  /// 1 / l per row (0 for a row without keys) and the natural log-sum-exp.
  std::pair<Value, Value> finish(ImplicitLocOpBuilder &b, RowState state) const;

private:
  Value exponentWithColdPath(ImplicitLocOpBuilder &b, Value x, Value reference, Value product, Value isLarge) const;
  Value exponentByRepetition(ImplicitLocOpBuilder &b, Value x, Value reference, Value product, Value isLarge) const;
  Value splat(ImplicitLocOpBuilder &b, VectorType type, double value) const;

  VectorType fragment, rows;
  std::optional<double> staticScale;
  Value scale;
  bool scaled; ///< x is the scaled score, c = log2 e; else x is the raw product, c = |scale| log2 e
  double exponentScale;
};

} // namespace mlir::fa
