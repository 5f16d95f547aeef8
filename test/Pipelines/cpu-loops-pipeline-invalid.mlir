// RUN: fa-opt %s -verify-diagnostics --fa-cpu-loops-pipeline

func.func @not_tiled(%q: memref<1x1x4x8xf32>, %o: memref<1x1x4x8xf32>) {
  // expected-error@+1 {{expected tiles and kernels only, but got 'fa.attention'; run fa-kernels-pipeline or fa-lower-naive first}}
  fa.attention ins(%q, %q, %q : memref<1x1x4x8xf32>, memref<1x1x4x8xf32>, memref<1x1x4x8xf32>)
               outs(%o : memref<1x1x4x8xf32>) scale(0.5)
  return
}
