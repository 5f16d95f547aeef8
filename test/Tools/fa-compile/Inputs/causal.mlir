!t = memref<?x?x?x128xbf16>
func.func @attention(%q: !t {fa.name = "q"}, %k: !t {fa.name = "k"}, %v: !t {fa.name = "v"}, %o: !t {fa.name = "o"},
                     %lse: memref<?x?x?xf32> {fa.name = "lse"}) {
  fa.attention ins(%q, %k, %v : !t, !t, !t) outs(%o, %lse : !t, memref<?x?x?xf32>)
    scale(0.0883883461) masks [#fa.causal<bottom_right>]
  return
}
