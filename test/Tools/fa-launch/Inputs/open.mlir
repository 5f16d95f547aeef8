// Causal, grouped heads, both lengths open: one package for every length.
func.func @attention(%q: memref<1x2x?x64xbf16>, %k: memref<1x1x?x64xbf16>, %v: memref<1x1x?x64xbf16>,
                     %o: memref<1x2x?x64xbf16>, %lse: memref<1x2x?xf32>) {
  fa.attention ins(%q, %k, %v : memref<1x2x?x64xbf16>, memref<1x1x?x64xbf16>, memref<1x1x?x64xbf16>)
               outs(%o, %lse : memref<1x2x?x64xbf16>, memref<1x2x?xf32>) masks [#fa.causal<bottom_right>]
  return
}
