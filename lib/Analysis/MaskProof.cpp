// The gate of every result: a proof by integer emptiness that shares nothing with the elimination.
#include "BoundFormula.h"
#include "fa/Analysis/MaskBounds.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::fa;

/// "No" is certain; "maybe" is a counterexample unless a limit was met on the way.
static ProofResult conclude(const TileSystem &system, bool mayHold) {
  if (!mayHold)
    return ProofResult::Proved;
  return system.exhausted() ? ProofResult::NotDecided : ProofResult::Refuted;
}

/// Proves that no pair of `mask` lies in a key tile (d2) that satisfies the formulas.
static ProofResult proveNoPair(TileSystem &system, const MaskPredicate &mask, ArrayRef<BoundFormula> formulas) {
  AffineExpr i = system.dim(0), j = system.dim(1), k = system.dim(2);
  int64_t tile = system.keyTile();
  SmallVector<AffineExpr> domain(system.facts);
  domain.append(
      {i - system.queryFirst, system.queryLast - i, j, system.sk - 1 - j, j - k * tile, k * tile + (tile - 1) - j});
  MaskPredicate::NormalForm form = mask.normalForm();
  for (const MaskPredicate::Conjunction &conjunction : form.disjuncts) {
    SmallVector<AffineExpr> constraints(domain);
    constraints.append(conjunction.nonNegative.begin(), conjunction.nonNegative.end());
    for (AffineExpr expr : conjunction.zero)
      constraints.append({expr, -expr});
    ProofResult result = conclude(system, mayHold(system, std::move(constraints), formulas, 3));
    if (result != ProofResult::Proved)
      return form.exact ? result : ProofResult::NotDecided;
  }
  return ProofResult::Proved;
}

static ProofResult proveRemovedTiles(TileSystem &system, const MaskBounds &bounds) {
  AffineExpr k = system.dim(2);
  // Outside every run: below its start or at or above its end.
  std::vector<BoundFormula> outside;
  std::vector<TileBound> covers;
  for (const TileRun &run : bounds.runs) {
    std::vector<TileBound> lower = {run.lower};
    if (run.startsAfterCover)
      llvm::append_range(lower, covers);
    covers.push_back(run.cover);
    outside.push_back(BoundFormula::any({isBelow(k, TileBound::max(std::move(lower))), isAtOrAbove(k, run.upper)}));
  }
  return proveNoPair(system, system.lift(system.problem.mask.mayHold()), outside);
}

static ProofResult proveFullTiles(TileSystem &system, const MaskBounds &bounds) {
  AffineExpr k = system.dim(2);
  int64_t tile = system.keyTile();
  MaskPredicate hidden = !system.lift(system.problem.mask.mustHold());
  for (const auto &[begin, end] : bounds.fullRanges) {
    std::vector<BoundFormula> inside = {isAtOrAbove(k, begin), isBelow(k, end)};
    ProofResult result = proveNoPair(system, hidden, inside);
    if (result != ProofResult::Proved)
      return result;
    // A full tile ends at or before Sk.
    SmallVector<AffineExpr> pastEnd(system.facts);
    pastEnd.append({k, k * tile + (tile - 1) - system.sk});
    result = conclude(system, mayHold(system, std::move(pastEnd), inside, 3));
    if (result != ProofResult::Proved)
      return result;
  }
  return ProofResult::Proved;
}

ProofResult fa::proveMaskBounds(const TileProblem &problem, const MaskBounds &bounds, ProofScope scope) {
  TileSystem system(problem, TileSystem::Effort::Integer);
  ProofResult result = ProofResult::Proved;
  if (scope != ProofScope::FullTiles)
    result = proveRemovedTiles(system, bounds);
  if (scope != ProofScope::RemovedTiles && result == ProofResult::Proved)
    result = proveFullTiles(system, bounds);
  return result;
}
