// hopper-assign-stages: the number of a use becomes stage and phase.
#include "fa/Dialect/Hopper/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "llvm/Support/MathExtras.h"

namespace mlir::fa::hopper {
#define GEN_PASS_DEF_ASSIGNSTAGESPASS
#include "fa/Dialect/Hopper/Transforms/Passes.h.inc"
} // namespace mlir::fa::hopper

using namespace mlir;
using namespace mlir::fa::hopper;

namespace {
struct AssignStages : fa::hopper::impl::AssignStagesPassBase<AssignStages> {
  void runOnOperation() override {
    getOperation().walk([&](Operation *op) {
      if (auto acquire = dyn_cast<AcquireOp>(op))
        rewrite(acquire);
      else if (auto wait = dyn_cast<WaitOp>(op))
        rewrite(wait);
      else if (auto release = dyn_cast<ReleaseOp>(op))
        rewrite(release);
    });
  }

  template <typename OpT> void rewrite(OpT op) {
    if (op.getPosition().size() != 1)
      return;
    OpBuilder builder(op);
    auto [stage, phase] = stageAndPhase(builder, op.getLoc(), op.getPosition()[0], op.getRing().getType().getStages());
    op.getPositionMutable().assign({stage, phase});
  }

  std::pair<Value, Value> stageAndPhase(OpBuilder &builder, Location loc, Value use, int64_t stages) {
    auto constant = [&](int64_t value) { return arith::ConstantIndexOp::create(builder, loc, value); };
    Value one = constant(1), stage, turn;
    if (stages == 1) {
      stage = constant(0);
      turn = use;
    } else if (llvm::isPowerOf2_64(stages)) {
      stage = arith::AndIOp::create(builder, loc, use, constant(stages - 1));
      turn = arith::ShRUIOp::create(builder, loc, use, constant(llvm::Log2_64(stages)));
    } else {
      stage = arith::RemUIOp::create(builder, loc, use, constant(stages));
      turn = arith::DivUIOp::create(builder, loc, use, constant(stages));
    }
    return {stage, arith::AndIOp::create(builder, loc, turn, one)};
  }
};
} // namespace
