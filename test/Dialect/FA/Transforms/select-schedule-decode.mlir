// RUN: fa-opt %s --fa-select-schedule | FileCheck %s
// RUN: fa-opt %s --fa-select-schedule=tile-q=64 | FileCheck %s --check-prefix=LARGE
// RUN: fa-opt %s --fa-select-schedule=order=key_outer | FileCheck %s --check-prefix=OUTER

// Up to 16 queries: one tile with depth on lanes. Long keys are split where there are few heads.
// CHECK-LABEL: func.func @long
// CHECK: schedule(#fa.schedule<tile_q = 4, tile_kv = 512, split_kv = 4, target = #fa.cpu<vector_bits = {{[0-9]+}}, lanes = depth>>)
// LARGE-LABEL: func.func @long
// LARGE: schedule(#fa.schedule<tile_q = 64, tile_kv = 512, split_kv = 4, target = #fa.cpu<vector_bits = {{[0-9]+}}>>)
// OUTER-LABEL: func.func @long
// OUTER: schedule(#fa.schedule<tile_q = 4, tile_kv = 512, order = key_outer, target = #fa.cpu<vector_bits = {{[0-9]+}}, lanes = depth>>)
func.func @long(%q: memref<1x8x4x64xf32>, %k: memref<1x8x8192x64xf32>) {
  fa.attention ins(%q, %k, %k : memref<1x8x4x64xf32>, memref<1x8x8192x64xf32>, memref<1x8x8192x64xf32>)
               outs(%q : memref<1x8x4x64xf32>)
  return
}

// CHECK-LABEL: func.func @enough_heads
// CHECK: schedule(#fa.schedule<tile_q = 16, tile_kv = 512, target = #fa.cpu<vector_bits = {{[0-9]+}}, lanes = depth>>)
func.func @enough_heads(%q: memref<4x8x16x64xf32>, %k: memref<4x8x8192x64xf32>) {
  fa.attention ins(%q, %k, %k : memref<4x8x16x64xf32>, memref<4x8x8192x64xf32>, memref<4x8x8192x64xf32>)
               outs(%q : memref<4x8x16x64xf32>)
  return
}

// CHECK-LABEL: func.func @short
// CHECK: schedule(#fa.schedule<tile_q = 1, tile_kv = 112, target = #fa.cpu<vector_bits = {{[0-9]+}}, lanes = depth>>)
func.func @short(%q: memref<1x1x1x64xf32>, %k: memref<1x1x100x64xf32>) {
  fa.attention ins(%q, %k, %k : memref<1x1x1x64xf32>, memref<1x1x100x64xf32>, memref<1x1x100x64xf32>)
               outs(%q : memref<1x1x1x64xf32>)
  return
}

// More queries: queries on lanes.
// CHECK-LABEL: func.func @seventeen
// CHECK-NOT: lanes = depth
// CHECK: return
func.func @seventeen(%q: memref<1x1x17x64xf32>, %k: memref<1x1x8192x64xf32>) {
  fa.attention ins(%q, %k, %k : memref<1x1x17x64xf32>, memref<1x1x8192x64xf32>, memref<1x1x8192x64xf32>)
               outs(%q : memref<1x1x17x64xf32>)
  return
}
