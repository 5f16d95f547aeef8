// Two launches: a package with two kernels, the second of which reads what the first wrote.
func.func @attention(%q: memref<1x2x?x32xf32> {fa.name = "q"}, %k: memref<1x2x?x32xf32> {fa.name = "k"},
                     %v: memref<1x2x?x32xf32> {fa.name = "v"}, %p: memref<1x2x?x32xf32> {fa.name = "p"},
                     %o: memref<1x2x?x32xf32> {fa.name = "o"}) {
  fa.attention ins(%q, %k, %v : memref<1x2x?x32xf32>, memref<1x2x?x32xf32>, memref<1x2x?x32xf32>)
               outs(%p : memref<1x2x?x32xf32>)
  fa.attention ins(%p, %k, %v : memref<1x2x?x32xf32>, memref<1x2x?x32xf32>, memref<1x2x?x32xf32>)
               outs(%o : memref<1x2x?x32xf32>) masks [#fa.causal<bottom_right>]
  return
}
