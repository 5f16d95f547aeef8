// From a conjunction to an interval of keys, by elimination, and the relations between two intervals.
#include "KeySpan.h"
#include "FourierMotzkin.h"
#include "mlir/Analysis/FlatLinearValueConstraints.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::fa;
using Row = FourierMotzkin::Row;

namespace {
constexpr unsigned kQuery = 0, kKey = 1, kFirstDivision = 2;

/// The conjunction within the query tile, as rows [i, j, divisions | symbols | 1].
struct Flattened {
  std::vector<Row> inequalities, equalities;
  unsigned numVariables = 0;
};
} // namespace

static bool isNegativeConstant(AffineExpr expr) {
  auto value = dyn_cast<AffineConstantExpr>(expr);
  return value && value.getValue() < 0;
}

/// Rows of `constraints` (>= 0) and `zero` (== 0) over d0 = i, d1 = j and the symbols.
static FailureOr<Flattened> flatten(TileSystem &system, ArrayRef<AffineExpr> constraints, ArrayRef<AffineExpr> zero) {
  SmallVector<AffineExpr> exprs(constraints);
  exprs.append(zero.begin(), zero.end());
  unsigned numSymbols = system.symbols.size() + 1;
  std::vector<SmallVector<int64_t, 8>> rows;
  FlatLinearConstraints divisions;
  if (failed(getFlattenedAffineExprs(AffineMap::get(2, numSymbols, exprs, system.context), &rows, &divisions)))
    return failure();
  Flattened result;
  unsigned numDivisions = divisions.getNumLocalVars();
  result.numVariables = kFirstDivision + numDivisions;
  auto reordered = [&](ArrayRef<int64_t> row) { // from [i, j | symbols | divisions | 1]
    Row out = {row[0], row[1]};
    out.append(row.begin() + 2 + numSymbols, row.begin() + 2 + numSymbols + numDivisions);
    out.append(row.begin() + 2, row.begin() + 2 + numSymbols);
    out.push_back(row.back());
    return out;
  };
  for (auto [position, row] : llvm::enumerate(rows))
    (position < constraints.size() ? result.inequalities : result.equalities).push_back(reordered(row));
  for (unsigned row = 0; row < divisions.getNumInequalities(); ++row)
    result.inequalities.push_back(reordered(divisions.getInequality64(row)));
  for (unsigned row = 0; row < divisions.getNumEqualities(); ++row)
    result.equalities.push_back(reordered(divisions.getEquality64(row)));
  return result;
}

/// Eliminates i (and j where asked) and the divisions from the conjunction and `domain`. Sorts what is left
/// into bounds of j and guards.
static KeySpan eliminate(TileSystem &system, const MaskPredicate::Conjunction &conjunction, ArrayRef<AffineExpr> domain,
                         bool keepKey) {
  SmallVector<AffineExpr> constraints(ArrayRef<AffineExpr>(conjunction.nonNegative));
  constraints.append(domain.begin(), domain.end());
  KeySpan span;
  FailureOr<Flattened> flat = flatten(system, constraints, conjunction.zero);
  if (failed(flat)) { // semi-affine: only the domain is known
    span.exact = false;
    flat = flatten(system, domain, {});
  }
  SmallVector<AffineExpr> symbols;
  for (unsigned position = 0; position <= system.symbols.size(); ++position)
    symbols.push_back(getAffineSymbolExpr(position, system.context));
  auto implied = [&](AffineExpr expr) { return system.implied({}, expr); };
  FourierMotzkin elimination(flat->numVariables, symbols, implied);
  for (Row &row : flat->inequalities)
    elimination.addInequality(std::move(row));
  for (Row &row : flat->equalities)
    elimination.addEquality(std::move(row));
  elimination.eliminate(kQuery);
  if (!keepKey)
    elimination.eliminate(kKey);
  elimination.eliminateRange(kFirstDivision, flat->numVariables);
  for (const Row &row : elimination.takeInequalities()) {
    int64_t factor = row[kKey];
    if (factor > 0)
      span.lower.push_back(elimination.symbolPart(row, -1, factor - 1).floorDiv(factor));
    else if (factor < 0)
      span.upper.push_back(elimination.symbolPart(row).floorDiv(-factor));
    else
      span.guards.push_back(elimination.symbolPart(row));
  }
  if (span.lower.empty())
    span.lower.push_back(system.constant(0));
  if (span.upper.empty())
    span.upper.push_back(system.sk - 1);
  span.exact &= elimination.isExact();
  return span;
}

