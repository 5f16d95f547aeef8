// No pair is visible: O = 0, LSE = -inf, no tile is visited.
func.func @attention(%q: memref<1x2x70x16xf32>, %k: memref<1x2x50x16xf32>, %v: memref<1x2x50x16xf32>,
                     %o: memref<1x2x70x16xf32>, %lse: memref<1x2x70xf32>) {
  fa.attention ins(%q, %k, %v : memref<1x2x70x16xf32>, memref<1x2x50x16xf32>, memref<1x2x50x16xf32>)
               outs(%o, %lse : memref<1x2x70x16xf32>, memref<1x2x70xf32>)
               mask (%b: index, %h: index, %i: index, %j: index) {
    %after = arith.cmpi sgt, %j, %i : index
    %before = arith.cmpi slt, %j, %i : index
    %keep = arith.andi %after, %before : i1
    fa.yield %keep : i1
  }
  return
}
