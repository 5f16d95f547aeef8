// Two launches: a package with two kernels, the second of which reads what the first wrote.
func.func @attention(%q: memref<1x2x?x32xf32>, %k: memref<1x2x?x32xf32>, %v: memref<1x2x?x32xf32>,
                     %p: memref<1x2x?x32xf32>, %o: memref<1x2x?x32xf32>) {
  fa.attention ins(%q, %k, %v : memref<1x2x?x32xf32>, memref<1x2x?x32xf32>, memref<1x2x?x32xf32>)
               outs(%p : memref<1x2x?x32xf32>)
  fa.attention ins(%p, %k, %v : memref<1x2x?x32xf32>, memref<1x2x?x32xf32>, memref<1x2x?x32xf32>)
               outs(%o : memref<1x2x?x32xf32>) masks [#fa.causal<bottom_right>]
  return
}
