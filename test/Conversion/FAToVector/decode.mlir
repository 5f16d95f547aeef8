// RUN: fa-opt %s --convert-fa-to-vector="vector-bits=512 avx512" --canonicalize --cse | FileCheck %s --check-prefixes=CHECK,AVX512
// RUN: fa-opt %s --convert-fa-to-vector="vector-bits=128" --canonicalize --cse | FileCheck %s --check-prefixes=CHECK,SSE

// Four rows x four keys a vector of scores: keys and values are read as vectors of columns, in place, and asked for ahead of
// their use; products are added up by shuffles.
// CHECK-LABEL: func.func private @kernel_raise
// CHECK-SAME: passthrough = ["noinline", "cold"]
// CHECK-LABEL: func.func private @kernel_step
// CHECK: memref.prefetch
// AVX512: vector.load %{{.*}} : memref<{{.*}}>, vector<16xf32>
// SSE: vector.load %{{.*}} : memref<{{.*}}>, vector<4xf32>
// CHECK: vector.shuffle
// AVX512: llvm.call_intrinsic "llvm.x86.avx512.mask.scalef.ps.512"
// CHECK: vector.broadcast
// CHECK: return
// CHECK-LABEL: func.func @kernel
// CHECK: call @kernel_step
// CHECK-NOT: fa.step
func.func @kernel(%block: index, %q: memref<1x1x4x64xf32>, %k: memref<1x1x?x64xf32>, %v: memref<1x1x?x64xf32>,
                  %o: memref<1x1x4x64xf32>)
    attributes {fa.kernel, fa.schedule = #fa.schedule<tile_q = 4, tile_kv = 256, target = #fa.cpu<vector_bits = 512, lanes = depth>>} {
  %c0 = arith.constant 0 : index
  %s0 = fa.init : !fa.state<4x64xf32>
  %s1 = fa.step %s0, %q[%c0, %c0, %c0], %k, %v[%c0, %c0, %block] tile_kv(256) scale(0.125) full
    : !fa.state<4x64xf32>, memref<1x1x4x64xf32>, memref<1x1x?x64xf32>, memref<1x1x?x64xf32>
  fa.finish %s1, %o[%c0, %c0, %c0] : !fa.state<4x64xf32>, memref<1x1x4x64xf32>
  return
}

// Pairs of bf16 become two vectors by a shift and a mask.
// CHECK-LABEL: func.func private @pairs_step
// AVX512: %[[WORDS:.*]] = vector.bitcast %{{.*}} : vector<32xbf16> to vector<16xi32>
// AVX512: arith.shli %[[WORDS]]
// AVX512: arith.andi %[[WORDS]]
// SSE: vector.bitcast %{{.*}} : vector<8xbf16> to vector<4xi32>
func.func @pairs(%block: index, %q: memref<1x1x4x64xbf16>, %k: memref<1x1x?x64xbf16>, %o: memref<1x1x4x64xbf16>)
    attributes {fa.kernel, fa.schedule = #fa.schedule<tile_q = 4, tile_kv = 256, target = #fa.cpu<vector_bits = 512, lanes = depth>>} {
  %c0 = arith.constant 0 : index
  %s0 = fa.init : !fa.state<4x64xf32>
  %s1 = fa.step %s0, %q[%c0, %c0, %c0], %k, %k[%c0, %c0, %block] tile_kv(256) scale(0.125) full
    : !fa.state<4x64xf32>, memref<1x1x4x64xbf16>, memref<1x1x?x64xbf16>, memref<1x1x?x64xbf16>
  fa.finish %s1, %o[%c0, %c0, %c0] : !fa.state<4x64xf32>, memref<1x1x4x64xbf16>
  return
}
