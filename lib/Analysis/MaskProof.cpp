// The gate of every result: a proof by integer emptiness that shares nothing with the elimination.
#include "BoundClauses.h"
#include "fa/Analysis/MaskBounds.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::fa;

/// Proves that no pair of `mask` lies in a key tile (d2) that satisfies the clauses.
static ProofResult proveNoPair(TileSystem &system, const MaskPredicate &mask, const std::vector<Clause> &clauses) {
  AffineExpr i = system.dim(0), j = system.dim(1), k = system.dim(2);
  int64_t tile = system.keyTile();
  SmallVector<AffineExpr> domain(system.facts);
  domain.append({i - system.queryFirst, system.queryLast - i, j, system.sk - 1 - j, j - k * tile, k * tile + (tile - 1) - j});
  for (const MaskPredicate::Conjunction &conjunction : mask.normalForm().disjuncts) {
    SmallVector<AffineExpr> constraints(domain);
    constraints.append(conjunction.nonNegative.begin(), conjunction.nonNegative.end());
    for (AffineExpr expr : conjunction.zero)
      constraints.append({expr, -expr});
    if (mayHold(system, std::move(constraints), clauses, 3))
      return system.exhausted() ? ProofResult::NotDecided : ProofResult::Refuted;
  }
  return ProofResult::Proved;
}

ProofResult fa::proveMaskBounds(const TileProblem &problem, const MaskBounds &bounds) {
  TileSystem system(problem, TileSystem::Effort::Integer);
  AffineExpr k = system.dim(2);
  // Outside every run: below its start or at or above its end.
  std::vector<Clause> outside;
  std::vector<TileBound> covers;
  for (const TileRun &run : bounds.runs) {
    std::vector<TileBound> lower = {run.lower};
    if (run.startsAfterCover)
      llvm::append_range(lower, covers);
    covers.push_back(run.cover);
    Clause clause = productOf(compareClauses(k, Comparison::Below, TileBound::max(std::move(lower))));
    llvm::append_range(clause, productOf(compareClauses(k, Comparison::AtOrAbove, run.upper)));
    outside.push_back(std::move(clause));
  }
  ProofResult result = proveNoPair(system, system.lift(problem.mask.mayHold()), outside);
  MaskPredicate hidden = !system.lift(problem.mask.mustHold());
  for (const auto &[begin, end] : bounds.fullRanges) {
    if (result != ProofResult::Proved)
      return result;
    std::vector<Clause> inside = compareClauses(k, Comparison::AtOrAbove, begin);
    llvm::append_range(inside, compareClauses(k, Comparison::Below, end));
    result = proveNoPair(system, hidden, inside);
    // A full tile ends at or before Sk.
    SmallVector<AffineExpr> pastEnd(system.facts);
    pastEnd.push_back(k * problem.keyTile + (problem.keyTile - 1) - system.sk);
    pastEnd.push_back(k);
    if (result == ProofResult::Proved && mayHold(system, std::move(pastEnd), inside, 3))
      result = system.exhausted() ? ProofResult::NotDecided : ProofResult::Refuted;
  }
  return result;
}
