// RUN: fa-opt %s --canonicalize | FileCheck %s

// CHECK-LABEL: @default_scale_uses_true_depth
// CHECK: fa.attention {{.*}} scale(0.57735026918962584)
func.func @default_scale_uses_true_depth(%q: memref<1x1x?x3xf32>) {
  fa.attention ins(%q, %q, %q : memref<1x1x?x3xf32>, memref<1x1x?x3xf32>, memref<1x1x?x3xf32>) outs(%q : memref<1x1x?x3xf32>)
  return
}

// CHECK-LABEL: @constant_scale
// CHECK-NOT: arith.constant
// CHECK: fa.attention {{.*}} scale(5.000000e-01)
func.func @constant_scale(%q: memref<1x1x?x4xf32>) {
  %s = arith.constant 0.5 : f32
  fa.attention ins(%q, %q, %q : memref<1x1x?x4xf32>, memref<1x1x?x4xf32>, memref<1x1x?x4xf32>) outs(%q : memref<1x1x?x4xf32>) scale(%s : f32)
  return
}

// Masks that hide nothing or stand twice disappear; so do regions that change nothing.
// CHECK-LABEL: @trivial
// CHECK: fa.attention {{.*}} scale(5.000000e-01) masks [#fa.causal<top_left>]{{$}}
func.func @trivial(%q: memref<1x1x?x4xf32>) {
  fa.attention ins(%q, %q, %q : memref<1x1x?x4xf32>, memref<1x1x?x4xf32>, memref<1x1x?x4xf32>) outs(%q : memref<1x1x?x4xf32>)
      masks [#fa.causal<top_left>, #fa.window<left = none, right = none, top_left>, #fa.causal<top_left>]
      score (%s: f32, %b: index, %h: index, %i: index, %j: index) {
    fa.yield %s : f32
  } mask (%b: index, %h: index, %i: index, %j: index) {
    %yes = arith.constant true
    fa.yield %yes : i1
  }
  return
}

// A depth that is not known leaves the default scale to the lowering.
// CHECK-LABEL: @nothing_to_do
// CHECK: fa.attention
// CHECK-NOT: scale
func.func @nothing_to_do(%q: memref<1x1x?x?xf32>) {
  fa.attention ins(%q, %q, %q : memref<1x1x?x?xf32>, memref<1x1x?x?xf32>, memref<1x1x?x?xf32>) outs(%q : memref<1x1x?x?xf32>)
  return
}
