// Causal, grouped heads, every length and the batch open: one kernel for all of them.
func.func @attention(%q: memref<?x4x?x64xf32>, %k: memref<?x2x?x64xf32>, %v: memref<?x2x?x64xf32>,
                     %o: memref<?x4x?x64xf32>, %lse: memref<?x4x?xf32>) {
  fa.attention ins(%q, %k, %v : memref<?x4x?x64xf32>, memref<?x2x?x64xf32>, memref<?x2x?x64xf32>)
               outs(%o, %lse : memref<?x4x?x64xf32>, memref<?x4x?xf32>) masks [#fa.causal<bottom_right>]
  return
}
