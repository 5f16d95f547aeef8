// RUN: fa-opt %s --fa-fold-query-groups | FileCheck %s
// RUN: fa-opt %s --fa-kernels-pipeline=fold-groups | FileCheck %s --check-prefix=KERNEL

// The four heads of a group become rows; regions see the original head and query.
// CHECK-LABEL: func.func @decode
// CHECK: %[[QE:.*]] = memref.expand_shape %{{.*}} {{\[\[}}0], [1, 2], [3], [4]] output_shape [1, 2, 4, 1, 16] : memref<1x8x1x16xf32> into memref<1x2x4x1x16xf32>
// CHECK: %[[Q:.*]] = memref.collapse_shape %[[QE]] {{\[\[}}0], [1], [2, 3], [4]] : memref<1x2x4x1x16xf32> into memref<1x2x4x16xf32>
// CHECK: fa.attention ins(%[[Q]], %{{.*}}, %{{.*}} : memref<1x2x4x16xf32>, memref<1x2x64x16xf32>
// CHECK: (%{{.*}}: f32, %{{.*}}: index, %[[H:.*]]: index, %[[I:.*]]: index, %[[J:.*]]: index)
// CHECK: %[[FOUR:.*]] = arith.constant 4 : index
// CHECK: %[[P:.*]] = arith.muli %[[H]], %[[FOUR]]
// CHECK: %[[HEAD:.*]] = arith.addi %[[P]], %[[I]]
// CHECK: memref.load %{{.*}}[%[[HEAD]]]
// KERNEL-LABEL: func.func @decode_kernel
// KERNEL-SAME: memref<1x8x1x16xf32>
// KERNEL: fa.step
func.func @decode(%q: memref<1x8x1x16xf32>, %k: memref<1x2x64x16xf32>, %v: memref<1x2x64x16xf32>,
                  %o: memref<1x8x1x16xf32>, %lse: memref<1x8x1xf32>, %slopes: memref<8xf32>) {
  fa.attention ins(%q, %k, %v : memref<1x8x1x16xf32>, memref<1x2x64x16xf32>, memref<1x2x64x16xf32>)
               outs(%o, %lse : memref<1x8x1x16xf32>, memref<1x8x1xf32>)
               score (%s: f32, %b: index, %h: index, %i: index, %j: index) {
    %slope = memref.load %slopes[%h] : memref<8xf32>
    %sum = arith.addf %s, %slope : f32
    fa.yield %sum : f32
  }
  return
}

// Several queries: rows are (query head, query), where these have one stride.
// CHECK-LABEL: func.func @several
// CHECK: memref.collapse_shape %{{.*}} {{\[\[}}0], [1], [2, 3], [4]] : memref<1x2x4x3x16xf32> into memref<1x2x12x16xf32>
// CHECK: mask (%{{.*}}: index, %[[H:.*]]: index, %[[I:.*]]: index, %[[J:.*]]: index)
// CHECK: %[[MEMBER:.*]] = arith.divui %[[I]], %c3
// CHECK: %[[QUERY:.*]] = arith.remui %[[I]], %c3
// CHECK: %[[P:.*]] = arith.muli %[[H]], %c4
// CHECK: arith.addi %[[P]], %[[MEMBER]]
// CHECK: arith.cmpi sle, %[[J]], %[[QUERY]]
func.func @several(%q: memref<1x8x3x16xf32>, %k: memref<1x2x64x16xf32>, %o: memref<1x8x3x16xf32>) {
  fa.attention ins(%q, %k, %k : memref<1x8x3x16xf32>, memref<1x2x64x16xf32>, memref<1x2x64x16xf32>)
               outs(%o : memref<1x8x3x16xf32>)
               mask (%b: index, %h: index, %i: index, %j: index) {
    %keep = arith.cmpi sle, %j, %i : index
    fa.yield %keep : i1
  }
  return
}

// Many queries, heads and queries without a common stride, or one kv head for each query head: nothing to fold.
// CHECK-LABEL: func.func @left_alone
// CHECK-NOT: memref.expand_shape
// CHECK: return
func.func @left_alone(%q: memref<1x8x17x16xf32>, %qs: memref<1x8x2x16xf32, strided<[256, 16, 128, 1]>>,
                      %q1: memref<1x2x1x16xf32>, %k: memref<1x2x64x16xf32>) {
  fa.attention ins(%q, %k, %k : memref<1x8x17x16xf32>, memref<1x2x64x16xf32>, memref<1x2x64x16xf32>)
               outs(%q : memref<1x8x17x16xf32>)
  fa.attention ins(%qs, %k, %k : memref<1x8x2x16xf32, strided<[256, 16, 128, 1]>>, memref<1x2x64x16xf32>, memref<1x2x64x16xf32>)
               outs(%qs : memref<1x8x2x16xf32, strided<[256, 16, 128, 1]>>)
  fa.attention ins(%q1, %k, %k : memref<1x2x1x16xf32>, memref<1x2x64x16xf32>, memref<1x2x64x16xf32>)
               outs(%q1 : memref<1x2x1x16xf32>)
  return
}
