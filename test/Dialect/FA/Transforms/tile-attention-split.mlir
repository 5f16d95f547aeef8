// RUN: fa-opt %s --fa-tile-attention | FileCheck %s
// RUN: fa-opt %s --fa-tile-attention --fa-eliminate-masked-tiles --fa-peel-masked-tiles --fa-outline-kernels | FileCheck %s --check-prefix=KERNELS

// Each part of the keys is a block that leaves its own output and log-sum-exp; a second loop joins them.
// CHECK-LABEL: func.func @split
// CHECK: %[[PO:.*]] = memref.alloc() : memref<3x1x2x4x32xf32>
// CHECK: %[[PL:.*]] = memref.alloc() : memref<3x1x2x4xf32>
// CHECK: scf.forall (%[[P:.*]], %[[B:.*]], %[[H:.*]], %{{.*}}) in (3, 1, 2, 1)
// CHECK: %[[LO:.*]] = affine.apply #{{.*}}(%[[P]])
// CHECK: %[[HI:.*]] = affine.min #{{.*}}(%[[P]])
// CHECK: scf.for %{{.*}} = %[[LO]] to %[[HI]]
// CHECK: %[[O:.*]] = memref.subview %[[PO]][%[[P]], 0, 0, 0, 0] [1, 1, 2, 4, 32]
// CHECK: %[[L:.*]] = memref.subview %[[PL]][%[[P]], 0, 0, 0] [1, 1, 2, 4]
// CHECK: fa.finish %{{.*}}, %[[O]], %[[L]]
// CHECK: scf.forall (%[[B2:.*]], %[[H2:.*]]) in (1, 2)
// CHECK: fa.combine
// CHECK: memref.dealloc %[[PO]]
// CHECK: memref.dealloc %[[PL]]

// Bounds of the mask are clamped to those of a part; both loops are kernels.
// KERNELS-LABEL: func.func @split_kernel
// KERNELS: arith.maxsi
// KERNELS: arith.minsi
// KERNELS: fa.step
// KERNELS-LABEL: func.func @split_kernel_0
// KERNELS: fa.combine
// KERNELS-LABEL: func.func @split(
// KERNELS: fa.launch @split_kernel
// KERNELS: fa.launch @split_kernel_0
func.func @split(%q: memref<1x2x4x32xbf16>, %k: memref<1x2x1000x32xbf16>, %v: memref<1x2x1000x32xbf16>,
                 %o: memref<1x2x4x32xbf16>) {
  fa.attention ins(%q, %k, %v : memref<1x2x4x32xbf16>, memref<1x2x1000x32xbf16>, memref<1x2x1000x32xbf16>)
               outs(%o : memref<1x2x4x32xbf16>)
               schedule(#fa.schedule<tile_q = 4, tile_kv = 64, split_kv = 3, target = #fa.cpu>)
               mask (%b: index, %h: index, %i: index, %j: index) {
    %c100 = arith.constant 100 : index
    %keep = arith.cmpi sge, %j, %c100 : index
    fa.yield %keep : i1
  }
  return
}

// Lengths that are not known when compiling.
// CHECK-LABEL: func.func @dynamic
// CHECK: memref.alloc(%{{.*}}, %{{.*}}, %{{.*}}) : memref<2x?x?x?x32xf32>
// CHECK: fa.combine {{.*}} outs(%{{.*}}, %{{.*}} : memref<1x1x?x32xf32
func.func @dynamic(%q: memref<?x?x?x32xf32>, %k: memref<?x?x?x32xf32>, %o: memref<?x?x?x32xf32>, %lse: memref<?x?x?xf32>) {
  fa.attention ins(%q, %k, %k : memref<?x?x?x32xf32>, memref<?x?x?x32xf32>, memref<?x?x?x32xf32>)
               outs(%o, %lse : memref<?x?x?x32xf32>, memref<?x?x?xf32>)
               schedule(#fa.schedule<tile_q = 4, tile_kv = 64, split_kv = 2, target = #fa.cpu>)
  return
}
