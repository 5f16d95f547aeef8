// Which tiles a tiled attention visits for given sizes: its loops are walked and every step is reported. The
// ground of translation validation and of the pictures.
#pragma once
#include "fa/Analysis/ScalarEvaluator.h"
#include "fa/Dialect/FA/IR/FA.h"

namespace mlir::fa {

struct VisitedTile {
  int64_t batch, head, queryTile, keyTile;
  StepOp step;
};

/// Walks the loops of `root` (scf.forall, scf.for, scf.if) and calls `visit` for every fa.step, in the order of a
/// sequential execution. Emits an error and fails where a bound or condition cannot be evaluated; fails where `visit`
/// does.
LogicalResult traceTiles(Region &root, ScalarEvaluator &evaluator,
                         llvm::function_ref<LogicalResult(const VisitedTile &)> visit);

} // namespace mlir::fa
