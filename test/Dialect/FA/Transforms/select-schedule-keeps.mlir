// RUN: fa-opt %s --fa-select-schedule | FileCheck %s

// A schedule that is there stays (nothing to do); a target is filled in where it lacks one.
// CHECK: schedule(#fa.schedule<tile_q = 8, tile_kv = 16, order = key_outer, target = #fa.cpu<vector_bits = 256>>)
// CHECK: schedule(#fa.schedule<tile_q = 8, tile_kv = 16, target = #fa.cpu
func.func @kept(%q: memref<1x1x64x8xf32>) {
  fa.attention ins(%q, %q, %q : memref<1x1x64x8xf32>, memref<1x1x64x8xf32>, memref<1x1x64x8xf32>) outs(%q : memref<1x1x64x8xf32>)
      schedule(#fa.schedule<tile_q = 8, tile_kv = 16, order = key_outer, target = #fa.cpu<vector_bits = 256>>)
  fa.attention ins(%q, %q, %q : memref<1x1x64x8xf32>, memref<1x1x64x8xf32>, memref<1x1x64x8xf32>) outs(%q : memref<1x1x64x8xf32>)
      schedule(#fa.schedule<tile_q = 8, tile_kv = 16>)
  return
}
