// RUN: fa-opt %s --fa-tile-attention --cse --split-input-file | FileCheck %s -enable-var-scope

// FlashAttention-2: query tiles outside.
// CHECK: #[[TILES:.*]] = affine_map<()[s0] -> (s0 ceildiv 64)>
// CHECK: #[[KEYS:.*]] = affine_map<()[s0] -> (s0 ceildiv 32)>
// CHECK-LABEL: func.func @query_outer
// CHECK-SAME: (%[[Q:.*]]: memref<2x8x?x16xf32>, %[[K:.*]]: memref<2x2x?x16xf32>, %[[O:.*]]: memref<2x8x?x16xf32>, %[[LSE:.*]]: memref<2x8x?xf32>)
func.func @query_outer(%q: memref<2x8x?x16xf32>, %k: memref<2x2x?x16xf32>, %o: memref<2x8x?x16xf32>, %lse: memref<2x8x?xf32>) {
  // CHECK: scf.forall (%[[B:.*]], %[[H:.*]], %[[T:.*]]) in (2, 8, %{{.*}}) {
  // CHECK:   %[[HK:.*]] = affine.apply #{{.*}}(%[[H]])
  // CHECK:   %[[S0:.*]] = fa.init : !fa.state<64x16xf32>
  // CHECK:   %[[R:.*]] = scf.for %[[J:.*]] = %{{.*}} to %{{.*}} step %{{.*}} iter_args(%[[S:.*]] = %[[S0]])
  // CHECK:     %[[S1:.*]] = fa.step %[[S]], %[[Q]][%[[B]], %[[H]], %[[T]]], %[[K]], %[[K]][%[[B]], %[[HK]], %[[J]]] tile_kv(32) scale(2.500000e-01)
  // CHECK:       mask (
  // CHECK:     scf.yield %[[S1]]
  // CHECK:   fa.finish %[[R]], %[[O]], %[[LSE]][%[[B]], %[[H]], %[[T]]]
  fa.attention ins(%q, %k, %k : memref<2x8x?x16xf32>, memref<2x2x?x16xf32>, memref<2x2x?x16xf32>)
      outs(%o, %lse : memref<2x8x?x16xf32>, memref<2x8x?xf32>) schedule(#fa.schedule<tile_q = 64, tile_kv = 32>)
      mask (%b: index, %h: index, %i: index, %j: index) {
    %keep = arith.cmpi sle, %j, %i : index
    fa.yield %keep : i1
  }
  return
}

// -----

// FlashAttention-1: key tiles outside, states in memory.
// CHECK-LABEL: func.func @key_outer
func.func @key_outer(%q: memref<1x1x100x16xf64>, %o: memref<1x1x100x16xf64>) {
  // CHECK: scf.forall (%[[B:.*]], %[[H:.*]]) in (1, 1) {
  // CHECK:   %[[ACC:.*]] = memref.alloc() : memref<1x1x100x16xf64>
  // CHECK:   scf.for
  // CHECK:     fa.init : !fa.state<64x16xf64>
  // CHECK:     fa.store_state
  // CHECK:   scf.for %[[J:.*]] =
  // CHECK:     scf.for %[[T:.*]] =
  // CHECK:       %[[S:.*]] = fa.load_state %[[ACC]]
  // CHECK:       %[[S1:.*]] = fa.step %[[S]], %{{.*}}[%[[B]], %[[H]], %[[T]]], %{{.*}}, %{{.*}}[%[[B]], %[[H]], %[[J]]]
  // CHECK:       fa.store_state %[[S1]], %[[ACC]]
  // CHECK:   scf.for
  // CHECK:     fa.load_state %[[ACC]]
  // CHECK:     fa.finish
  // CHECK:   memref.dealloc %[[ACC]]
  fa.attention ins(%q, %q, %q : memref<1x1x100x16xf64>, memref<1x1x100x16xf64>, memref<1x1x100x16xf64>)
      outs(%o : memref<1x1x100x16xf64>) schedule(#fa.schedule<tile_q = 64, tile_kv = 32, order = key_outer>)
  return
}

// -----

// Nothing to do.
// CHECK-LABEL: func.func @other
// CHECK-NEXT: return
func.func @other() {
  return
}
