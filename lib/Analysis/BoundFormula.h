// Comparisons of a key tile with min / max / guarded bounds, as formulas an emptiness test can search.
// Private to the analysis.
#pragma once
#include "TileSystem.h"

namespace mlir::fa {

/// and / or over atoms `expr >= 0`.
struct BoundFormula {
  enum class Kind { Atom, And, Or };
  Kind kind = Kind::And;
  AffineExpr atom;
  std::vector<BoundFormula> parts;

  static BoundFormula atLeastZero(AffineExpr expr) { return {Kind::Atom, expr, {}}; }
  static BoundFormula all(std::vector<BoundFormula> parts) { return {Kind::And, {}, std::move(parts)}; }
  static BoundFormula any(std::vector<BoundFormula> parts) { return {Kind::Or, {}, std::move(parts)}; }
};

/// tile < bound
BoundFormula isBelow(AffineExpr tile, const TileBound &bound);
/// tile >= bound
BoundFormula isAtOrAbove(AffineExpr tile, const TileBound &bound);

/// May `constraints` (each >= 0) and every formula hold together? Depth first, pruned by emptiness.
bool mayHold(TileSystem &system, SmallVector<AffineExpr> constraints, llvm::ArrayRef<BoundFormula> formulas,
             unsigned numDims);

/// Is a >= b for every query tile?
bool alwaysAtLeast(TileSystem &system, const TileBound &a, const TileBound &b);

/// Drops the terms of a min or max that another term makes redundant.
TileBound simplify(TileSystem &system, const TileBound &bound);

} // namespace mlir::fa
