// One causal kernel: what the producer and the consumers do, and in which order.
// RUN: fa-opt %s --fa-kernels-pipeline="target=sm_90a" --fa-hopper-kernels-pipeline 2>/dev/null | FileCheck %s -enable-var-scope

!t = memref<?x?x?x128xbf16>
// CHECK: gpu.module @causal_kernel_sm_90a
// CHECK: gpu.func @causal_kernel(%[[Q:[^:]*]]: !hopper.tensor_map<128x64xbf16> {fa.source = "tensor_map 0"}, %[[K:[^:]*]]: !hopper.tensor_map<128x64xbf16> {fa.source = "tensor_map 1"}, %[[V:[^:]*]]: !hopper.tensor_map<128x64xbf16> {fa.source = "tensor_map 2"}, %[[O:[^:]*]]: !hopper.tensor_map<64x64xbf16> {fa.source = "tensor_map 3"}, %[[LSE:[^:]*]]: memref<?x?x?xf32> {fa.source = "memref 4"}
// CHECK-SAME: hopper.ping_pong
// CHECK-SAME: known_block_size = array<i32: 384, 1, 1>
// CHECK: %[[QR:.*]] = hopper.ring readers(2) : !hopper.ring<1 x [128x128xbf16]>
// CHECK: %[[KR:.*]] = hopper.ring readers(2) : !hopper.ring<2 x [128x128xbf16]>
// CHECK: %[[VR:.*]] = hopper.ring readers(2) : !hopper.ring<2 x [128x128xbf16]>

// Blocks run from the last, which does most, to the first; both roles use the same coordinates.
// CHECK: gpu.grid_dim  x
// One division for each size, shifts for tile sizes that are powers of two: nothing here is negative.
// CHECK: %[[RAISED:.*]] = arith.addi %{{.*}}, %c127
// CHECK: %[[TILES:.*]] = arith.shrsi %[[RAISED]], %c7
// CHECK: arith.divui %{{.*}}, %[[TILES]]
// CHECK-NOT: affine
// CHECK: hopper.warp_specialize producer registers(24) {
// CHECK: hopper.acquire %[[QR]]
// CHECK: hopper.tma_load %[[Q]]
// CHECK: scf.for
// CHECK: hopper.acquire %[[KR]]
// CHECK-NEXT: hopper.tma_load %[[K]]
// CHECK-NEXT: hopper.acquire %[[VR]]
// CHECK-NEXT: hopper.tma_load %[[V]]

// The first tile, whichever loop it belongs to: no product is in flight, and nothing to rescale.
// CHECK: } consumers(%[[W:.*]]) of 2 registers(240) {
// CHECK: hopper.wait %[[QR]]
// CHECK: scf.if
// CHECK: hopper.gemm_ss {{.*}} transpose_b
// CHECK-NEXT: hopper.wait_gemms pending(0)
// CHECK-NEXT: hopper.release %[[KR]]
// CHECK: arith.select
// CHECK: hopper.pack

// Tiles on the diagonal, masked; the softmax under the product with the values.
// CHECK: scf.for
// CHECK: %[[S:.*]] = hopper.gemm_ss
// CHECK: %[[PV:.*]] = hopper.gemm_rs
// CHECK: hopper.wait_gemms pending(1) %[[S]]
// CHECK: arith.cmpi sle
// CHECK: hopper.row_reduce max
// CHECK: hopper.any
// CHECK: math.exp2
// CHECK: hopper.schedule_fence
// CHECK-NEXT: hopper.wait_gemms pending(0) %[[PV]]
// CHECK-NEXT: hopper.release %[[VR]]
// CHECK-NEXT: hopper.pack

// Full tiles: no comparison of positions.
// CHECK: scf.for
// CHECK-NOT: arith.cmpi
// CHECK: hopper.schedule_fence

// CHECK: hopper.store_rows %{{.*}}, %[[LSE]]
// CHECK: hopper.store_fragment
// CHECK-NEXT: {{.*}}hopper.tma_store %{{.*}} to %[[O]]

// The launch keeps a declaration to refer to.
// CHECK: func.func private @causal_kernel(
// CHECK: fa.launch @causal_kernel
func.func @causal(%q: !t, %k: !t, %v: !t, %o: !t, %lse: memref<?x?x?xf32>) {
  fa.attention ins(%q, %k, %v : !t, !t, !t) outs(%o, %lse : !t, memref<?x?x?xf32>)
    scale(0.0883883461) masks [#fa.causal<bottom_right>]
  return
}
