// Facts of a query tile, and emptiness of affine constraints by MLIR's Presburger library within limits:
// isIntegerEmpty cannot be interrupted, so divisions, coefficients and the number of questions are bounded.
#include "TileSystem.h"
#include "mlir/Analysis/FlatLinearValueConstraints.h"
#include "mlir/Analysis/Presburger/Simplex.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::fa;

static constexpr unsigned kMaxQueries = 1500;

/// An integer emptiness test takes about 4^divisions microseconds: 0.1 to 2 ms up to 5 divisions, a second at 8.
static constexpr unsigned kMaxDivisions = 7;
static constexpr uint64_t kMaxIntegerWork = 250000;
static constexpr unsigned kMaxConstraints = 96;
static constexpr int64_t kMaxIntegerCoefficient = int64_t(1) << 20;

TileProblem fa::transposed(const TileProblem &problem) {
  TileProblem result = problem;
  MLIRContext *context = problem.context;
  std::swap(result.queryTile, result.keyTile);
  std::swap(result.sq, result.sk);
  SmallVector<AffineExpr> dims = {getAffineDimExpr(1, context), getAffineDimExpr(0, context)};
  SmallVector<AffineExpr> symbols = {getAffineSymbolExpr(kMaskSk, context), getAffineSymbolExpr(kMaskSq, context)};
  for (unsigned n = 0; n < problem.numOperands; ++n)
    symbols.push_back(getAffineSymbolExpr(kFirstMaskOperand + n, context));
  result.mask = problem.mask.replace(dims, symbols);
  for (AffineExpr &fact : result.facts)
    fact = fact.replaceSymbols(symbols);
  return result;
}

TileSystem::TileSystem(const TileProblem &problem, Effort effort)
    : problem(problem), context(problem.context), effort(effort) {
  unsigned numSymbols = kFirstTileOperand + problem.numOperands;
  for (unsigned position = 0; position < numSymbols; ++position)
    symbols.push_back(getAffineSymbolExpr(position, context));
  if (problem.sq)
    symbols[kTileSq] = constant(*problem.sq);
  if (problem.sk)
    symbols[kTileSk] = constant(*problem.sk);
  for (auto [position, value] : llvm::enumerate(problem.operands))
    if (value)
      symbols[kFirstTileOperand + position] = constant(*value);
  int64_t queryTile = problem.queryTile;
  if (problem.sq && *problem.sq % queryTile == 0)
    symbols[kQueryLast] = symbols[kQueryTile] * queryTile + (queryTile - 1);
  queryFirst = symbols[kQueryTile] * queryTile;
  queryLast = symbols[kQueryLast];
  sk = symbols[kTileSk];
  // 0 <= i,  i Bq <= qLast <= min(i Bq + Bq, Sq) - 1,  0 <= Sk
  facts = {symbols[kQueryTile], queryLast - queryFirst, queryFirst + (queryTile - 1) - queryLast,
           symbols[kTileSq] - 1 - queryLast, sk};
  ArrayRef<AffineExpr> maskSymbols = ArrayRef(symbols).drop_front(kTileSq);
  for (AffineExpr fact : problem.facts)
    facts.push_back(fact.replaceSymbols(maskSymbols));
}

MaskPredicate TileSystem::lift(const MaskPredicate &mask) const {
  return mask.replace({}, ArrayRef(symbols).drop_front(kTileSq));
}

bool TileSystem::implied(ArrayRef<AffineExpr> given, AffineExpr expr) {
  if (auto value = dyn_cast<AffineConstantExpr>(expr))
    return value.getValue() >= 0;
  SmallVector<AffineExpr> constraints(facts);
  constraints.append(given.begin(), given.end());
  constraints.push_back(-expr - 1);
  return infeasible(constraints, 0);
}

static bool hasLargeCoefficient(const FlatLinearConstraints &constraints) {
  auto large = [](ArrayRef<int64_t> row) {
    return llvm::any_of(row.drop_back(),
                        [](int64_t c) { return c > kMaxIntegerCoefficient || c < -kMaxIntegerCoefficient; });
  };
  for (unsigned row = 0; row < constraints.getNumInequalities(); ++row)
    if (large(constraints.getInequality64(row)))
      return true;
  for (unsigned row = 0; row < constraints.getNumEqualities(); ++row)
    if (large(constraints.getEquality64(row)))
      return true;
  return false;
}

bool TileSystem::infeasible(ArrayRef<AffineExpr> constraints, unsigned numDims, Effort effort) {
  SmallVector<AffineExpr> live;
  for (AffineExpr expr : constraints) {
    auto value = dyn_cast<AffineConstantExpr>(expr);
    if (value && value.getValue() < 0)
      return true;
    if (!value)
      live.push_back(expr);
  }
  if (live.empty())
    return false;
  if (++queries > kMaxQueries || live.size() > kMaxConstraints ||
      llvm::any_of(live, [](AffineExpr e) { return affineMagnitude(e) > kMaxAffineMagnitude * 1024; })) {
    limitMet = true;
    return false;
  }
  std::vector<SmallVector<int64_t, 8>> rows;
  FlatLinearConstraints set;
  AffineMap map = AffineMap::get(numDims, symbols.size() + 1, live, context);
  if (failed(getFlattenedAffineExprs(map, &rows, &set)))
    return false;
  for (const SmallVector<int64_t, 8> &row : rows)
    set.addInequality(row);
  if (presburger::Simplex(set).isEmpty() || set.isEmptyByGCDTest())
    return true;
  if (effort == Effort::Rational)
    return false;
  uint64_t work = uint64_t(1) << (2 * std::min(set.getNumLocalVars(), 16u));
  if (set.getNumLocalVars() > kMaxDivisions || integerWork + work > kMaxIntegerWork || hasLargeCoefficient(set)) {
    limitMet = true;
    return false;
  }
  integerWork += work;
  return set.isIntegerEmpty();
}
