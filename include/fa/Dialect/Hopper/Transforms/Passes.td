// Passes on the hopper dialect.
#ifndef FA_DIALECT_HOPPER_TRANSFORMS_PASSES_TD
#define FA_DIALECT_HOPPER_TRANSFORMS_PASSES_TD
include "mlir/Pass/PassBase.td"

def PingPongPass : Pass<"hopper-ping-pong", "::mlir::gpu::GPUFuncOp"> {
  let summary = "make consumer warpgroups start their products in turn";
  let description = [{
    Works on kernels marked `hopper.ping_pong`. In every loop of the consumers whose own body starts products, takes the turn before the first
    product and passes it on after the last product that is started before a wait; so again for products after it. While one warpgroup computes its softmax, another has
    the tensor cores.

    Requires two or three consumer warpgroups and loops that run equally often in each; otherwise it declines with a
    remark. Leaves everything outside loops alone.

    ```mlir
    scf.for ... {                                   scf.for ... {
      %s = hopper.gemm_ss ...                         hopper.take_turn %w of 2
      %v = hopper.wait_gemms pending(0) %s   ->       %s = hopper.gemm_ss ...
    }                                                 hopper.pass_turn %w of 2
                                                      %v = hopper.wait_gemms pending(0) %s
                                                    }
    ```
  }];
}

def AssignStagesPass : Pass<"hopper-assign-stages", "::mlir::gpu::GPUFuncOp"> {
  let summary = "replace the number of a ring's use by stage and phase";
  let description = [{
    `stage = n mod stages`, `phase = (n / stages) mod 2`: masks and shifts where the number of stages is a power of two.
    Leaves alone what already has a stage and a phase.

    ```mlir
    hopper.release %k[%n] : !hopper.ring<2 x [128x128xbf16]>
    // becomes
    %stage = arith.andi %n, %c1 : index
    %turn = arith.shrui %n, %c1 : index
    %phase = arith.andi %turn, %c1 : index
    hopper.release %k[%stage, %phase] : !hopper.ring<2 x [128x128xbf16]>
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def AllocateSharedPass : Pass<"hopper-allocate-shared", "::mlir::gpu::GPUFuncOp"> {
  let summary = "give rings and their barriers a place in shared memory";
  let description = [{
    Lays the rings out one after another, each at a multiple of 1024 bytes (where the swizzle pattern repeats), then all
    barriers, and records the sum as `hopper.shared_bytes` on the kernel. More than 227 KB is an error that says how much
    is needed.

    ```mlir
    %k = hopper.ring readers(2) : !hopper.ring<2 x [128x128xbf16]>
    // becomes
    %k = hopper.ring readers(2) offset(0) barriers(65536) : !hopper.ring<2 x [128x128xbf16]>
    ```
  }];
}
#endif
