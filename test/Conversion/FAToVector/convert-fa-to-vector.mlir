// RUN: fa-opt %s --convert-fa-to-vector="vector-bits=512 avx512" --canonicalize --cse | FileCheck %s --check-prefixes=CHECK,AVX512
// RUN: fa-opt %s --convert-fa-to-vector="vector-bits=256" --canonicalize --cse | FileCheck %s --check-prefixes=CHECK,PORTABLE

// One private function for the references, one for all steps of the state; contiguous keys of the computing type are read in
// place.
// CHECK-LABEL: func.func private @kernel_rebase
// CHECK-SAME: passthrough = ["noinline", "cold"]
// CHECK: return
// CHECK-LABEL: func.func private @kernel_step
// CHECK-SAME: i1
// CHECK-NOT: math.exp
// CHECK: %[[K:.*]] = memref.reinterpret_cast %{{.*}} to offset: {{.*}} strides: [64, 1]
// CHECK: scf.for
// AVX512: vector.broadcast %{{.*}} : f32 to vector<16xf32>
// AVX512: llvm.call_intrinsic "llvm.x86.avx512.mask.reduce.ps.512"
// AVX512: llvm.call_intrinsic "llvm.x86.avx512.mask.scalef.ps.512"
// PORTABLE: vector.broadcast %{{.*}} : f32 to vector<8xf32>
// PORTABLE-NOT: llvm.call_intrinsic
// CHECK: return
// CHECK-NOT: func.func private
// CHECK-LABEL: func.func @kernel
// CHECK-SAME: %[[SCRATCH:[a-z0-9]+]]: memref<?xi8>) attributes {fa.kernel, fa.scratch_bytes = {{[1-9][0-9]*}} : i64}
// CHECK: %[[ARENA:.*]] = memref.view %[[SCRATCH]][%{{.*}}][] : memref<?xi8> to memref<{{.*}}xi8>
// CHECK-NOT: memref.alloc
// CHECK: call @kernel_step(%[[ARENA]]
// CHECK: call @kernel_step(%[[ARENA]]
// CHECK-NOT: fa.
func.func @kernel(%block: index, %q: memref<1x1x?x64xf32>, %k: memref<1x1x?x64xf32>, %v: memref<1x1x?x64xf32>,
                  %o: memref<1x1x?x64xf32>) attributes {fa.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c5 = arith.constant 5 : index
  %s0 = fa.init : !fa.state<128x64xf32>
  %s1 = scf.for %j = %c0 to %c4 step %c1 iter_args(%s = %s0) -> (!fa.state<128x64xf32>) {
    %next = fa.step %s, %q[%c0, %c0, %block], %k, %v[%c0, %c0, %j] tile_kv(128) scale(0.125) full
      : !fa.state<128x64xf32>, memref<1x1x?x64xf32>, memref<1x1x?x64xf32>, memref<1x1x?x64xf32>
    scf.yield %next : !fa.state<128x64xf32>
  }
  %s2 = scf.for %j = %c4 to %c5 step %c1 iter_args(%s = %s1) -> (!fa.state<128x64xf32>) {
    %next = fa.step %s, %q[%c0, %c0, %block], %k, %v[%c0, %c0, %j] tile_kv(128) scale(0.125)
      mask (%b: index, %h: index, %i: index, %jj: index) {
        %keep = arith.cmpi sle, %jj, %i : index
        fa.yield %keep : i1
      } : !fa.state<128x64xf32>, memref<1x1x?x64xf32>, memref<1x1x?x64xf32>, memref<1x1x?x64xf32>
    scf.yield %next : !fa.state<128x64xf32>
  }
  fa.finish %s2, %o[%c0, %c0, %block] : !fa.state<128x64xf32>, memref<1x1x?x64xf32>
  return
}

// 16-bit keys and values are widened in a copy of each tile.
// CHECK-LABEL: func.func private @half_step
// CHECK: arith.extf %{{.*}} : vector<{{.*}}xbf16> to vector<{{.*}}xf32>
// CHECK-LABEL: func.func @half
// CHECK: arith.truncf %{{.*}} : vector<{{.*}}xf32> to vector<{{.*}}xbf16>
func.func @half(%block: index, %q: memref<1x1x?x64xbf16>, %k: memref<1x1x?x64xbf16>, %v: memref<1x1x?x64xbf16>,
                %o: memref<1x1x?x64xbf16>) attributes {fa.kernel} {
  %c0 = arith.constant 0 : index
  %s0 = fa.init : !fa.state<32x64xf32>
  %s1 = fa.step %s0, %q[%c0, %c0, %block], %k, %v[%c0, %c0, %c0] tile_kv(32) scale(0.125)
    : !fa.state<32x64xf32>, memref<1x1x?x64xbf16>, memref<1x1x?x64xbf16>, memref<1x1x?x64xbf16>
  fa.finish %s1, %o[%c0, %c0, %block] : !fa.state<32x64xf32>, memref<1x1x?x64xbf16>
  return
}

// A function without states is left alone.
// CHECK-LABEL: func.func @other
// CHECK-NEXT: return
func.func @other() {
  return
}
