// Which query tile a block takes: the last one first under a causal mask, unless the schedule says otherwise.
// RUN: fa-opt %s --fa-kernels-pipeline="target=sm_90a" --fa-hopper-kernels-pipeline 2>/dev/null | FileCheck %s

!t = memref<1x2x1024x128xbf16>

// CHECK-LABEL: gpu.func @heavy_kernel
// CHECK: %[[NUMBER:.*]] = gpu.block_id  x
// CHECK: %[[COUNT:.*]] = gpu.grid_dim  x
// CHECK: %[[LAST:.*]] = arith.subi %[[COUNT]], %c1
// CHECK: arith.subi %[[LAST]], %[[NUMBER]]
func.func @heavy(%q: !t, %k: !t, %v: !t, %o: !t) {
  fa.attention ins(%q, %k, %v : !t, !t, !t) outs(%o : !t) masks [#fa.causal<bottom_right>]
    schedule(#fa.schedule<tile_q = 128, tile_kv = 128, target = #fa.hopper>)
  return
}

// CHECK-LABEL: gpu.func @light_kernel
// CHECK: gpu.block_id  x
// CHECK-NOT: gpu.grid_dim
func.func @light(%q: !t, %k: !t, %v: !t, %o: !t) {
  fa.attention ins(%q, %k, %v : !t, !t, !t) outs(%o : !t) masks [#fa.causal<bottom_right>]
    schedule(#fa.schedule<tile_q = 128, tile_kv = 128, target = #fa.hopper<heavy_first = false>>)
  return
}