static void removeDuplicates(SmallVectorImpl<AffineExpr> &exprs) {
  SmallVector<AffineExpr> unique;
  for (AffineExpr expr : exprs)
    if (!llvm::is_contained(unique, expr))
      unique.push_back(expr);
  exprs.assign(unique);
}

namespace {
/// Drops each bound and guard of a span that the facts and the rest imply.
class SpanSimplifier {
public:
  SpanSimplifier(TileSystem &system, KeySpan &span) : system(system), span(span), j(system.dim(0)) {}

  void run() {
    for (SmallVectorImpl<AffineExpr> *part : {&span.lower, &span.upper, &span.guards})
      removeDuplicates(*part);
    if (system.infeasible(membership(nullptr), 1)) {
      span.guards = {system.constant(-1)};
      span.lower = {system.constant(0)};
      span.upper = {system.constant(-1)};
      return;
    }
    prune(span.guards, 0, [](AffineExpr guard) { return -guard - 1; });
    prune(span.lower, 1, [&](AffineExpr lower) { return lower - 1 - j; });
    prune(span.upper, 1, [&](AffineExpr upper) { return j - upper - 1; });
    addOrderGuards();
  }

private:
  TileSystem &system;
  KeySpan &span;
  AffineExpr j;

  SmallVector<AffineExpr> membership(const AffineExpr *except) {
    SmallVector<AffineExpr> constraints(system.facts);
    for (AffineExpr &lower : span.lower)
      if (&lower != except)
        constraints.push_back(j - lower);
    for (AffineExpr &upper : span.upper)
      if (&upper != except)
        constraints.push_back(upper - j);
    for (AffineExpr &guard : span.guards)
      if (&guard != except)
        constraints.push_back(guard);
    return constraints;
  }

  /// `violated` gives the constraint that holds where the bound does not.
  void prune(SmallVectorImpl<AffineExpr> &bounds, unsigned keepAtLeast,
             llvm::function_ref<AffineExpr(AffineExpr)> violated) {
    for (unsigned position = 0; position < bounds.size() && bounds.size() > keepAtLeast;) {
      SmallVector<AffineExpr> constraints = membership(&bounds[position]);
      constraints.push_back(violated(bounds[position]));
      if (system.infeasible(constraints, 1))
        bounds.erase(bounds.begin() + position);
      else
        ++position;
    }
  }

  /// Tile rounding hides lower > upper when both fall into one tile, unless one sits on a tile's edge.
  void addOrderGuards() {
    int64_t tile = system.keyTile();
    auto onEdge = [&](AffineExpr expr) {
      auto value = dyn_cast<AffineConstantExpr>(expr);
      return value ? value.getValue() % tile == 0 : expr.isMultipleOf(tile);
    };
    for (AffineExpr lower : span.lower)
      for (AffineExpr upper : span.upper)
        if (!onEdge(lower) && !onEdge(upper + 1) && !system.implied(span.guards, upper - lower))
          span.orderGuards.push_back(upper - lower);
  }
};
} // namespace

KeySpan fa::computeKeySpan(TileSystem &system, const MaskPredicate::Conjunction &conjunction) {
  AffineExpr i = system.dim(0), j = system.dim(1);
  KeySpan span =
      eliminate(system, conjunction, {i - system.queryFirst, system.queryLast - i, j, system.sk - 1 - j}, true);
  SpanSimplifier(system, span).run();
  return span;
}

