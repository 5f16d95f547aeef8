// hopper-ping-pong: consumer warpgroups start their products in turn.
#include "fa/Dialect/Hopper/Transforms/Passes.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"

namespace mlir::fa::hopper {
#define GEN_PASS_DEF_PINGPONGPASS
#include "fa/Dialect/Hopper/Transforms/Passes.h.inc"
} // namespace mlir::fa::hopper

using namespace mlir;
using namespace mlir::fa::hopper;

namespace {
bool isProduct(Operation &op) { return isa<GemmSSOp, GemmRSOp>(op); }

/// Loops whose own body, not a nested one, starts products.
SmallVector<scf::ForOp> loopsWithProducts(Region &consumers) {
  SmallVector<scf::ForOp> loops;
  consumers.walk([&](scf::ForOp loop) {
    if (llvm::any_of(*loop.getBody(), isProduct))
      loops.push_back(loop);
  });
  return loops;
}

bool dependsOn(Value value, BlockArgument argument) {
  if (value == argument)
    return true;
  if (!value.getDefiningOp())
    return false;
  SetVector<Operation *> slice;
  BackwardSliceOptions options;
  options.inclusive = true;
  options.omitBlockArguments = true;
  (void)getBackwardSlice(value, &slice, options);
  return llvm::any_of(slice, [&](Operation *op) { return llvm::is_contained(op->getOperands(), argument); });
}

struct PingPong : fa::hopper::impl::PingPongPassBase<PingPong> {
  void runOnOperation() override {
    if (getOperation()->hasAttr(pingPongAttrName))
      getOperation().walk([&](WarpSpecializeOp op) { takeTurns(op); });
  }

  void takeTurns(WarpSpecializeOp op) {
    SmallVector<scf::ForOp> loops = loopsWithProducts(op.getConsumers());
    if (loops.empty())
      return;
    if (op.getWarpgroups() < 2) {
      op.emitRemark("no turns: one consumer warpgroup has nobody to take turns with");
      return;
    }
    for (scf::ForOp loop : loops)
      for (Value bound : {loop.getLowerBound(), loop.getUpperBound(), loop.getStep()})
        if (dependsOn(bound, op.getWarpgroup())) {
          loop.emitRemark("no turns: the warpgroups run this loop a different number of times");
          return;
        }
    OpBuilder builder(&op.getConsumers().front(), op.getConsumers().front().begin());
    FirstTurnOp::create(builder, op.getLoc(), op.getWarpgroup(), op.getWarpgroups());
    for (scf::ForOp loop : loops)
      takeTurns(loop, op.getWarpgroup(), op.getWarpgroups());
  }

  void takeTurns(scf::ForOp loop, Value warpgroup, uint32_t of) {
    Operation *first = nullptr, *last = nullptr;
    for (Operation &op : llvm::make_early_inc_range(*loop.getBody())) {
      if (isProduct(op)) {
        first = first ? first : &op;
        last = &op;
      }
      if (!first || !isa<WaitGemmsOp, scf::YieldOp>(op))
        continue;
      OpBuilder builder(first);
      TakeTurnOp::create(builder, first->getLoc(), warpgroup, of);
      builder.setInsertionPointAfter(last);
      PassTurnOp::create(builder, last->getLoc(), warpgroup, of);
      first = nullptr;
    }
  }
};
} // namespace
