// RUN: fa-opt %s --fa-report-traffic --verify-diagnostics | FileCheck %s

// 1024 tokens in tiles of 128: 36 of 64 tiles are visited. Q, K, V, O: 256 KiB each; LSE: 4 KiB. The scores and
// the weights are 4 MiB each, written and read once: 2 * 2 * 1024^2 touches.
func.func @causal(%q: memref<1x1x1024x64xf32>, %o: memref<1x1x1024x64xf32>, %lse: memref<1x1x1024xf32>) {
  // expected-remark @+3 {{traffic, unfused: 17 MiB once}}
  // expected-remark @+2 {{traffic, key_outer (FlashAttention-1):}}
  // expected-remark @+1 {{traffic, query_outer (FlashAttention-2), as scheduled: 1 MiB once, 2.75 MiB issued, 0 N x N touches, 36 of 64 tiles}}
  fa.attention ins(%q, %q, %q : memref<1x1x1024x64xf32>, memref<1x1x1024x64xf32>, memref<1x1x1024x64xf32>)
      outs(%o, %lse : memref<1x1x1024x64xf32>, memref<1x1x1024xf32>) masks [#fa.causal<top_left>]
      schedule(#fa.schedule<tile_q = 128, tile_kv = 128>)
  return
}

// CHECK-LABEL: func.func @dynamic
// CHECK-NEXT: fa.attention
func.func @dynamic(%q: memref<1x1x?x64xf32>) {
  // expected-remark @+1 {{traffic is not known for dynamic sizes}}
  fa.attention ins(%q, %q, %q : memref<1x1x?x64xf32>, memref<1x1x?x64xf32>, memref<1x1x?x64xf32>)
      outs(%q : memref<1x1x?x64xf32>) schedule(#fa.schedule<tile_q = 128, tile_kv = 128>)
  return
}

func.func @unscheduled(%q: memref<1x1x64x64xf32>) {
  // expected-remark @+1 {{run fa-select-schedule first}}
  fa.attention ins(%q, %q, %q : memref<1x1x64x64xf32>, memref<1x1x64x64xf32>, memref<1x1x64x64xf32>)
      outs(%q : memref<1x1x64x64xf32>)
  return
}
