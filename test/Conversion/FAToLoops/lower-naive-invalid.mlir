// RUN: fa-opt %s -split-input-file -verify-diagnostics --fa-lower-naive

func.func @tensors(%q: tensor<1x1x4x8xf32>, %o: tensor<1x1x4x8xf32>) -> tensor<1x1x4x8xf32> {
  // expected-error@+2 {{expected memrefs, but got tensors}}
  // expected-note@+1 {{one-shot-bufferize turns tensors into memrefs}}
  %r = fa.attention ins(%q, %q, %q : tensor<1x1x4x8xf32>, tensor<1x1x4x8xf32>, tensor<1x1x4x8xf32>)
                    outs(%o : tensor<1x1x4x8xf32>) scale(0.5) -> tensor<1x1x4x8xf32>
  return %r : tensor<1x1x4x8xf32>
}

// -----

func.func @scale_out_of_range(%q: memref<1x1x4x8xf32>, %o: memref<1x1x4x8xf32>) {
  // expected-error@+1 {{expected a scale within the range of 'f32', but got -1.000000e+39}}
  fa.attention ins(%q, %q, %q : memref<1x1x4x8xf32>, memref<1x1x4x8xf32>, memref<1x1x4x8xf32>)
               outs(%o : memref<1x1x4x8xf32>) scale(-1.0e39)
  return
}
