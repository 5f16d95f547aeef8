// The conversion from hopper to nvvm and llvm.
#ifndef FA_CONVERSION_HOPPERTONVVM_PASSES_TD
#define FA_CONVERSION_HOPPERTONVVM_PASSES_TD
include "mlir/Pass/PassBase.td"

def ConvertHopperToNVVMPass : Pass<"convert-hopper-to-nvvm", "::mlir::gpu::GPUModuleOp"> {
  let summary = "lower hopper kernels to nvvm, llvm and scalar arithmetic";
  let description = [{
    Turns every kernel (gpu.func with `kernel`) of the module into an llvm.func that NVPTX takes:

    * tensor maps become 128-byte grid-constant parameters; a memref becomes a pointer to its first element and one i64
      for each stride that its type does not fix; an index becomes an i32;
    * fragments are taken apart: elementwise arithmetic on vectors becomes scalar arithmetic, so that no vector of
      comparisons reaches LLVM; only values carried by loops stay vectors;
    * each product is one inline assembly with its fence and commit, each wait is tied to the accumulators it releases;
    * math ops become approximate instructions or short formulas on them, with no device library; a math op without such
      a form is an error that names it;
    * index is 32 bits: no index type is left.

    Requires stages, phases and shared memory to be assigned (`hopper-assign-stages`, `hopper-allocate-shared`).
    Guarantees that no hopper, gpu, memref, vector or math op is left; arith, scf and cf are for the upstream passes.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::NVVM::NVVMDialect", "::mlir::arith::ArithDialect",
                           "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"];
}
#endif
