// What tile elimination is asked: a mask, the tile sizes, and what is known about the lengths.
#pragma once
#include "fa/Analysis/MaskPredicate.h"
#include "mlir/IR/MLIRContext.h"

namespace mlir::fa {

struct TileProblem {
  MLIRContext *context = nullptr;
  /// Over the variables of MaskPredicate: d0 = i, d1 = j, s0 = Sq, s1 = Sk, s2.. = operands.
  MaskPredicate mask = MaskPredicate::constant(true);
  /// Number of symbols beyond Sq and Sk.
  unsigned numOperands = 0;
  /// Rows of a query tile and columns of a key tile; positive.
  int64_t queryTile = 0, keyTile = 0;
  /// Lengths and operands that are known; the others stay symbolic.
  std::optional<int64_t> sq, sk;
  llvm::SmallVector<std::optional<int64_t>> operands;
  /// Expressions over s0 = Sq, s1 = Sk, s2.. that are >= 0 whenever the kernel runs. They delete guards, so
  /// they must hold: lengths are non-negative and a query tile holds a query without being told.
  llvm::SmallVector<AffineExpr> facts;
};

/// The same question with queries and keys exchanged: which query tiles see key tile i? Operands keep their
/// numbers; Sq and Sk swap, so the tile symbols are then {key tile, last key, Sk, Sq, operands...}.
TileProblem transposed(const TileProblem &problem);

} // namespace mlir::fa
