// Packed documents: a query sees the keys of its own document, up to itself. The ids are data, so which tiles can be skipped
// is known from the causal part only; the rest is masked.
//   fa-run examples/document-mask.mlir
//   fa-run examples/document-mask.mlir --input=doc=ids.npy
func.func @attention(%q: memref<1x2x300x64xf32>, %k: memref<1x2x300x64xf32>, %v: memref<1x2x300x64xf32>,
                     %doc: memref<300xi32> {fa.name = "doc", fa.fill = "documents:5"}, %o: memref<1x2x300x64xf32>,
                     %lse: memref<1x2x300xf32>) {
  fa.attention ins(%q, %k, %v : memref<1x2x300x64xf32>, memref<1x2x300x64xf32>, memref<1x2x300x64xf32>)
               outs(%o, %lse : memref<1x2x300x64xf32>, memref<1x2x300xf32>)
               masks [#fa.causal<top_left>]
               mask (%b: index, %h: index, %i: index, %j: index) {
    %mine = memref.load %doc[%i] : memref<300xi32>
    %theirs = memref.load %doc[%j] : memref<300xi32>
    %same = arith.cmpi eq, %mine, %theirs : i32
    fa.yield %same : i1
  }
  return
}
