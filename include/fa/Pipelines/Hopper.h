// Pipelines of the Hopper target (sm_90a): outlined kernels -> hopper -> llvm dialect.
#pragma once
#include "mlir/Pass/PassManager.h"

namespace mlir::fa {

/// Outlined kernels (levels L1 to L3) -> warp-specialised kernels in the hopper dialect.
void buildHopperKernelsPipeline(OpPassManager &pm);
/// Turns, stages and phases, shared memory.
void buildHopperTransformsPipeline(OpPassManager &pm);
/// The hopper dialect -> the llvm dialect, ready for emitPtx (Target/PTX/EmitPTX.h).
void buildHopperToLLVMPipeline(OpPassManager &pm);
/// All of the above: `fa-hopper-pipeline`.
void buildHopperPipeline(OpPassManager &pm);

void registerHopperPipelines();

} // namespace mlir::fa
