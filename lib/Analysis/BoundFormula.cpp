// Bounds to formulas, and the search for a feasible choice among their alternatives.
#include "BoundFormula.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::fa;
using Kind = TileBound::Kind;

/// `below`: tile < bound, else tile >= bound.
static BoundFormula compare(AffineExpr tile, bool below, const TileBound &bound) {
  if (bound.kind() == Kind::Affine)
    return BoundFormula::atLeastZero(below ? bound.expr() - 1 - tile : tile - bound.expr());
  std::vector<BoundFormula> terms;
  for (const TileBound &term : bound.terms())
    terms.push_back(compare(tile, below, term));
  // Below a min, or not below a max: every term; otherwise one of them.
  if (bound.kind() != Kind::Guarded)
    return (bound.kind() == Kind::Min) == below ? BoundFormula::all(std::move(terms))
                                                : BoundFormula::any(std::move(terms));
  std::vector<BoundFormula> guarded = {terms[0]}, violated;
  for (AffineExpr guard : bound.guards()) {
    guarded.push_back(BoundFormula::atLeastZero(guard));
    violated.push_back(BoundFormula::atLeastZero(-guard - 1));
  }
  return BoundFormula::any(
      {BoundFormula::all(std::move(guarded)), BoundFormula::all({terms[1], BoundFormula::any(std::move(violated))})});
}

BoundFormula fa::isBelow(AffineExpr tile, const TileBound &bound) { return compare(tile, true, bound); }
BoundFormula fa::isAtOrAbove(AffineExpr tile, const TileBound &bound) { return compare(tile, false, bound); }

static bool search(TileSystem &system, SmallVector<AffineExpr> constraints, SmallVector<const BoundFormula *> pending,
                   unsigned numDims) {
  SmallVector<const BoundFormula *> alternatives;
  while (!pending.empty()) {
    const BoundFormula *formula = pending.pop_back_val();
    if (formula->kind == BoundFormula::Kind::Or && formula->parts.size() != 1) {
      alternatives.push_back(formula);
      continue;
    }
    if (formula->kind == BoundFormula::Kind::Atom)
      constraints.push_back(formula->atom);
    for (const BoundFormula &part : formula->parts)
      pending.push_back(&part);
  }
  // With choices left, the cheap test alone prunes: an integer test of a set that is not empty is the dearest.
  if (alternatives.empty())
    return !system.infeasible(constraints, numDims);
  if (system.infeasible(constraints, numDims, TileSystem::Effort::Rational))
    return false;
  if (system.exhausted())
    return true;
  auto fewest = llvm::min_element(alternatives, [](auto *x, auto *y) { return x->parts.size() < y->parts.size(); });
  const BoundFormula *chosen = *fewest;
  alternatives.erase(fewest);
  return llvm::any_of(chosen->parts, [&](const BoundFormula &part) {
    SmallVector<const BoundFormula *> next(alternatives);
    next.push_back(&part);
    return search(system, constraints, std::move(next), numDims);
  });
}

bool fa::mayHold(TileSystem &system, SmallVector<AffineExpr> constraints, ArrayRef<BoundFormula> formulas,
                 unsigned numDims) {
  SmallVector<const BoundFormula *> pending;
  for (const BoundFormula &formula : formulas)
    pending.push_back(&formula);
  return search(system, std::move(constraints), std::move(pending), numDims);
}

bool fa::alwaysAtLeast(TileSystem &system, const TileBound &a, const TileBound &b) {
  AffineExpr tile = system.dim(0); // a <= tile < b has no solution
  return !mayHold(system, system.facts, {isBelow(tile, b), isAtOrAbove(tile, a)}, 1);
}

TileBound fa::simplify(TileSystem &system, const TileBound &bound) {
  if (bound.kind() != Kind::Min && bound.kind() != Kind::Max)
    return bound;
  bool isMin = bound.kind() == Kind::Min;
  std::vector<TileBound> terms(bound.terms());
  for (size_t n = 0; n < terms.size() && terms.size() > 1;) {
    auto replaces = [&](const TileBound &other) {
      return &other != &terms[n] &&
             (isMin ? alwaysAtLeast(system, terms[n], other) : alwaysAtLeast(system, other, terms[n]));
    };
    if (llvm::any_of(terms, replaces))
      terms.erase(terms.begin() + n);
    else
      ++n;
  }
  return isMin ? TileBound::min(std::move(terms)) : TileBound::max(std::move(terms));
}
