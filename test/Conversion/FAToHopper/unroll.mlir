// unroll = 2: two tiles in each iteration of the loop without a mask, each with probabilities of its own, which are rounded under the
// product that reads the other's; the tile that is left over after the loop. Loops with a mask stay as they are.
// RUN: fa-opt %s --fa-kernels-pipeline="target=sm_90a" --fa-hopper-kernels-pipeline --fa-hopper-transforms-pipeline -split-input-file 2>%t.err | FileCheck %s -enable-var-scope
// RUN: FileCheck %s --check-prefix=REMARK < %t.err

!t = memref<?x?x?x128xbf16>
// CHECK-LABEL: gpu.func @causal_kernel
// The diagonal: the old probabilities are read until the wait, so the new ones are rounded after it.
// CHECK: scf.for
// CHECK: hopper.gemm_rs
// CHECK-NOT: hopper.pack
// CHECK: hopper.wait_gemms pending(0) %{{[^ ]*}} :
// CHECK: hopper.pack
// CHECK: scf.yield
// CHECK: %[[EVEN:.*]] = arith.andi %{{.*}}, %c-2
// CHECK: scf.for %{{.*}} iter_args(%{{.*}} = %{{.*}}, %{{.*}} = %{{.*}}, %{{.*}} = %{{.*}}, %[[A:.*]] = %{{.*}})
// CHECK: hopper.take_turn
// CHECK: %[[PV0:.*]] = hopper.gemm_rs %[[A]],
// CHECK-NEXT: hopper.pass_turn
// CHECK: %[[B:.*]] = hopper.pack
// CHECK-NEXT: hopper.schedule_fence
// CHECK-NEXT: hopper.wait_gemms pending(0) %[[PV0]] keeping(%[[A]] : vector<28xi32>)
// CHECK: hopper.take_turn
// CHECK: %[[PV1:.*]] = hopper.gemm_rs %[[B]],
// CHECK-NEXT: hopper.pass_turn
// CHECK: %[[C:.*]] = hopper.pack
// CHECK: hopper.wait_gemms pending(0) %[[PV1]] keeping(%[[B]] : vector<28xi32>)
// CHECK: scf.yield {{.*}}, %[[C]] :
// One more if their number is odd; its probabilities join those of the pairs in their registers, after the wait.
// CHECK: scf.if
// CHECK: hopper.gemm_rs
// CHECK-NOT: hopper.pack
// CHECK: hopper.wait_gemms pending(0)
// CHECK: hopper.pack
// The product of the last tile.
// CHECK: hopper.gemm_rs
func.func @causal(%q: !t, %k: !t, %v: !t, %o: !t) {
  fa.attention ins(%q, %k, %v : !t, !t, !t) outs(%o : !t) scale(0.0883883461) masks [#fa.causal<bottom_right>]
    schedule(#fa.schedule<tile_q = 128, tile_kv = 112, target = #fa.hopper<unroll = 2>>)
  return
}

// -----

// ptxas is left to schedule.
!t = memref<?x?x?x128xbf16>
// CHECK-LABEL: gpu.func @unfenced_kernel
// CHECK-NOT: hopper.schedule_fence
// CHECK: gpu.return
func.func @unfenced(%q: !t, %k: !t, %v: !t, %o: !t) {
  fa.attention ins(%q, %k, %v : !t, !t, !t) outs(%o : !t) scale(0.0883883461)
    schedule(#fa.schedule<tile_q = 128, tile_kv = 128, target = #fa.hopper<scheduling_fence = false>>)
  return
}

// -----

!t = memref<?x?x?x128xbf16>
func.func @no_full_tile(%q: !t, %k: !t, %v: !t, %o: !t) {
  // REMARK: no unrolling: every loop over key tiles has a mask or a test
  fa.attention ins(%q, %k, %v : !t, !t, !t) outs(%o : !t) scale(0.0883883461)
    schedule(#fa.schedule<tile_q = 128, tile_kv = 112, target = #fa.hopper<unroll = 2>>)
    mask (%b: index, %h: index, %i: index, %j: index) {
      %x = arith.muli %i, %j : index
      %c7 = arith.constant 7 : index
      %keep = arith.cmpi slt, %x, %c7 : index
      fa.yield %keep : i1
    }
  return
}
