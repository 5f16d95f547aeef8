// Block-local attention: a query sees the keys of its own block of 96 and no others. The blocks need not line up with the tiles:
// the bounds are exact all the same.
//   fa-run examples/block-local.mlir --remarks --tile-map
func.func @attention(%q: memref<1x4x700x64xf32>, %k: memref<1x4x700x64xf32>, %v: memref<1x4x700x64xf32>,
                     %o: memref<1x4x700x64xf32>, %lse: memref<1x4x700xf32>) {
  fa.attention ins(%q, %k, %v : memref<1x4x700x64xf32>, memref<1x4x700x64xf32>, memref<1x4x700x64xf32>)
               outs(%o, %lse : memref<1x4x700x64xf32>, memref<1x4x700xf32>)
               mask (%b: index, %h: index, %i: index, %j: index) {
    %block = arith.constant 96 : index
    %mine = arith.divui %i, %block : index
    %theirs = arith.divui %j, %block : index
    %keep = arith.cmpi eq, %mine, %theirs : index
    fa.yield %keep : i1
  }
  return
}
