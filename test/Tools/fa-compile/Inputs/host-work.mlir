func.func @attention(%q: memref<1x1x8x8xf32>, %k: memref<1x1x8x8xf32>, %v: memref<1x1x8x8xf32>,
                     %o: memref<1x1x8x8xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%v : memref<1x1x8x8xf32>)
  fa.attention ins(%q, %k, %v : memref<1x1x8x8xf32>, memref<1x1x8x8xf32>, memref<1x1x8x8xf32>)
               outs(%o : memref<1x1x8x8xf32>)
  return
}
