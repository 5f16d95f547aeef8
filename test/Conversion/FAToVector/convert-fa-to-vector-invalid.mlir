// RUN: fa-opt %s --convert-fa-to-vector --split-input-file --verify-diagnostics
// RUN: not fa-opt %s --convert-fa-to-vector=vector-bits=96 2>&1 | FileCheck %s --check-prefix=BITS
// RUN: not fa-opt %s --convert-fa-to-vector="vector-bits=256 avx512" 2>&1 | FileCheck %s --check-prefix=UNIT
// BITS: error: expected vector-bits of 128, 256 or 512, but got 96
// UNIT: error: expected vector-bits of 512 with avx512, but got 256

func.func @stored(%acc: memref<1x1x?x64xf32>, %m: memref<1x1x?xf32>) attributes {fa.kernel} {
  %c0 = arith.constant 0 : index
  // expected-error @+1 {{expected states that stay in scratch memory (order query_outer)}}
  %s = fa.load_state %acc, %m, %m[%c0, %c0, %c0]
    : memref<1x1x?x64xf32>, memref<1x1x?xf32>, memref<1x1x?xf32> -> !fa.state<32x64xf32>
  fa.finish %s, %acc[%c0, %c0, %c0] : !fa.state<32x64xf32>, memref<1x1x?x64xf32>
  return
}

// -----

func.func @late_query(%q: memref<1x1x?x64xf32>, %o: memref<1x1x?x64xf32>) attributes {fa.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %s0 = fa.init : !fa.state<32x64xf32>
  %s1 = scf.for %j = %c0 to %c1 step %c1 iter_args(%s = %s0) -> (!fa.state<32x64xf32>) {
    // expected-error @+1 {{expected a query tile that is known where its state begins}}
    %next = fa.step %s, %q[%c0, %c0, %j], %q, %q[%c0, %c0, %j] tile_kv(32) scale(0.125)
      : !fa.state<32x64xf32>, memref<1x1x?x64xf32>, memref<1x1x?x64xf32>, memref<1x1x?x64xf32>
    scf.yield %next : !fa.state<32x64xf32>
  }
  fa.finish %s1, %o[%c0, %c0, %c0] : !fa.state<32x64xf32>, memref<1x1x?x64xf32>
  return
}

// -----

func.func @two_scales(%q: memref<1x1x?x64xf32>, %o: memref<1x1x?x64xf32>) attributes {fa.kernel} {
  %c0 = arith.constant 0 : index
  %s0 = fa.init : !fa.state<32x64xf32>
  %s1 = fa.step %s0, %q[%c0, %c0, %c0], %q, %q[%c0, %c0, %c0] tile_kv(32) scale(0.125)
    : !fa.state<32x64xf32>, memref<1x1x?x64xf32>, memref<1x1x?x64xf32>, memref<1x1x?x64xf32>
  // expected-error @+1 {{expected the query tile, scale and tile_kv of the state's first step, but got others}}
  %s2 = fa.step %s1, %q[%c0, %c0, %c0], %q, %q[%c0, %c0, %c0] tile_kv(32) scale(0.25)
    : !fa.state<32x64xf32>, memref<1x1x?x64xf32>, memref<1x1x?x64xf32>, memref<1x1x?x64xf32>
  fa.finish %s2, %o[%c0, %c0, %c0] : !fa.state<32x64xf32>, memref<1x1x?x64xf32>
  return
}

// -----

// A launch that is lowered already gives no scratch memory.

llvm.func @_fa_cpu_launched(i64, !llvm.ptr)
// expected-error @+1 {{run convert-fa-to-vector before convert-fa-launch-to-llvm}}
func.func @launched(%q: memref<1x1x?x64xf32>, %o: memref<1x1x?x64xf32>) attributes {fa.kernel} {
  %c0 = arith.constant 0 : index
  %s0 = fa.init : !fa.state<32x64xf32>
  %s1 = fa.step %s0, %q[%c0, %c0, %c0], %q, %q[%c0, %c0, %c0] tile_kv(32) scale(0.125)
    : !fa.state<32x64xf32>, memref<1x1x?x64xf32>, memref<1x1x?x64xf32>, memref<1x1x?x64xf32>
  fa.finish %s1, %o[%c0, %c0, %c0] : !fa.state<32x64xf32>, memref<1x1x?x64xf32>
  return
}
