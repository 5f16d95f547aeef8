// RUN: fa-opt %s --one-shot-bufferize="bufferize-function-boundaries function-boundary-type-conversion=identity-layout-map" | FileCheck %s

// Outputs are written in place; captured tensors become memrefs.
// CHECK-LABEL: func.func @in_place
// CHECK-SAME: (%[[Q:.*]]: memref<1x2x?x8xf32>, %[[O:.*]]: memref<1x2x?x8xf32>, %[[BIAS:.*]]: memref<?xf32>)
func.func @in_place(%q: tensor<1x2x?x8xf32>, %o: tensor<1x2x?x8xf32>, %bias: tensor<?xf32>) -> tensor<1x2x?x8xf32> {
  // CHECK-NOT: memref.alloc
  // CHECK: fa.attention ins(%[[Q]], %[[Q]], %[[Q]] : {{.*}}) outs(%[[O]] : memref<1x2x?x8xf32>)
  // CHECK: memref.load %[[BIAS]]
  %r = fa.attention ins(%q, %q, %q : tensor<1x2x?x8xf32>, tensor<1x2x?x8xf32>, tensor<1x2x?x8xf32>)
      outs(%o : tensor<1x2x?x8xf32>) score (%s: f32, %b: index, %h: index, %i: index, %j: index) {
    %x = tensor.extract %bias[%j] : tensor<?xf32>
    %y = arith.addf %s, %x : f32
    fa.yield %y : f32
  } -> tensor<1x2x?x8xf32>
  return %r : tensor<1x2x?x8xf32>
}

// An output that is also an input is copied first.
// CHECK-LABEL: func.func @aliased
func.func @aliased(%q: tensor<1x2x4x8xf32>) -> tensor<1x2x4x8xf32> {
  // CHECK: %[[NEW:.*]] = memref.alloc
  // CHECK: fa.attention {{.*}} outs(%[[NEW]] :
  %r = fa.attention ins(%q, %q, %q : tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>)
      outs(%q : tensor<1x2x4x8xf32>) -> tensor<1x2x4x8xf32>
  return %r : tensor<1x2x4x8xf32>
}
