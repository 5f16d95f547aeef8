// Tensors whose layouts differ from one another.
!q = memref<1x2x3x4xf32>
!bshd = memref<1x2x3x4xf32, strided<[24, 4, 8, 1]>>

// Key [B, H, S, D] in memory, value and output [B, S, H, D].
func.func @mixed(%q: !q {fa.name = "q"}, %k: !q {fa.name = "k"}, %v: !bshd {fa.name = "v"}, %o: !bshd {fa.name = "o"},
                 %lse: memref<1x2x3xf32> {fa.name = "lse"}) {
  fa.attention ins(%q, %k, %v : !q, !q, !bshd) outs(%o, %lse : !bshd, memref<1x2x3xf32>)
  return
}

// Three keys in a buffer of 64 rows.
!buffer = memref<1x1x64x4xf32>
!rows = memref<1x1x3x4xf32, strided<[256, 256, 4, 1]>>
func.func @padded(%q: memref<1x1x3x4xf32> {fa.name = "q"}, %kb: !buffer {fa.name = "k"}, %vb: !buffer {fa.name = "v"},
                  %o: memref<1x1x3x4xf32> {fa.name = "o"}, %lse: memref<1x1x3xf32> {fa.name = "lse"}) {
  %k = memref.subview %kb[0, 0, 0, 0] [1, 1, 3, 4] [1, 1, 1, 1] : !buffer to !rows
  %v = memref.subview %vb[0, 0, 0, 0] [1, 1, 3, 4] [1, 1, 1, 1] : !buffer to !rows
  fa.attention ins(%q, %k, %v : memref<1x1x3x4xf32>, !rows, !rows)
               outs(%o, %lse : memref<1x1x3x4xf32>, memref<1x1x3xf32>)
  return
}

// All sizes but the depth are open, on tensors.
func.func @open(%q: tensor<?x?x?x64xf32> {fa.name = "q"}, %k: tensor<?x?x?x64xf32> {fa.name = "k"},
                %v: tensor<?x?x?x64xf32> {fa.name = "v"}, %o: tensor<?x?x?x64xf32> {fa.name = "o"}) -> tensor<?x?x?x64xf32> {
  %r = fa.attention ins(%q, %k, %v : tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>)
                    outs(%o : tensor<?x?x?x64xf32>) masks [#fa.causal<bottom_right>] -> tensor<?x?x?x64xf32>
  return %r : tensor<?x?x?x64xf32>
}
