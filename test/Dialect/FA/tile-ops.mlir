// RUN: fa-opt %s | fa-opt | FileCheck %s
// RUN: fa-opt %s --mlir-print-op-generic | fa-opt | FileCheck %s

// CHECK-LABEL: func.func @query_tile
func.func @query_tile(%q: memref<2x32x?x128xbf16>, %k: memref<2x8x?x128xbf16>, %v: memref<2x8x?x64xbf16>,
                      %o: memref<2x32x?x64xbf16>, %lse: memref<2x32x?xf32>, %b: index, %h: index, %hk: index, %i: index, %j: index) {
  // CHECK: %[[S0:.*]] = fa.init : !fa.state<128x64xf32>
  %s0 = fa.init : !fa.state<128x64xf32>
  // CHECK:      %[[S1:.*]] = fa.step %[[S0]], %{{.*}}[%{{.*}}, %{{.*}}, %{{.*}}], %{{.*}}, %{{.*}}[%{{.*}}, %{{.*}}, %{{.*}}] tile_kv(32) scale(1.250000e-01) mask (
  // CHECK:        fa.yield %{{.*}} : i1
  // CHECK-NEXT: } : !fa.state<128x64xf32>, memref<2x32x?x128xbf16>, memref<2x8x?x128xbf16>, memref<2x8x?x64xbf16>
  %s1 = fa.step %s0, %q[%b, %h, %i], %k, %v[%b, %hk, %j] tile_kv(32) scale(0.125)
      mask (%b0: index, %h0: index, %i0: index, %j0: index) {
    %keep = arith.cmpi sle, %j0, %i0 : index
    fa.yield %keep : i1
  } : !fa.state<128x64xf32>, memref<2x32x?x128xbf16>, memref<2x8x?x128xbf16>, memref<2x8x?x64xbf16>
  // CHECK: fa.step %[[S1]], {{.*}} tile_kv(32) scale(1.250000e-01) full : !fa.state
  %s2 = fa.step %s1, %q[%b, %h, %i], %k, %v[%b, %hk, %j] tile_kv(32) scale(0.125) full
      : !fa.state<128x64xf32>, memref<2x32x?x128xbf16>, memref<2x8x?x128xbf16>, memref<2x8x?x64xbf16>
  // CHECK: fa.finish %{{.*}}, %{{.*}}, %{{.*}}[%{{.*}}, %{{.*}}, %{{.*}}] : !fa.state<128x64xf32>, memref<2x32x?x64xbf16>, memref<2x32x?xf32>
  fa.finish %s2, %o, %lse[%b, %h, %i] : !fa.state<128x64xf32>, memref<2x32x?x64xbf16>, memref<2x32x?xf32>
  return
}

// CHECK-LABEL: func.func @state_in_memory
func.func @state_in_memory(%acc: memref<1x1x?x64xf32>, %m: memref<1x1x?xf32>, %l: memref<1x1x?xf32>, %o: memref<1x1x?x64xf32>, %c: index) {
  // CHECK: %[[S:.*]] = fa.load_state %{{.*}}, %{{.*}}, %{{.*}}[%{{.*}}, %{{.*}}, %{{.*}}] : memref<1x1x?x64xf32>, memref<1x1x?xf32>, memref<1x1x?xf32> -> !fa.state<32x64xf32>
  %s = fa.load_state %acc, %m, %l[%c, %c, %c] : memref<1x1x?x64xf32>, memref<1x1x?xf32>, memref<1x1x?xf32> -> !fa.state<32x64xf32>
  // CHECK: fa.store_state %[[S]], %{{.*}}, %{{.*}}, %{{.*}}[%{{.*}}, %{{.*}}, %{{.*}}] : !fa.state<32x64xf32>,
  fa.store_state %s, %acc, %m, %l[%c, %c, %c] : !fa.state<32x64xf32>, memref<1x1x?x64xf32>, memref<1x1x?xf32>, memref<1x1x?xf32>
  return
}

func.func private @kernel(index, memref<4xf32>, f32) attributes {fa.kernel}

// CHECK-LABEL: func.func @launch
func.func @launch(%n: index, %x: memref<4xf32>, %s: f32) {
  // CHECK: fa.launch @kernel grid(%{{.*}}) heavy_first args(%{{.*}}, %{{.*}} : memref<4xf32>, f32)
  fa.launch @kernel grid(%n) heavy_first args(%x, %s : memref<4xf32>, f32)
  return
}
