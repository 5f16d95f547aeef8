// Query 37 sees key 21, and that is all.
func.func @attention(%q: memref<1x2x70x16xf32>, %k: memref<1x2x50x16xf32>, %v: memref<1x2x50x16xf32>,
                     %o: memref<1x2x70x16xf32>, %lse: memref<1x2x70xf32>) {
  fa.attention ins(%q, %k, %v : memref<1x2x70x16xf32>, memref<1x2x50x16xf32>, memref<1x2x50x16xf32>)
               outs(%o, %lse : memref<1x2x70x16xf32>, memref<1x2x70xf32>)
               mask (%b: index, %h: index, %i: index, %j: index) {
    %query = arith.constant 37 : index
    %key = arith.constant 21 : index
    %this_query = arith.cmpi eq, %i, %query : index
    %this_key = arith.cmpi eq, %j, %key : index
    %keep = arith.andi %this_query, %this_key : i1
    fa.yield %keep : i1
  }
  return
}
