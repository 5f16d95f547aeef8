// convert-fa-to-vector.
#ifndef FA_CONVERSION_FATOVECTOR_PASSES
#define FA_CONVERSION_FATOVECTOR_PASSES

include "mlir/Pass/PassBase.td"

def ConvertFAToVectorPass : Pass<"convert-fa-to-vector", "::mlir::ModuleOp"> {
  let summary = "turn tiles with an online softmax into blocked vector code for CPUs";
  let description = [{
    Computes the transposed scores S^T[key][query] with queries on vector lanes: keys and values are read in place as
    scalars that are broadcast, only queries are packed (once per query tile), no operation is horizontal, and the
    exponential runs in the epilogue of the QK product against a row reference that is raised lazily.
    Where the schedule of the kernel says `lanes = depth` (at most 16 query rows), columns of keys and values lie on lanes
    instead, each is read once, in order, and asked for ahead of its use.

    Requires: functions marked `fa.kernel` whose states are made by `fa.init`, advanced by `fa.step` and used by
    `fa.finish` (order query_outer), through `scf.for` alone.
    Guarantees: no fa operation is left in kernels. A state is scratch memory that the runtime gives to the
    kernel, which takes a `memref<?xi8>` last and is marked `fa.scratch_bytes`; its launches are still `fa.launch`. Key
    and value tiles whose rows are strided or of another element type are copied once per step.
    16-bit inputs compute in f32. Each state's steps share one private function.
    Leaves alone: functions without `fa.init`.

    ```mlir
    %s0 = fa.init : !fa.state<128x64xf32>
    ```
    becomes loops that clear scratch memory and pack the queries.
  }];
  let options = [
    Option<"vectorBits", "vector-bits", "int64_t", "128", "width of a vector register: 128, 256 or 512">,
    Option<"avx512", "avx512", "bool", "false", "use vreduce and vscalef of AVX-512 (needs vector-bits=512)">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::func::FuncDialect", "::mlir::LLVM::LLVMDialect",
                           "::mlir::math::MathDialect", "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect",
                           "::mlir::vector::VectorDialect", "::mlir::affine::AffineDialect"];
}

#endif // FA_CONVERSION_FATOVECTOR_PASSES
