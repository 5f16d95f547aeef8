// Pipelines of the CPU target: outlined kernels and host functions -> llvm dialect.
#pragma once
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"

namespace mlir::fa {

/// The portable path: kernels and host functions with tiles, launches and upstream dialects (arith, affine, scf, linalg
/// on memrefs, math, memref) to the llvm dialect. Launches call `fa_launch_blocks`; kernels get packed entries
/// (Target/CPU/PackedEntry.h); every function gets a C interface. Flag: `fa-cpu-loops-pipeline`.
void buildCpuLoopsPipeline(OpPassManager &pm);
/// Its first half: tiles to loops over upstream dialects.
void buildLoopsPipeline(OpPassManager &pm);

/// The vector unit that buildCpuVectorPipeline makes code for. The default is any CPU with 128-bit vectors.
struct VectorUnitOptions : PassPipelineOptions<VectorUnitOptions> {
  Option<int64_t> vectorBits{*this, "vector-bits", llvm::cl::desc("width of a vector register: 128, 256 or 512"),
                             llvm::cl::init(128)};
  Option<bool> avx512{*this, "avx512", llvm::cl::desc("use vreduce and vscalef of AVX-512 (needs vector-bits=512)"),
                      llvm::cl::init(false)};
};

/// What is best for a CPU whose enabled LLVM features (Target/CPU/CompileToObject.h) are `features`.
void selectVectorUnit(ArrayRef<std::string> features, VectorUnitOptions &options);

/// The fast path: kernels with states in scratch memory (order query_outer) to blocked vector code and to the llvm
/// dialect. Launches and kernels as in buildCpuLoopsPipeline. Flag: `fa-cpu-vector-pipeline`.
void buildCpuVectorPipeline(OpPassManager &pm, const VectorUnitOptions &options);
/// Its first half: tiles to vector code.
void buildVectorPipeline(OpPassManager &pm, const VectorUnitOptions &options);

/// From upstream dialects on memrefs to the llvm dialect, with packed entries for kernels. Shared by the paths of this
/// target.
void buildCpuToLLVMPipeline(OpPassManager &pm);

/// Asks for the C interface of every public function with a body, and of kernels: packed entries and host calls use it.
/// Flag: `fa-request-c-interface`.
std::unique_ptr<Pass> createRequestCInterfacePass();

/// Emits the packed entry of every kernel of a module of the llvm dialect. Flag: `fa-emit-packed-entries`.
std::unique_ptr<Pass> createEmitPackedEntriesPass();

/// Registers the flags above.
void registerCpuPipelines();

} // namespace mlir::fa
