// The pass convert-fa-to-vector: states one by one, then their types.
#include "fa/Conversion/FAToVector/FAToVector.h"
#include "StateLowering.h"
#include "fa/Dialect/FA/IR/KernelScratch.h"

namespace mlir::fa {
#define GEN_PASS_DEF_CONVERTFATOVECTORPASS
#include "fa/Conversion/FAToVector/Passes.h.inc"
} // namespace mlir::fa

using namespace mlir;
using namespace mlir::fa;

namespace {

/// Carried states became tokens of type index; canonicalization removes them.
void retypeStates(ModuleOp module) {
  Type token = IndexType::get(module.getContext());
  auto retype = [&](Value value) {
    if (isa<StateType>(value.getType()))
      value.setType(token);
  };
  module.walk([&](Operation *op) {
    llvm::for_each(op->getResults(), retype);
    for (Region &region : op->getRegions())
      for (Block &block : region)
        llvm::for_each(block.getArguments(), retype);
  });
}

struct ConvertFAToVectorPass : fa::impl::ConvertFAToVectorPassBase<ConvertFAToVectorPass> {
  using ConvertFAToVectorPassBase::ConvertFAToVectorPassBase;

  void runOnOperation() override {
    if (failed(checkOptions()))
      return signalPassFailure();
    SmallVector<InitOp> inits;
    getOperation().walk([&](InitOp init) { inits.push_back(init); });
    WalkResult others = getOperation().walk([&](Operation *op) {
      if (!isa<LoadStateOp, StoreStateOp>(op))
        return WalkResult::advance();
      op->emitOpError("expected states that stay in scratch memory (order query_outer), but got one in a tensor; use "
                      "convert-fa-to-loops");
      return WalkResult::interrupt();
    });
    if (others.wasInterrupted())
      return signalPassFailure();
    for (InitOp init : inits) {
      FailureOr<cpu::StateChain> chain = cpu::traceState(init);
      if (failed(chain) || failed(cpu::lowerState(*chain, {vectorBits, avx512})))
        return signalPassFailure();
    }
    retypeStates(getOperation());
    if (failed(checkLaunches()))
      signalPassFailure();
  }

private:
  /// Launches that are lowered already give no scratch memory.
  LogicalResult checkLaunches() {
    for (auto kernel : getOperation().getOps<func::FuncOp>())
      if (getScratchBytes(kernel) > 0 && getOperation().lookupSymbol(("_fa_cpu_" + kernel.getName()).str()))
        return kernel.emitError(
            "expected launches of a kernel that needs scratch memory to be fa.launch, but got calls; "
            "run convert-fa-to-vector before convert-fa-launch-to-llvm");
    return success();
  }

  LogicalResult checkOptions() {
    Location loc = getOperation().getLoc();
    if (vectorBits != 128 && vectorBits != 256 && vectorBits != 512)
      return emitError(loc) << "expected vector-bits of 128, 256 or 512, but got " << vectorBits.getValue();
    if (avx512 && vectorBits != 512)
      return emitError(loc) << "expected vector-bits of 512 with avx512, but got " << vectorBits.getValue();
    return success();
  }
};

} // namespace
