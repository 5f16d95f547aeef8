// RUN: fa-opt %s -split-input-file --convert-fa-launch-to-llvm | FileCheck %s -enable-var-scope

// CHECK:       llvm.func @fa_launch_blocks(!llvm.ptr, i64, i32, !llvm.ptr, i64, i64)
// CHECK-LABEL: func.func @host(
// Stack slots stand in the entry block, outside the loop.
// CHECK:         llvm.alloca
// CHECK:         llvm.alloca
// CHECK:         scf.for
// CHECK-NOT:       llvm.alloca
// CHECK:           %[[ENTRY:.*]] = llvm.mlir.addressof @_fa_cpu_kernel : !llvm.ptr
// CHECK:           %[[HEAVY:.*]] = llvm.mlir.constant(1 : i32) : i32
// CHECK-DAG:       %[[SCRATCH:.*]] = llvm.mlir.constant(0 : i64) : i64
// CHECK-DAG:       %[[COUNT:.*]] = llvm.mlir.constant(2 : i64) : i64
// CHECK:           llvm.call @fa_launch_blocks(%[[ENTRY]], %{{.*}}, %[[HEAVY]], %{{.*}}, %[[COUNT]], %[[SCRATCH]])
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

// Scratch memory is the runtime's: a place for it at the end, and its size.

// CHECK-LABEL: func.func @host_of_scratch(
// CHECK:         llvm.mlir.constant(2 : i64) : i64
// CHECK-NEXT:    llvm.alloca %{{.*}} x !llvm.ptr : (i64) -> !llvm.ptr
// CHECK-DAG:     %[[SCRATCH:.*]] = llvm.mlir.constant(4160 : i64) : i64
// CHECK-DAG:     %[[COUNT:.*]] = llvm.mlir.constant(2 : i64) : i64
// CHECK:         llvm.call @fa_launch_blocks(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %[[COUNT]], %[[SCRATCH]])
func.func @with_scratch(%block: index, %a: memref<4xf32>, %scratch: memref<?xi8>)
    attributes {fa.kernel, fa.scratch_bytes = 4160 : i64} {
  return
}
func.func @host_of_scratch(%a: memref<4xf32>, %n: index) {
  fa.launch @with_scratch grid(%n) args(%a : memref<4xf32>)
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
