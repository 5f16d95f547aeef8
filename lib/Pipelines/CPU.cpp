// Pipelines of the CPU target.
#include "fa/Pipelines/CPU.h"
#include "fa/Conversion/FAToVector/FAToVector.h"
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
  pm.addPass(createConvertVectorToLLVMPass());
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

void fa::buildLoopsPipeline(OpPassManager &pm) {
  pm.addPass(createConvertFALaunchToLLVMPass());
  pm.addPass(createConvertFAToLoopsPass());
  pm.addNestedPass<func::FuncOp>(createForallToForLoopPass());
  pm.addNestedPass<func::FuncOp>(createConvertLinalgToLoopsPass());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  pm.addPass(createLoopInvariantCodeMotionPass());
}

void fa::buildCpuLoopsPipeline(OpPassManager &pm) {
  buildLoopsPipeline(pm);
  buildCpuToLLVMPipeline(pm);
}

void fa::selectVectorUnit(ArrayRef<std::string> features, VectorUnitOptions &options) {
  auto has = [&](StringRef feature) { return llvm::is_contained(features, feature); };
  options.avx512 = has("avx512f") && has("avx512dq");
  options.vectorBits = options.avx512 ? 512 : has("avx2") ? 256 : 128;
}

void fa::buildVectorPipeline(OpPassManager &pm, const VectorUnitOptions &options) {
  pm.addPass(createConvertFAToVectorPass({options.vectorBits, options.avx512}));
  pm.addPass(createConvertFALaunchToLLVMPass()); // after the kernels, which say what scratch memory they need
  // fa.combine.
  pm.addPass(createConvertFAToLoopsPass());
  // What host functions hold besides launches.
  pm.addNestedPass<func::FuncOp>(createForallToForLoopPass());
  pm.addNestedPass<func::FuncOp>(createConvertLinalgToLoopsPass());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
}

void fa::buildCpuVectorPipeline(OpPassManager &pm, const VectorUnitOptions &options) {
  buildVectorPipeline(pm, options);
  buildCpuToLLVMPipeline(pm);
}

void fa::registerCpuPipelines() {
  registerPass(createRequestCInterfacePass);
  registerPass(createEmitPackedEntriesPass);
  PassPipelineRegistration<>("fa-cpu-loops-pipeline", "Portable CPU path: outlined kernels to the llvm dialect",
                             buildCpuLoopsPipeline);
  PassPipelineRegistration<VectorUnitOptions>("fa-cpu-vector-pipeline",
                                              "Fast CPU path: outlined kernels to vector code and the llvm dialect",
                                              buildCpuVectorPipeline);
}
