// RUN: fa-opt %s -split-input-file --fa-lower-naive --canonicalize --cse | FileCheck %s -enable-var-scope

// The example of the pass: all scores are materialised; named masks are taken as they are.

// CHECK-LABEL: func.func @three_passes(
// CHECK-SAME:    %[[Q:[a-z0-9]+]]: memref<?x4x?x8xf32>, %[[K:[a-z0-9]+]]: memref<?x2x?x8xf32>, %[[V:[a-z0-9]+]]: memref<?x2x?x6xf32>
// CHECK-DAG:     %[[C2:.*]] = arith.constant 2 : index
// CHECK-DAG:     %[[C0:.*]] = arith.constant 0 : index
// CHECK-DAG:     %[[B:.*]] = memref.dim %[[Q]], %[[C0]]
// CHECK-DAG:     %[[SQ:.*]] = memref.dim %[[Q]], %[[C2]]
// CHECK-DAG:     %[[SK:.*]] = memref.dim %[[K]], %[[C2]]
// CHECK:         %[[SCORES:.*]] = memref.alloc(%[[B]], %[[SQ]], %[[SK]]) : memref<?x4x?x?xf32>
// The first pass writes the scores: kv head = query head / 2.
// CHECK:         arith.divsi %{{.*}}, %[[C2]]
// CHECK:         arith.subi %[[SK]], %[[SQ]]
// CHECK:         arith.cmpi sle
// CHECK:         scf.if
// CHECK:         memref.store %{{.*}}, %[[SCORES]]
// The second makes probabilities of them.
// CHECK:         arith.maximumf
// CHECK:         math.exp2
// CHECK:         memref.store %{{.*}}, %[[SCORES]]
// The third multiplies by the values.
// CHECK:         memref.load %[[SCORES]]
// CHECK:         memref.load %[[V]]
// CHECK:         arith.divf
// CHECK:         math.log
// CHECK:         memref.dealloc %[[SCORES]]
// CHECK-NOT:     fa.attention
func.func @three_passes(%q: memref<?x4x?x8xf32>, %k: memref<?x2x?x8xf32>, %v: memref<?x2x?x6xf32>,
                        %o: memref<?x4x?x6xf32>, %lse: memref<?x4x?xf32>) {
  fa.attention ins(%q, %k, %v : memref<?x4x?x8xf32>, memref<?x2x?x8xf32>, memref<?x2x?x6xf32>)
               outs(%o, %lse : memref<?x4x?x6xf32>, memref<?x4x?xf32>) scale(0.25) masks [#fa.causal<bottom_right>]
  return
}

// -----

// A depth known at run time only: the default scale is computed.

// CHECK-LABEL: func.func @dynamic_depth(
// CHECK:         arith.sitofp
// CHECK-NEXT:    math.sqrt
// CHECK-NEXT:    arith.divf
func.func @dynamic_depth(%q: memref<1x1x4x?xf32>, %o: memref<1x1x4x?xf32>) {
  fa.attention ins(%q, %q, %q : memref<1x1x4x?xf32>, memref<1x1x4x?xf32>, memref<1x1x4x?xf32>)
               outs(%o : memref<1x1x4x?xf32>)
  return
}

// -----

// Nothing to do.

// CHECK-LABEL: func.func @untouched(
// CHECK-NEXT:    memref.dim
// CHECK-NEXT:    return
func.func @untouched(%q: memref<?xf32>, %i: index) -> index {
  %d = memref.dim %q, %i : memref<?xf32>
  return %d : index
}
