// Causal attention over padded batches: batch b holds length[b] tokens, what follows is padding. Tiles of padding are never
// visited, neither as queries nor as keys; rows of padding give 0 and LSE -inf.
//   fa-run examples/padding.mlir --fill=length=integers:1,256 --seed=3 --remarks --tile-map
func.func @attention(%q: memref<4x2x256x64xf32>, %k: memref<4x2x256x64xf32>, %v: memref<4x2x256x64xf32>,
                     %length: memref<4xi32> {fa.name = "length", fa.fill = "integers:1,256"},
                     %o: memref<4x2x256x64xf32>, %lse: memref<4x2x256xf32>) {
  fa.attention ins(%q, %k, %v : memref<4x2x256x64xf32>, memref<4x2x256x64xf32>, memref<4x2x256x64xf32>)
               outs(%o, %lse : memref<4x2x256x64xf32>, memref<4x2x256xf32>)
               masks [#fa.causal<top_left>]
               mask (%b: index, %h: index, %i: index, %j: index) {
    %length_int = memref.load %length[%b] : memref<4xi32>
    %n = arith.index_cast %length_int : i32 to index
    %query = arith.cmpi slt, %i, %n : index
    %key = arith.cmpi slt, %j, %n : index
    %keep = arith.andi %query, %key : i1
    fa.yield %keep : i1
  }
  return
}
