// Bounds to clauses, and the search for a feasible choice among them.
#include "BoundClauses.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::fa;
using Kind = TileBound::Kind;

/// Beyond this many conjunctions a product is not formed: the empty conjunction (true) stands for it.
static constexpr size_t kMaxConjunctions = 256;

Clause fa::productOf(ArrayRef<Clause> clauses) {
  Clause product = {{}};
  for (const Clause &clause : clauses) {
    if (product.size() * clause.size() > kMaxConjunctions)
      continue;
    Clause next;
    for (const SmallVector<AffineExpr> &x : product)
      for (const SmallVector<AffineExpr> &y : clause) {
        next.push_back(x);
        next.back().append(y.begin(), y.end());
      }
    product = std::move(next);
  }
  return product;
}

std::vector<Clause> fa::compareClauses(AffineExpr tile, Comparison comparison, const TileBound &bound) {
  bool below = comparison == Comparison::Below;
  auto asDisjunction = [&](const TileBound &term) { return productOf(compareClauses(tile, comparison, term)); };
  switch (bound.kind()) {
  case Kind::Affine:
    return {Clause{{below ? bound.expr() - 1 - tile : tile - bound.expr()}}};
  case Kind::Guarded: {
    Clause clause;
    for (SmallVector<AffineExpr> &choice : asDisjunction(bound.terms()[0])) {
      choice.append(bound.guards().begin(), bound.guards().end());
      clause.push_back(choice);
    }
    Clause otherwise = asDisjunction(bound.terms()[1]);
    for (AffineExpr guard : bound.guards())
      for (SmallVector<AffineExpr> choice : otherwise) {
        choice.push_back(-guard - 1);
        clause.push_back(choice);
      }
    return {clause};
  }
  case Kind::Min:
  case Kind::Max:
    break;
  }
  // Below a min, or not below a max: every term; otherwise one of them.
  if ((bound.kind() == Kind::Min) == below) {
    std::vector<Clause> all;
    for (const TileBound &term : bound.terms())
      llvm::append_range(all, compareClauses(tile, comparison, term));
    return all;
  }
  Clause any;
  for (const TileBound &term : bound.terms())
    llvm::append_range(any, asDisjunction(term));
  return {any};
}

static bool search(TileSystem &system, SmallVector<AffineExpr> constraints, ArrayRef<Clause> clauses, unsigned numDims) {
  while (!clauses.empty() && clauses.front().size() == 1) {
    llvm::append_range(constraints, clauses.front().front());
    clauses = clauses.drop_front();
  }
  if (system.infeasible(constraints, numDims))
    return false;
  if (clauses.empty() || system.exhausted())
    return true;
  return llvm::any_of(clauses.front(), [&](const SmallVector<AffineExpr> &choice) {
    SmallVector<AffineExpr> chosen(constraints);
    llvm::append_range(chosen, choice);
    return search(system, std::move(chosen), clauses.drop_front(), numDims);
  });
}

bool fa::mayHold(TileSystem &system, SmallVector<AffineExpr> constraints, std::vector<Clause> clauses, unsigned numDims) {
  llvm::stable_sort(clauses, [](const Clause &x, const Clause &y) { return x.size() < y.size(); });
  return search(system, std::move(constraints), clauses, numDims);
}

bool fa::alwaysAtLeast(TileSystem &system, const TileBound &a, const TileBound &b) {
  AffineExpr tile = system.dim(0); // a <= tile < b has no solution
  std::vector<Clause> clauses = compareClauses(tile, Comparison::Below, b);
  llvm::append_range(clauses, compareClauses(tile, Comparison::AtOrAbove, a));
  return !mayHold(system, system.facts, std::move(clauses), 1);
}

TileBound fa::simplify(TileSystem &system, const TileBound &bound) {
  if (bound.kind() != Kind::Min && bound.kind() != Kind::Max)
    return bound;
  bool isMin = bound.kind() == Kind::Min;
  std::vector<TileBound> terms(bound.terms());
  for (size_t n = 0; n < terms.size() && terms.size() > 1;) {
    auto replaces = [&](const TileBound &other) {
      return &other != &terms[n] && (isMin ? alwaysAtLeast(system, terms[n], other) : alwaysAtLeast(system, other, terms[n]));
    };
    if (llvm::any_of(terms, replaces))
      terms.erase(terms.begin() + n);
    else
      ++n;
  }
  return isMin ? TileBound::min(std::move(terms)) : TileBound::max(std::move(terms));
}
