// Pipelines of the CPU target: outlined kernels and host functions -> llvm dialect.
#pragma once
#include "mlir/Pass/PassManager.h"

namespace mlir::fa {

/// The portable path: kernels and host functions with tiles, launches and upstream dialects (arith, affine, scf, linalg
/// on memrefs, math, memref) to the llvm dialect. Launches call `fa_launch_blocks`; kernels get packed entries
/// (Target/CPU/PackedEntry.h); every function gets a C interface. Flag: `fa-cpu-loops-pipeline`.
void buildCpuLoopsPipeline(OpPassManager &pm);

/// From upstream dialects on memrefs to the llvm dialect, with packed entries for kernels. Shared by the paths of this
/// target.
void buildCpuToLLVMPipeline(OpPassManager &pm);

/// Asks for the C interface of every function with a body: packed entries and host calls use it. Flag:
/// `fa-request-c-interface`.
std::unique_ptr<Pass> createRequestCInterfacePass();

/// Emits the packed entry of every kernel of a module of the llvm dialect. Flag: `fa-emit-packed-entries`.
std::unique_ptr<Pass> createEmitPackedEntriesPass();

/// Registers the flags above.
void registerCpuPipelines();

} // namespace mlir::fa
