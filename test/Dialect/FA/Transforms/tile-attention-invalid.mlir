// RUN: fa-opt %s --fa-tile-attention --split-input-file --verify-diagnostics

func.func @tensors(%q: tensor<1x1x4x8xf32>) -> tensor<1x1x4x8xf32> {
  // expected-error @+1 {{expected memrefs, but got tensors; run one-shot-bufferize first}}
  %r = fa.attention ins(%q, %q, %q : tensor<1x1x4x8xf32>, tensor<1x1x4x8xf32>, tensor<1x1x4x8xf32>) outs(%q : tensor<1x1x4x8xf32>) -> tensor<1x1x4x8xf32>
  return %r : tensor<1x1x4x8xf32>
}

// -----

func.func @named(%q: memref<1x1x4x8xf32>) {
  // expected-error @+1 {{expected no named masks; run fa-expand-masks first}}
  fa.attention ins(%q, %q, %q : memref<1x1x4x8xf32>, memref<1x1x4x8xf32>, memref<1x1x4x8xf32>) outs(%q : memref<1x1x4x8xf32>) masks [#fa.causal<top_left>]
  return
}

// -----

func.func @unscheduled(%q: memref<1x1x4x8xf32>) {
  // expected-error @+1 {{expected a schedule; run fa-select-schedule first}}
  fa.attention ins(%q, %q, %q : memref<1x1x4x8xf32>, memref<1x1x4x8xf32>, memref<1x1x4x8xf32>) outs(%q : memref<1x1x4x8xf32>)
  return
}

// -----

func.func @dynamic_depth(%q: memref<1x1x4x?xf32>) {
  // expected-error @+1 {{expected static depths to tile}}
  fa.attention ins(%q, %q, %q : memref<1x1x4x?xf32>, memref<1x1x4x?xf32>, memref<1x1x4x?xf32>) outs(%q : memref<1x1x4x?xf32>) schedule(#fa.schedule<tile_q = 64, tile_kv = 32>)
  return
}