SmallVector<AffineExpr> fa::computeTileConditions(TileSystem &system, const MaskPredicate::Conjunction &conjunction,
                                                  bool &exact) {
  AffineExpr i = system.dim(0), j = system.dim(1), k = system.keyTileSymbol();
  int64_t tile = system.keyTile();
  KeySpan span = eliminate(
      system, conjunction,
      {i - system.queryFirst, system.queryLast - i, j, system.sk - 1 - j, j - k * tile, k * tile + (tile - 1) - j},
      false);
  exact &= span.exact;
  SmallVector<AffineExpr> &guards = span.guards;
  removeDuplicates(guards);
  // 0 <= k < ceildiv(Sk, Bk) holds for every tile that is asked about.
  for (unsigned position = 0; position < guards.size();) {
    SmallVector<AffineExpr> given = {k, system.sk - 1 - k * tile};
    for (unsigned other = 0; other < guards.size(); ++other)
      if (other != position)
        given.push_back(guards[other]);
    if (system.implied(given, guards[position]))
      guards.erase(guards.begin() + position);
    else
      ++position;
  }
  return guards;
}

bool KeySpan::neverHolds() const { return llvm::any_of(guards, isNegativeConstant); }

TileBound KeySpan::firstTile(int64_t keyTile) const {
  std::vector<TileBound> terms;
  for (AffineExpr expr : lower)
    terms.push_back(TileBound::affine(expr.floorDiv(keyTile)));
  return TileBound::max(std::move(terms));
}

TileBound KeySpan::endTile(int64_t keyTile) const {
  std::vector<TileBound> terms;
  for (AffineExpr expr : upper)
    terms.push_back(TileBound::affine((expr + keyTile).floorDiv(keyTile)));
  return TileBound::min(std::move(terms));
}

void KeySpan::addMembership(AffineExpr j, SmallVectorImpl<AffineExpr> &constraints) const {
  for (AffineExpr expr : lower)
    constraints.push_back(j - expr);
  for (AffineExpr expr : upper)
    constraints.push_back(expr - j);
  constraints.append(guards.begin(), guards.end());
}

SmallVector<AffineExpr> fa::allGuards(TileSystem &system, const KeySpan &span, bool nonEmpty) {
  SmallVector<AffineExpr> guards(span.guards);
  guards.append(span.orderGuards.begin(), span.orderGuards.end());
  if (!nonEmpty)
    return guards;
  for (AffineExpr lower : span.lower)
    for (AffineExpr upper : span.upper)
      if (!llvm::is_contained(guards, upper - lower) && !system.implied(guards, upper - lower))
        guards.push_back(upper - lower);
  return guards;
}

bool fa::mayLeaveGap(TileSystem &system, const KeySpan &below, const KeySpan &above) {
  int64_t tile = system.keyTile();
  AffineExpr k = system.dim(2);
  SmallVector<AffineExpr> both(system.facts);
  below.addMembership(system.dim(0), both);
  above.addMembership(system.dim(1), both);
  for (AffineExpr upper : below.upper)
    for (AffineExpr lower : above.lower) {
      SmallVector<AffineExpr> constraints(both);
      constraints.push_back(k * tile - upper - 1);
      constraints.push_back(lower - (k * tile + tile));
      if (!system.infeasible(constraints, 3))
        return true;
    }
  return false;
}

bool fa::mayStartBelow(TileSystem &system, const KeySpan &a, const KeySpan &b) {
  int64_t tile = system.keyTile();
  AffineExpr ja = system.dim(0), jb = system.dim(1), k = system.dim(2);
  SmallVector<AffineExpr> both(system.facts);
  a.addMembership(ja, both);
  b.addMembership(jb, both);
  both.push_back(ja - k * tile);
  both.push_back(k * tile + (tile - 1) - ja);
  for (AffineExpr lower : b.lower) {
    SmallVector<AffineExpr> constraints(both);
    constraints.push_back(lower - (k * tile + tile));
    if (!system.infeasible(constraints, 3))
      return true;
  }
  return false;
}
