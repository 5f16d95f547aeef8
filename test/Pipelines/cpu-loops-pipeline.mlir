// RUN: fa-opt %s --fa-kernels-pipeline="tile-q=4 tile-kv=8" --fa-cpu-loops-pipeline | FileCheck %s

// Host function, kernel, C interfaces and the packed entry are there, and only the llvm dialect is left.

// CHECK-DAG: llvm.func @fa_launch_blocks(!llvm.ptr, i64, i32, !llvm.ptr, i64, i64)
// CHECK-DAG: llvm.func @attention(
// CHECK-DAG: llvm.call @fa_launch_blocks
// CHECK-DAG: llvm.func @_mlir_ciface_attention(
// CHECK-DAG: llvm.func @_mlir_ciface_attention_kernel(
// CHECK-DAG: llvm.func @_fa_cpu_attention_kernel(%arg0: i64, %arg1: !llvm.ptr) {
// Conversions of bf16 are integer operations: LLVM's library calls for them are missing on Debian 12.
// CHECK-NOT: llvm.fptrunc
// A library function keeps its name.
// CHECK-NOT: _mlir_ciface_expf
func.func private @expf(f32) -> f32
func.func @attention(%q: memref<1x2x?x8xbf16>, %k: memref<1x1x?x8xbf16>, %o: memref<1x2x?x8xbf16>) {
  fa.attention ins(%q, %k, %k : memref<1x2x?x8xbf16>, memref<1x1x?x8xbf16>, memref<1x1x?x8xbf16>)
               outs(%o : memref<1x2x?x8xbf16>) masks [#fa.causal<bottom_right>]
  return
}
