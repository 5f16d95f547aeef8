// One view of each kind between an argument and the attention.
//--- cast.mlir
func.func @attention(%q: memref<1x2x300x64xbf16>, %k: memref<1x2x300x64xbf16>, %v: memref<1x2x300x64xbf16>, %o: memref<1x2x300x64xbf16>) {
  %c = memref.cast %q : memref<1x2x300x64xbf16> to memref<?x?x?x64xbf16>
  fa.attention ins(%c, %k, %v : memref<?x?x?x64xbf16>, memref<1x2x300x64xbf16>, memref<1x2x300x64xbf16>) outs(%o : memref<1x2x300x64xbf16>)
  return
}
//--- expand.mlir
func.func @attention(%q: memref<2x300x64xbf16>, %k: memref<1x2x300x64xbf16>, %v: memref<1x2x300x64xbf16>, %o: memref<1x2x300x64xbf16>) {
  %c = memref.expand_shape %q [[0, 1], [2], [3]] output_shape [1, 2, 300, 64] : memref<2x300x64xbf16> into memref<1x2x300x64xbf16>
  fa.attention ins(%c, %k, %v : memref<1x2x300x64xbf16>, memref<1x2x300x64xbf16>, memref<1x2x300x64xbf16>) outs(%o : memref<1x2x300x64xbf16>)
  return
}
//--- subview.mlir
func.func @attention(%q: memref<1x4x300x64xbf16>, %k: memref<1x2x300x64xbf16>, %v: memref<1x2x300x64xbf16>, %o: memref<1x2x300x64xbf16>) {
  %c = memref.subview %q[0, 2, 0, 0] [1, 2, 300, 64] [1, 1, 1, 1] : memref<1x4x300x64xbf16> to memref<1x2x300x64xbf16, strided<[76800, 19200, 64, 1], offset: 38400>>
  fa.attention ins(%c, %k, %v : memref<1x2x300x64xbf16, strided<[76800, 19200, 64, 1], offset: 38400>>, memref<1x2x300x64xbf16>, memref<1x2x300x64xbf16>) outs(%o : memref<1x2x300x64xbf16>)
  return
}
//--- reinterpret.mlir
func.func @attention(%q: memref<38400xbf16>, %k: memref<1x2x300x64xbf16>, %v: memref<1x2x300x64xbf16>, %o: memref<1x2x300x64xbf16>) {
  %c = memref.reinterpret_cast %q to offset: [0], sizes: [1, 2, 300, 64], strides: [38400, 19200, 64, 1] : memref<38400xbf16> to memref<1x2x300x64xbf16, strided<[38400, 19200, 64, 1]>>
  fa.attention ins(%c, %k, %v : memref<1x2x300x64xbf16, strided<[38400, 19200, 64, 1]>>, memref<1x2x300x64xbf16>, memref<1x2x300x64xbf16>) outs(%o : memref<1x2x300x64xbf16>)
  return
}
