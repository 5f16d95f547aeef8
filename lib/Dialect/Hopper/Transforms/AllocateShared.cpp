// hopper-allocate-shared: places of rings and barriers in shared memory.
#include "fa/Dialect/Hopper/Transforms/Passes.h"
#include "mlir/IR/Builders.h"
#include "llvm/Support/MathExtras.h"

namespace mlir::fa::hopper {
#define GEN_PASS_DEF_ALLOCATESHAREDPASS
#include "fa/Dialect/Hopper/Transforms/Passes.h.inc"
} // namespace mlir::fa::hopper

using namespace mlir;
using namespace mlir::fa::hopper;

namespace {
constexpr int64_t swizzleRepeat = 1024;
constexpr int64_t barrierBytes = 8;

struct AllocateShared : fa::hopper::impl::AllocateSharedPassBase<AllocateShared> {
  void runOnOperation() override {
    gpu::GPUFuncOp kernel = getOperation();
    SmallVector<RingOp> rings(kernel.getBody().getOps<RingOp>());
    if (rings.empty())
      return;
    int64_t bytes = 0;
    for (RingOp ring : rings) {
      RingType type = ring.getRing().getType();
      ring.setOffset(bytes);
      bytes += llvm::alignTo(type.getStages() * type.getStageBytes(), swizzleRepeat);
    }
    for (AllocateOp tile : kernel.getBody().getOps<AllocateOp>()) {
      tile.setOffset(bytes);
      bytes += llvm::alignTo(tile.getTile().getType().getBytes(), swizzleRepeat);
    }
    for (RingOp ring : rings) {
      ring.setBarriers(bytes);
      bytes += 2 * ring.getRing().getType().getStages() * barrierBytes;
    }
    if (bytes > sharedBytesLimit) {
      InFlightDiagnostic diagnostic = kernel.emitError("expected at most ")
                                      << sharedBytesLimit << " bytes of shared memory, but got " << bytes;
      for (RingOp ring : rings)
        diagnostic.attachNote(ring.getLoc()) << ring.getRing().getType().getStages() << " stages of "
                                             << ring.getRing().getType().getStageBytes() << " bytes here";
      return signalPassFailure();
    }
    kernel->setAttr(sharedBytesAttrName, Builder(kernel.getContext()).getI64IntegerAttr(bytes));
  }
};
} // namespace
