// The per-tile test: the same elimination with the key tile fixed, so that only conditions remain.
#include "fa/Analysis/TileTest.h"
#include "KeySpan.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::fa;

static void addConditions(TileSystem &system, const MaskPredicate &mask, std::vector<TileTest::Condition> &conditions,
                          bool &exact) {
  MaskPredicate::NormalForm form = mask.normalForm();
  exact &= form.exact;
  for (const MaskPredicate::Conjunction &conjunction : form.disjuncts) {
    TileTest::Condition condition = computeTileConditions(system, conjunction, exact);
    auto neverHolds = [](AffineExpr expr) {
      auto value = dyn_cast<AffineConstantExpr>(expr);
      return value && value.getValue() < 0;
    };
    if (!llvm::any_of(condition, neverHolds))
      conditions.push_back(std::move(condition));
  }
}

TileTest fa::computeTileTest(const TileProblem &problem) {
  TileSystem system(problem);
  TileTest test;
  test.visibleExact = test.fullExact = !problem.mask.hasUnknown();
  addConditions(system, system.lift(problem.mask.mayHold()), test.visible, test.visibleExact);
  addConditions(system, !system.lift(problem.mask.mustHold()), test.hidden, test.fullExact);
  return test;
}

bool TileTest::isTrivial() const {
  return llvm::any_of(visible, [](const Condition &condition) { return condition.empty(); });
}

unsigned TileTest::size() const {
  unsigned count = 0;
  for (const Condition &condition : visible)
    count += condition.size();
  return count;
}

std::optional<TileKind> TileTest::evaluate(ArrayRef<int64_t> symbols, int64_t keyTile) const {
  auto any = [&](const std::vector<Condition> &conditions) {
    return llvm::any_of(conditions, [&](const Condition &condition) {
      return llvm::all_of(condition, [&](AffineExpr expr) { return evaluateAffine(expr, {}, symbols) >= 0; });
    });
  };
  if (!any(visible))
    return std::nullopt;
  bool whole = (symbols.back() + 1) * keyTile <= symbols[kTileSk];
  return whole && !any(hidden) ? TileKind::Full : TileKind::Partial;
}

Value TileTest::materializeVisible(OpBuilder &builder, Location loc, ValueRange symbols) const {
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0), result;
  SmallVector<OpFoldResult> operands(symbols.begin(), symbols.end());
  for (const Condition &condition : visible) {
    Value all = condition.empty() ? arith::ConstantIntOp::create(builder, loc, 1, 1).getResult() : Value();
    for (AffineExpr expr : condition) {
      AffineMap map = AffineMap::get(0, symbols.size(), expr, builder.getContext());
      Value value = getValueOrCreateConstantIndexOp(builder, loc,
                                                    affine::makeComposedFoldedAffineApply(builder, loc, map, operands));
      Value holds = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sge, value, zero);
      all = all ? arith::AndIOp::create(builder, loc, all, holds).getResult() : holds;
    }
    result = result ? arith::OrIOp::create(builder, loc, result, all).getResult() : all;
  }
  return result ? result : arith::ConstantIntOp::create(builder, loc, 0, 1).getResult();
}
