// RUN: fa-opt %s --fa-expand-masks --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @causal_bottom_right
// CHECK-SAME: (%[[Q:.*]]: memref<1x1x?x8xf32>, %[[K:.*]]: memref<1x1x?x8xf32>)
func.func @causal_bottom_right(%q: memref<1x1x?x8xf32>, %k: memref<1x1x?x8xf32>) {
  // CHECK-DAG: %[[SQ:.*]] = memref.dim %[[Q]]
  // CHECK-DAG: %[[SK:.*]] = memref.dim %[[K]]
  // CHECK: fa.attention
  // CHECK-NOT: masks
  // CHECK: mask (%{{.*}}: index, %{{.*}}: index, %[[I:.*]]: index, %[[J:.*]]: index)
  // CHECK: %[[OFF:.*]] = arith.subi %[[SK]], %[[SQ]]
  // CHECK: %[[LAST:.*]] = arith.addi %[[I]], %[[OFF]]
  // CHECK: %[[KEEP:.*]] = arith.cmpi sle, %[[J]], %[[LAST]]
  // CHECK: fa.yield %[[KEEP]] : i1
  fa.attention ins(%q, %k, %k : memref<1x1x?x8xf32>, memref<1x1x?x8xf32>, memref<1x1x?x8xf32>) outs(%q : memref<1x1x?x8xf32>)
      masks [#fa.causal<bottom_right>]
  return
}

// -----

// Named masks are ANDed with the region that is there.
// CHECK-LABEL: func.func @window_and_region
func.func @window_and_region(%q: memref<1x1x6x8xf32>, %odd: memref<6xi1>) {
  // CHECK: mask (%{{.*}}: index, %{{.*}}: index, %[[I:.*]]: index, %[[J:.*]]: index)
  // CHECK: %[[OWN:.*]] = memref.load %{{.*}}[%[[J]]]
  // CHECK: %[[LEFT:.*]] = arith.cmpi sge, %[[J]]
  // CHECK: %[[RIGHT:.*]] = arith.cmpi sle, %[[J]]
  // CHECK: %[[WINDOW:.*]] = arith.andi %[[LEFT]], %[[RIGHT]]
  // CHECK: %[[ALL:.*]] = arith.andi %[[OWN]], %[[WINDOW]]
  // CHECK: fa.yield %[[ALL]]
  fa.attention ins(%q, %q, %q : memref<1x1x6x8xf32>, memref<1x1x6x8xf32>, memref<1x1x6x8xf32>) outs(%q : memref<1x1x6x8xf32>)
      masks [#fa.window<left = 2, right = 0, top_left>] mask (%b: index, %h: index, %i: index, %j: index) {
    %keep = memref.load %odd[%j] : memref<6xi1>
    fa.yield %keep : i1
  }
  return
}

// -----

// Tensors work too.
// CHECK-LABEL: func.func @tensors
func.func @tensors(%q: tensor<1x1x?x8xf32>) -> tensor<1x1x?x8xf32> {
  // CHECK: tensor.dim
  // CHECK: arith.cmpi sle
  %r = fa.attention ins(%q, %q, %q : tensor<1x1x?x8xf32>, tensor<1x1x?x8xf32>, tensor<1x1x?x8xf32>) outs(%q : tensor<1x1x?x8xf32>)
      masks [#fa.causal<top_left>] -> tensor<1x1x?x8xf32>
  return %r : tensor<1x1x?x8xf32>
}

// -----

// Nothing to do: no named masks.
// CHECK-LABEL: func.func @unmasked
// CHECK-NEXT: fa.attention
// CHECK-NEXT: return
func.func @unmasked(%q: memref<1x1x?x8xf32>) {
  fa.attention ins(%q, %q, %q : memref<1x1x?x8xf32>, memref<1x1x?x8xf32>, memref<1x1x?x8xf32>) outs(%q : memref<1x1x?x8xf32>)
  return
}
