// convert-fa-to-hopper: every kernel scheduled for Hopper becomes a gpu.func in a module of its own.
#include "KernelBuilder.h"
#include "fa/Conversion/FAToHopper/KernelArguments.h"
#include "fa/Conversion/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace mlir::fa {
#define GEN_PASS_DEF_CONVERTFATOHOPPERPASS
#include "fa/Conversion/Passes.h.inc"
} // namespace mlir::fa

using namespace mlir;
using namespace mlir::fa;

namespace {
struct ConvertFAToHopper : fa::impl::ConvertFAToHopperPassBase<ConvertFAToHopper> {
  void getDependentDialects(DialectRegistry &registry) const override {
    ConvertFAToHopperPassBase::getDependentDialects(registry);
    registry.insert<NVVM::NVVMDialect>();
  }

  void runOnOperation() override {
    SmallVector<func::FuncOp> kernels;
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (function->hasAttr(kernelAttrName) && !function.isExternal())
        kernels.push_back(function);
    for (func::FuncOp kernel : kernels)
      if (failed(convert(kernel)))
        return signalPassFailure();
  }

  LogicalResult convert(func::FuncOp kernel) {
    auto schedule = kernel->getAttrOfType<ScheduleAttr>(scheduleAttrName);
    if (!schedule || !isa_and_nonnull<HopperAttr>(schedule.getTarget()))
      return success();
    FailureOr<KernelPlan> plan = planKernel(kernel, schedule);
    if (failed(plan))
      return failure();
    getOperation().walk([&](LaunchOp launch) {
      if (launch.getKernel() == kernel.getName())
        plan->heavyFirst |= launch.getHeavyFirst() && plan->target.getHeavyFirst();
    });
    ImplicitLocOpBuilder b(kernel.getLoc(), &getContext());
    b.setInsertionPoint(kernel);
    auto module = gpu::GPUModuleOp::create(b, (kernel.getName() + "_sm_90a").str());
    b.setInsertionPointToStart(&module.getBodyRegion().front());
    // Building reports regions that have no form on fragments through the handler below: the IR is then incomplete.
    bool reported = false;
    {
      ScopedDiagnosticHandler handler(&getContext(), [&](Diagnostic &diagnostic) {
        reported |= diagnostic.getSeverity() == DiagnosticSeverity::Error;
        return failure();
      });
      if (failed(KernelBuilder(*plan, b).build()))
        reported = true;
    }
    if (reported) {
      module.erase();
      return failure();
    }
    // The launch keeps a declaration to refer to.
    kernel.eraseBody();
    kernel.setPrivate();
    return success();
  }
};
} // namespace
