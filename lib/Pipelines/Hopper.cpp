// Pipelines of the Hopper target.
#include "fa/Pipelines/Hopper.h"
#include "fa/Conversion/Passes.h"
#include "fa/Dialect/Hopper/Transforms/Passes.h"
#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Affine/Transforms/Passes.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

/// Blocks come from structured loops, so there is nothing to merge in regions.
static void addCleanup(OpPassManager &pm) {
  GreedyRewriteConfig config;
  config.setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled);
  pm.addPass(createCanonicalizerPass(config));
  pm.addPass(createCSEPass());
}

void fa::buildHopperKernelsPipeline(OpPassManager &pm) {
  pm.addPass(createConvertFAToHopperPass());
  addCleanup(pm.nest<gpu::GPUModuleOp>());
}

void fa::buildHopperTransformsPipeline(OpPassManager &pm) {
  OpPassManager &kernels = pm.nest<gpu::GPUModuleOp>().nest<gpu::GPUFuncOp>();
  kernels.addPass(hopper::createPingPongPass());
  kernels.addPass(hopper::createAssignStagesPass());
  kernels.addPass(hopper::createAllocateSharedPass());
}

void fa::buildHopperToLLVMPipeline(OpPassManager &pm) {
  {
    OpPassManager &modules = pm.nest<gpu::GPUModuleOp>();
    modules.addPass(affine::createAffineExpandIndexOpsPass());
    modules.addPass(createLowerAffinePass());
    addCleanup(modules);
    modules.addPass(createConvertHopperToNVVMPass());
    addCleanup(modules);
    modules.addPass(createSCFToControlFlowPass());
    modules.addPass(createArithToLLVMConversionPass());
  }
  pm.addPass(createConvertControlFlowToLLVMPass());
  OpPassManager &modules = pm.nest<gpu::GPUModuleOp>();
  modules.addPass(createConvertNVVMToLLVMPass());
  modules.addPass(createReconcileUnrealizedCastsPass());
}

void fa::buildHopperPipeline(OpPassManager &pm) {
  buildHopperKernelsPipeline(pm);
  buildHopperTransformsPipeline(pm);
  buildHopperToLLVMPipeline(pm);
}

void fa::registerHopperPipelines() {
  PassPipelineRegistration<>("fa-hopper-kernels-pipeline", "Outlined kernels to the hopper dialect",
                             buildHopperKernelsPipeline);
  PassPipelineRegistration<>("fa-hopper-transforms-pipeline", "Turns, stages and shared memory of hopper kernels",
                             buildHopperTransformsPipeline);
  PassPipelineRegistration<>("fa-hopper-to-llvm-pipeline", "The hopper dialect to the llvm dialect",
                             buildHopperToLLVMPipeline);
  PassPipelineRegistration<>("fa-hopper-pipeline", "Outlined kernels to the llvm dialect for sm_90a",
                             buildHopperPipeline);
}
