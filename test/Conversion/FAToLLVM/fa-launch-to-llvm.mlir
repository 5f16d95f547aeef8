// RUN: fa-opt %s -split-input-file --convert-fa-launch-to-llvm | FileCheck %s -enable-var-scope

// CHECK:       llvm.func @fa_launch_blocks(!llvm.ptr, i64, i32, !llvm.ptr)
// CHECK-LABEL: func.func @host(
// Stack slots stand in the entry block, outside the loop.
// CHECK:         llvm.alloca
// CHECK:         llvm.alloca
// CHECK:         scf.for
// CHECK-NOT:       llvm.alloca
// CHECK:           %[[ENTRY:.*]] = llvm.mlir.addressof @_fa_cpu_kernel : !llvm.ptr
// CHECK:           %[[HEAVY:.*]] = llvm.mlir.constant(1 : i32) : i32
// CHECK:           llvm.call @fa_launch_blocks(%[[ENTRY]], %{{.*}}, %[[HEAVY]], %{{.*}}) : (!llvm.ptr, i64, i32, !llvm.ptr) -> ()
// CHECK:       llvm.func @_fa_cpu_kernel(i64, !llvm.ptr)
func.func @kernel(%block: index, %a: memref<4xf32>, %x: f32) attributes {fa.kernel} {
  return
}
func.func @host(%a: memref<4xf32>, %x: f32, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    fa.launch @kernel grid(%n) heavy_first args(%a, %x : memref<4xf32>, f32)
  }
  return
}

// -----

// Nothing to do: no declaration appears either.

// CHECK-LABEL: module
// CHECK-NOT:     fa_launch_blocks
// CHECK:         func.func @untouched(
func.func @untouched() {
  return
}
