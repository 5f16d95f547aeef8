// Grouped heads and lengths that vary without recompiling: 8 query heads share 2 key/value heads (blocked: query head h reads
// head h / 4), and the last query sees every key.
//   fa-run examples/grouped-heads.mlir --shape=q=2x8x100x64 --shape=k=2x2x300x64
func.func @attention(%q: memref<?x8x?x64xbf16>, %k: memref<?x2x?x64xbf16>, %v: memref<?x2x?x64xbf16>,
                     %o: memref<?x8x?x64xbf16>, %lse: memref<?x8x?xf32>) {
  fa.attention ins(%q, %k, %v : memref<?x8x?x64xbf16>, memref<?x2x?x64xbf16>, memref<?x2x?x64xbf16>)
               outs(%o, %lse : memref<?x8x?x64xbf16>, memref<?x8x?xf32>)
               masks [#fa.causal<bottom_right>]
  return
}
