// Causal attention of one head: query i sees keys 0 .. i.
//   fa-run examples/causal.mlir
//   fa-run examples/causal.mlir --dump-ir=peeled      the loops: full tiles without a mask, then the diagonal
func.func @attention(%q: memref<1x1x256x64xf32>, %k: memref<1x1x256x64xf32>, %v: memref<1x1x256x64xf32>,
                     %o: memref<1x1x256x64xf32>, %lse: memref<1x1x256xf32>) {
  fa.attention ins(%q, %k, %v : memref<1x1x256x64xf32>, memref<1x1x256x64xf32>, memref<1x1x256x64xf32>)
               outs(%o, %lse : memref<1x1x256x64xf32>, memref<1x1x256xf32>)
               masks [#fa.causal<top_left>]
  return
}
