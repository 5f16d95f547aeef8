// Depth 256: 280 KiB of scratch memory for a query tile.
func.func @attention(%q: memref<1x2x200x256xf32>, %k: memref<1x2x200x256xf32>, %v: memref<1x2x200x256xf32>, %o: memref<1x2x200x256xf32>) {
  fa.attention ins(%q, %k, %v : memref<1x2x200x256xf32>, memref<1x2x200x256xf32>, memref<1x2x200x256xf32>)
               outs(%o : memref<1x2x200x256xf32>) masks [#fa.causal<top_left>]
  return
}
