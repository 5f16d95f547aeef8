// Full attention over nine key tiles: every loop of the kernel runs more than once.
func.func @attention(%q: memref<1x1x128x128xbf16>, %k: memref<1x1x1152x128xbf16>, %v: memref<1x1x1152x128xbf16>,
                     %o: memref<1x1x128x128xbf16>, %lse: memref<1x1x128xf32>) {
  fa.attention ins(%q, %k, %v : memref<1x1x128x128xbf16>, memref<1x1x1152x128xbf16>, memref<1x1x1152x128xbf16>)
               outs(%o, %lse : memref<1x1x128x128xbf16>, memref<1x1x128xf32>) scale(0.08838834764831845)
  return
}
