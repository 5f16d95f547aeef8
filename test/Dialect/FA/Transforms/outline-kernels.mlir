// RUN: fa-opt %s --fa-outline-kernels --canonicalize --cse --split-input-file | FileCheck %s -enable-var-scope

// Arguments keep the order and names of the host function's; dims and index arithmetic are repeated in the kernel.
// CHECK-LABEL: func.func @host_kernel
// CHECK-SAME: (%[[BLOCK:.*]]: index, %[[X:.*]]: memref<?x4xf32> {fa.name = "x"}, %[[S:.*]]: f32) attributes {fa.kernel}
// CHECK: %[[N:.*]] = memref.dim %[[X]]
// CHECK: %[[IV:.*]]:2 = affine.delinearize_index %[[BLOCK]] into (%[[N]], 4)
// CHECK: memref.store %[[S]], %[[X]][%[[IV]]#0, %[[IV]]#1]
// CHECK: return

// CHECK-LABEL: func.func @host(
// CHECK-SAME: %[[X:.*]]: memref<?x4xf32> {fa.name = "x"}, %[[S:.*]]: f32)
func.func @host(%x: memref<?x4xf32> {fa.name = "x"}, %s: f32) {
  // CHECK: %[[BLOCKS:.*]] = arith.muli
  // CHECK: fa.launch @host_kernel grid(%[[BLOCKS]]) args(%[[X]], %[[S]] : memref<?x4xf32>, f32)
  // CHECK-NEXT: return
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?x4xf32>
  scf.forall (%i, %j) in (%n, 4) {
    memref.store %s, %x[%i, %j] : memref<?x4xf32>
  }
  return
}

// -----

// Two loops give two kernels; what is not cheap to repeat becomes an argument.
// CHECK: func.func @two_kernel(%{{.*}}: index, %{{.*}}: memref<4xf32>, %{{.*}}: f32)
// CHECK: func.func @two_kernel_0(
// CHECK: func.func @two(
// CHECK: %[[LOADED:.*]] = memref.load
// CHECK: fa.launch @two_kernel grid(%{{.*}}) args(%{{.*}}, %[[LOADED]]
// CHECK: fa.launch @two_kernel_0
func.func @two(%x: memref<4xf32>) {
  %c0 = arith.constant 0 : index
  %v = memref.load %x[%c0] : memref<4xf32>
  scf.forall (%i) in (4) {
    memref.store %v, %x[%i] : memref<4xf32>
  }
  scf.forall (%i) in (4) {
    %y = memref.load %x[%i] : memref<4xf32>
    memref.store %y, %x[%i] : memref<4xf32>
  }
  return
}

// -----

// Nothing to do.
// CHECK-LABEL: func.func @other
// CHECK-NEXT: return
func.func @other() {
  return
}
