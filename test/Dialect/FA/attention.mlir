// RUN: fa-opt %s | fa-opt | FileCheck %s
// RUN: fa-opt %s --mlir-print-op-generic | fa-opt | FileCheck %s

// Every clause of fa.attention, in order.
// CHECK-LABEL: func.func @all_clauses
func.func @all_clauses(%q: memref<2x32x4096x128xbf16>, %k: memref<2x8x4096x128xbf16>, %v: memref<2x8x4096x64xbf16>,
                       %o: memref<2x32x4096x64xbf16>, %lse: memref<2x32x4096xf32>, %bias: memref<?xf32>) {
  // CHECK:      fa.attention ins(%{{.*}}, %{{.*}}, %{{.*}} : memref<2x32x4096x128xbf16>, memref<2x8x4096x128xbf16>, memref<2x8x4096x64xbf16>)
  // CHECK-SAME:   outs(%{{.*}}, %{{.*}} : memref<2x32x4096x64xbf16>, memref<2x32x4096xf32>)
  // CHECK-SAME:   scale(1.250000e-01)
  // CHECK-SAME:   masks [#fa.causal<bottom_right>, #fa.window<left = 1023, right = none, top_left>]
  // CHECK-SAME:   schedule(#fa.schedule<tile_q = 64, tile_kv = 32, order = key_outer, target = #fa.cpu<vector_bits = 256>>)
  // CHECK-SAME:   score (%[[S:.*]]: f32, %[[B:.*]]: index, %[[H:.*]]: index, %[[I:.*]]: index, %[[J:.*]]: index) {
  // CHECK-NEXT:   memref.load %{{.*}}[%[[J]]]
  // CHECK:        fa.yield %{{.*}} : f32
  // CHECK-NEXT: } mask (%{{.*}}: index, %{{.*}}: index, %[[MI:.*]]: index, %[[MJ:.*]]: index) {
  // CHECK-NEXT:   arith.cmpi sle, %[[MJ]], %[[MI]] : index
  // CHECK-NEXT:   fa.yield %{{.*}} : i1
  fa.attention ins(%q, %k, %v : memref<2x32x4096x128xbf16>, memref<2x8x4096x128xbf16>, memref<2x8x4096x64xbf16>)
      outs(%o, %lse : memref<2x32x4096x64xbf16>, memref<2x32x4096xf32>)
      scale(0.125) masks [#fa.causal<bottom_right>, #fa.window<left = 1023, right = none, top_left>]
      schedule(#fa.schedule<tile_q = 64, tile_kv = 32, order = key_outer, target = #fa.cpu<vector_bits = 256>>)
      score (%s: f32, %b: index, %h: index, %i: index, %j: index) {
    %x = memref.load %bias[%j] : memref<?xf32>
    %y = arith.addf %s, %x : f32
    fa.yield %y : f32
  } mask (%b: index, %h: index, %i: index, %j: index) {
    %keep = arith.cmpi sle, %j, %i : index
    fa.yield %keep : i1
  }
  return
}

// CHECK-LABEL: func.func @tensors
func.func @tensors(%q: tensor<?x?x?x64xf64>, %k: tensor<?x?x?x64xf64>, %o: tensor<?x?x?x64xf64>, %lse: tensor<?x?x?xf64>)
    -> (tensor<?x?x?x64xf64>, tensor<?x?x?xf64>) {
  // CHECK: fa.attention ins({{.*}}) outs({{.*}} : tensor<?x?x?x64xf64>, tensor<?x?x?xf64>) -> tensor<?x?x?x64xf64>, tensor<?x?x?xf64>
  %r:2 = fa.attention ins(%q, %k, %k : tensor<?x?x?x64xf64>, tensor<?x?x?x64xf64>, tensor<?x?x?x64xf64>)
      outs(%o, %lse : tensor<?x?x?x64xf64>, tensor<?x?x?xf64>) -> tensor<?x?x?x64xf64>, tensor<?x?x?xf64>
  return %r#0, %r#1 : tensor<?x?x?x64xf64>, tensor<?x?x?xf64>
}

// A dynamic scale, a strided layout (BSHD seen as BHSD), every dim dynamic.
// CHECK-LABEL: func.func @strided_dynamic
func.func @strided_dynamic(%q: memref<?x?x?x?xf32, strided<[?, ?, ?, 1], offset: ?>>, %o: memref<?x?x?x?xf32>, %s: f32) {
  // CHECK: fa.attention {{.*}} scale(%{{.*}} : f32)
  fa.attention ins(%q, %q, %q : memref<?x?x?x?xf32, strided<[?, ?, ?, 1], offset: ?>>,
      memref<?x?x?x?xf32, strided<[?, ?, ?, 1], offset: ?>>, memref<?x?x?x?xf32, strided<[?, ?, ?, 1], offset: ?>>)
      outs(%o : memref<?x?x?x?xf32>) scale(%s : f32)
  return
}
