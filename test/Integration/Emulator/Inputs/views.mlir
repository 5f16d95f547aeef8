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
//--- packed.mlir
// Queries, keys and values side by side, sequence outside of heads, batch and length open.
func.func @attention(%qkv: memref<?x?x3x2x64xbf16> {fa.name = "qkv"}, %o: memref<?x2x?x64xbf16>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %batch = memref.dim %qkv, %c0 : memref<?x?x3x2x64xbf16>
  %length = memref.dim %qkv, %c1 : memref<?x?x3x2x64xbf16>
  %q0 = memref.subview %qkv[0, 0, 0, 0, 0] [%batch, %length, 1, 2, 64] [1, 1, 1, 1, 1] : memref<?x?x3x2x64xbf16> to memref<?x?x2x64xbf16, strided<[?, 384, 64, 1]>>
  %k0 = memref.subview %qkv[0, 0, 1, 0, 0] [%batch, %length, 1, 2, 64] [1, 1, 1, 1, 1] : memref<?x?x3x2x64xbf16> to memref<?x?x2x64xbf16, strided<[?, 384, 64, 1], offset: 128>>
  %v0 = memref.subview %qkv[0, 0, 2, 0, 0] [%batch, %length, 1, 2, 64] [1, 1, 1, 1, 1] : memref<?x?x3x2x64xbf16> to memref<?x?x2x64xbf16, strided<[?, 384, 64, 1], offset: 256>>
  %q = memref.transpose %q0 (a, b, c, d) -> (a, c, b, d) : memref<?x?x2x64xbf16, strided<[?, 384, 64, 1]>> to memref<?x2x?x64xbf16, strided<[?, 64, 384, 1]>>
  %k = memref.transpose %k0 (a, b, c, d) -> (a, c, b, d) : memref<?x?x2x64xbf16, strided<[?, 384, 64, 1], offset: 128>> to memref<?x2x?x64xbf16, strided<[?, 64, 384, 1], offset: 128>>
  %v = memref.transpose %v0 (a, b, c, d) -> (a, c, b, d) : memref<?x?x2x64xbf16, strided<[?, 384, 64, 1], offset: 256>> to memref<?x2x?x64xbf16, strided<[?, 64, 384, 1], offset: 256>>
  fa.attention ins(%q, %k, %v : memref<?x2x?x64xbf16, strided<[?, 64, 384, 1]>>, memref<?x2x?x64xbf16, strided<[?, 64, 384, 1], offset: 128>>, memref<?x2x?x64xbf16, strided<[?, 64, 384, 1], offset: 256>>)
               outs(%o : memref<?x2x?x64xbf16>) masks [#fa.causal<bottom_right>]
  return
}
//--- outputs.mlir
// The log-sum-exp and a captured tensor of slopes are views too; the first of four layers is given at launch.
func.func @attention(%q: memref<1x2x70x64xbf16>, %k: memref<1x2x70x64xbf16>, %v: memref<1x2x70x64xbf16>, %o: memref<1x2x70x64xbf16>,
                     %lse: memref<2x1x70xf32>, %all: memref<4x2xf32> {fa.name = "all"}, %first: index {fa.name = "first"}) {
  %slopes = memref.subview %all[%first, 0] [1, 2] [1, 1] : memref<4x2xf32> to memref<2xf32, strided<[1], offset: ?>>
  %rows = memref.collapse_shape %lse [[0, 1], [2]] : memref<2x1x70xf32> into memref<2x70xf32>
  %lses = memref.expand_shape %rows [[0, 1], [2]] output_shape [1, 2, 70] : memref<2x70xf32> into memref<1x2x70xf32>
  fa.attention ins(%q, %k, %v : memref<1x2x70x64xbf16>, memref<1x2x70x64xbf16>, memref<1x2x70x64xbf16>)
               outs(%o, %lses : memref<1x2x70x64xbf16>, memref<1x2x70xf32>)
               score (%s: f32, %b: index, %h: index, %i: index, %j: index) {
    %slope = memref.load %slopes[%h] : memref<2xf32, strided<[1], offset: ?>>
    %r = arith.mulf %s, %slope : f32
    fa.yield %r : f32
  }
  return
}
//--- offset.mlir
func.func @attention(%q: memref<?xbf16, strided<[1], offset: ?>>, %k: memref<1x2x300x64xbf16>, %v: memref<1x2x300x64xbf16>, %o: memref<1x2x300x64xbf16>) {
  %c = memref.reinterpret_cast %q to offset: [0], sizes: [1, 2, 300, 64], strides: [38400, 19200, 64, 1] : memref<?xbf16, strided<[1], offset: ?>> to memref<1x2x300x64xbf16, strided<[38400, 19200, 64, 1]>>
  fa.attention ins(%c, %k, %v : memref<1x2x300x64xbf16, strided<[38400, 19200, 64, 1]>>, memref<1x2x300x64xbf16>, memref<1x2x300x64xbf16>) outs(%o : memref<1x2x300x64xbf16>)
  return
}
//--- alloc.mlir
func.func @attention(%k: memref<1x2x300x64xbf16>, %v: memref<1x2x300x64xbf16>, %o: memref<1x2x300x64xbf16>) {
  %q = memref.alloc() : memref<1x2x300x64xbf16>
  fa.attention ins(%q, %k, %v : memref<1x2x300x64xbf16>, memref<1x2x300x64xbf16>, memref<1x2x300x64xbf16>) outs(%o : memref<1x2x300x64xbf16>)
  return
}
