// Pipelines of the CPU target.
#include "fa/Pipelines/CPU.h"
#include "fa/Conversion/Passes.h"
#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Dialect/SCF/Transforms/Passes.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

void fa::buildCpuToLLVMPipeline(OpPassManager &pm) {
  pm.addPass(createRequestCInterfacePass());
  pm.addPass(createSCFToControlFlowPass());
  pm.addPass(memref::createExpandStridedMetadataPass());
  pm.addPass(createLowerAffinePass());
  // LLVM would call conversions of bf16 that Debian's libgcc lacks.
  pm.addPass(arith::createArithExpandOpsPass(arith::ArithExpandOpsPassOptions{.includeBf16 = true}));
  pm.addPass(createConvertMathToLLVMPass());
  pm.addPass(createConvertMathToLibmPass());
  pm.addPass(createFinalizeMemRefToLLVMConversionPass());
  pm.addPass(createArithToLLVMConversionPass());
  pm.addPass(createConvertIndexToLLVMPass());
  pm.addPass(createConvertControlFlowToLLVMPass());
  pm.addPass(createConvertFuncToLLVMPass());
  pm.addPass(createUBToLLVMConversionPass());
  pm.addPass(createReconcileUnrealizedCastsPass());
  pm.addPass(createEmitPackedEntriesPass());
}

void fa::buildCpuLoopsPipeline(OpPassManager &pm) {
  pm.addPass(createConvertFALaunchToLLVMPass());
  pm.addPass(createConvertFAToLoopsPass());
  pm.addNestedPass<func::FuncOp>(createForallToForLoopPass());
  pm.addNestedPass<func::FuncOp>(createConvertLinalgToLoopsPass());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  pm.addPass(createLoopInvariantCodeMotionPass());
  buildCpuToLLVMPipeline(pm);
}

void fa::registerCpuPipelines() {
  registerPass(createRequestCInterfacePass);
  registerPass(createEmitPackedEntriesPass);
  PassPipelineRegistration<>("fa-cpu-loops-pipeline", "Portable CPU path: outlined kernels to the llvm dialect",
                             buildCpuLoopsPipeline);
}
