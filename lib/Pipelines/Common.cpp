// From fa.attention to kernels: one short builder per arrow.
#include "fa/Pipelines/Common.h"
#include "fa/Dialect/FA/Transforms/Passes.h"
#include "mlir/Dialect/Bufferization/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace mlir::fa;

static void addCleanup(OpPassManager &pm) {
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
}

void fa::buildBufferizePipeline(OpPassManager &pm) {
  bufferization::OneShotBufferizePassOptions options;
  options.bufferizeFunctionBoundaries = true;
  options.functionBoundaryTypeConversion = bufferization::LayoutMapOption::IdentityLayoutMap;
  pm.addPass(bufferization::createOneShotBufferizePass(options));
  pm.addPass(bufferization::createDropEquivalentBufferResultsPass());
}

void fa::buildSchedulePipeline(OpPassManager &pm, const ScheduleOptions &options) {
  addCleanup(pm);
  pm.addPass(createExpandMasksPass());
  if (options.foldGroups)
    pm.addPass(createFoldQueryGroupsPass());
  SelectSchedulePassOptions select;
  select.target = options.target;
  select.schedule = options.schedule;
  select.tileQ = options.tileQ;
  select.tileKv = options.tileKv;
  select.order = options.order;
  select.splitKeys = options.splitKeys;
  select.vectorBits = options.vectorBits;
  pm.addPass(createSelectSchedulePass(select));
}

void fa::buildTilePipeline(OpPassManager &pm) {
  pm.addPass(createTileAttentionPass());
  // No canonicalizer before outlining: it would inline an scf.forall of one iteration, and with it the kernel.
  pm.addPass(createCSEPass());
}

void fa::buildEliminatePipeline(OpPassManager &pm) {
  pm.addPass(createEliminateMaskedTilesPass());
  pm.addPass(createPeelMaskedTilesPass());
  pm.addPass(createCSEPass());
}

void fa::buildOutlinePipeline(OpPassManager &pm, const std::string &target) {
  OutlineKernelsPassOptions options;
  options.viewsOutside = target == "sm_90a";
  pm.addPass(createOutlineKernelsPass(options));
  addCleanup(pm);
}

void fa::buildKernelsPipeline(OpPassManager &pm, const ScheduleOptions &options) {
  buildBufferizePipeline(pm);
  buildSchedulePipeline(pm, options);
  buildTilePipeline(pm);
  buildEliminatePipeline(pm);
  buildOutlinePipeline(pm, options.target);
}

void fa::registerCommonPipelines() {
  PassPipelineRegistration<ScheduleOptions>("fa-kernels-pipeline",
                                            "From fa.attention to outlined kernels over a grid (levels L0 to L3)",
                                            buildKernelsPipeline);
}
