// Passes that convert between dialects, for every lib/Conversion/AToB.
#ifndef FA_CONVERSION_PASSES
#define FA_CONVERSION_PASSES

include "mlir/Pass/PassBase.td"

//===----------------------------------------------------------------------===//
// FAToLoops
//===----------------------------------------------------------------------===//

def ConvertFAToLoopsPass : Pass<"convert-fa-to-loops"> {
  let summary = "lower attention tiles to plain scalar loops";
  let description = [{
    The portable lowering: `fa.init`, `fa.step`, `fa.finish`, `fa.load_state`, `fa.store_state` and `fa.combine` become loops over
    `scf`, `arith`, `math` and `memref`, for every element type and every target of LLVM.

    A state becomes three scratch buffers (accumulator, row reference, row sum), allocated where the state begins
    (`fa.init`, `fa.load_state`), updated in place and freed where it ends (`fa.finish`, `fa.store_state`). States
    disappear from the iteration arguments of `scf.for` and the results of `scf.if`. A launch that is still there becomes
    a loop of calls.

    Requires: every state is used exactly once (once in each branch of an `scf.if`); query, key and value are memrefs.
    Guarantees: no row, key or captured value past the end is read; a hidden pair's value is never read; the
    probability of the largest logit is exactly 1; the row sum adds the probabilities as rounded to the input type.
    Leaves alone: `fa.attention`, and everything that is not of the `fa` dialect.

    ```mlir
    %s0 = fa.init : !fa.state<4x8xf32>
    // becomes
    %acc = memref.alloc() : memref<4x8xf32>
    %m = memref.alloc() : memref<4xf32>
    %l = memref.alloc() : memref<4xf32>
    ```
  }];
  let dependentDialects = ["arith::ArithDialect", "func::FuncDialect", "math::MathDialect", "memref::MemRefDialect",
                           "scf::SCFDialect"];
}

def LowerNaivePass : Pass<"fa-lower-naive"> {
  let summary = "lower fa.attention to the unfused form that materialises all scores";
  let description = [{
    The thing to compare with: three passes over a scratch buffer of `B x Hq x Sq x Sk` scores (scores, softmax, product
    with the values), with the numerics of the tiled form.

    Requires: memrefs (run `one-shot-bufferize` first). Named masks are taken as they are.
    Leaves alone: tiles and launches.

    ```mlir
    fa.attention ins(%q, %k, %v : ...) outs(%o : ...)
    // becomes
    %scores = memref.alloc(%b, %h, %sq, %sk) : memref<?x?x?x?xf32>
    ```
  }];
  let dependentDialects = ["arith::ArithDialect", "math::MathDialect", "memref::MemRefDialect", "scf::SCFDialect"];
}

//===----------------------------------------------------------------------===//
// FAToLLVM
//===----------------------------------------------------------------------===//

def ConvertFALaunchToLLVMPass : Pass<"convert-fa-launch-to-llvm", "::mlir::ModuleOp"> {
  let summary = "turn launches in host code into calls of the CPU thread pool";
  let description = [{
    `fa.launch` becomes a call of the runtime function
    ```
    void fa_launch_blocks(void (*kernel)(int64_t block, void **arguments), int64_t blocks, int32_t heavy_first,
                          void **arguments, int64_t num_arguments, int64_t scratch_bytes)
    ```
    with the packed entry `_fa_cpu_<kernel>` of the kernel, which is declared here and made by `fa-emit-packed-entries`
    when the kernel is in the llvm dialect. `arguments[n]` points at the memref descriptor or scalar of argument n.
    With `scratch_bytes` (`fa.scratch_bytes` of the kernel), the last one is a place for the descriptor of each thread's
    scratch memory, which the runtime makes.

    Requires: launches in functions of the module. Runs before the functions are converted to the llvm dialect.
    Leaves alone: everything else.

    ```mlir
    fa.launch @kernel grid(%n) heavy_first args(%q : memref<1x1x?x64xf32>)
    // becomes
    llvm.call @fa_launch_blocks(%entry, %blocks, %heavy_first, %arguments, %num_arguments, %scratch_bytes)
      : (!llvm.ptr, i64, i32, !llvm.ptr, i64, i64) -> ()
    ```
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

//===----------------------------------------------------------------------===//
// FAToHopper
//===----------------------------------------------------------------------===//

def ConvertFAToHopperPass : Pass<"convert-fa-to-hopper", "::mlir::ModuleOp"> {
  let summary = "lower attention kernels scheduled for sm_90a to warp-specialised hopper kernels";
  let description = [{
    Every kernel whose `fa.schedule` has a `#fa.hopper` target becomes a `gpu.func` of the same name in a `gpu.module`; the
    kernel function stays as a declaration for its launch.

    * A producer thread copies the query tile and, through rings of `stages` slots, the key and value tiles by TMA.
    * Each of `warpgroups` consumers owns 64 query rows: S = Q K^T, score function and mask on fragments, online softmax,
      O += P V, and at the end O / l through shared memory and the log-sum-exp.
    * With `overlap`, the softmax of a tile runs under the product of the previous probabilities with the values; the
      first tile is peeled off. Tiles under a per-tile test run one after another.
    * A `persistent` kernel walks the blocks of the launch with the grid's stride.

    Depths that are not a multiple of 16 are padded by the zeros that TMA delivers. Argument attributes `fa.source` say what
    the launch has to pass.

    Requires `fa-outline-kernels`; one step per loop over key tiles. Refuses, with the reason: inputs other than bf16 and
    f16, depths that are no multiple of 8, tensors that are not arguments, schedules that do not fit shared memory (with
    what would), operations of a score or mask region that have no form on fragments. Leaves alone: other targets.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::gpu::GPUDialect", "::mlir::math::MathDialect",
                           "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect",
                           "::mlir::fa::hopper::HopperDialect"];
}

//===----------------------------------------------------------------------===//
// HopperToNVVM
//===----------------------------------------------------------------------===//

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

#endif // FA_CONVERSION_PASSES
