// Comparisons of a key tile with min / max / guarded bounds, as clauses an emptiness test can search.
// Private to the analysis.
#pragma once
#include "TileSystem.h"

namespace mlir::fa {

/// A disjunction of conjunctions of expr >= 0.
using Clause = llvm::SmallVector<llvm::SmallVector<AffineExpr>>;

enum class Comparison { Below, AtOrAbove };

/// The clauses (all of which must hold) of `tile < bound` or `tile >= bound`.
std::vector<Clause> compareClauses(AffineExpr tile, Comparison comparison, const TileBound &bound);
/// The same as one disjunction: true somewhere exactly where all of `clauses` are.
Clause productOf(llvm::ArrayRef<Clause> clauses);

/// May `constraints` and one conjunction of each clause hold together? Depth first, pruned by emptiness.
bool mayHold(TileSystem &system, llvm::SmallVector<AffineExpr> constraints, std::vector<Clause> clauses, unsigned numDims);

/// Is a >= b for every query tile?
bool alwaysAtLeast(TileSystem &system, const TileBound &a, const TileBound &b);

/// Drops the terms of a min or max that another term makes redundant.
TileBound simplify(TileSystem &system, const TileBound &bound);

} // namespace mlir::fa
