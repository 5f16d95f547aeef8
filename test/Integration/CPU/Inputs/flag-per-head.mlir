// Causal in the heads whose flag is set, everything in the others; an offset of index type that may be anything.
func.func @attention(%q: memref<1x4x70x16xf32>, %k: memref<1x4x50x16xf32>, %v: memref<1x4x50x16xf32>,
                     %flag: memref<4xi1> {fa.name = "flag", fa.fill = "integers:0,1"},
                     %offset: i64 {fa.name = "offset"},
                     %o: memref<1x4x70x16xf32>, %lse: memref<1x4x70xf32>) {
  fa.attention ins(%q, %k, %v : memref<1x4x70x16xf32>, memref<1x4x50x16xf32>, memref<1x4x50x16xf32>)
               outs(%o, %lse : memref<1x4x70x16xf32>, memref<1x4x70xf32>)
               mask (%b: index, %h: index, %i: index, %j: index) {
    %causal = memref.load %flag[%h] : memref<4xi1>
    %past = arith.index_cast %offset : i64 to index
    %last = arith.addi %i, %past : index
    %seen = arith.cmpi sle, %j, %last : index
    %yes = arith.constant true
    %keep = arith.select %causal, %seen, %yes : i1
    fa.yield %keep : i1
  }
  return
}
