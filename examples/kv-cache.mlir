// Decoding against a key/value cache whose sequences have different lengths: batch b holds len[b] keys in a buffer of 512,
// the newest of which belong to the queries. Tiles past len[b] are never visited.
//   fa-run examples/kv-cache.mlir
//   fa-run examples/kv-cache.mlir --fill=len=integers:100,512 --seed=7
func.func @attention(%q: memref<4x8x16x64xf32>, %k: memref<4x2x512x64xf32>, %v: memref<4x2x512x64xf32>,
                     %len: memref<4xi32> {fa.name = "len", fa.fill = "integers:16,512"}, %o: memref<4x8x16x64xf32>,
                     %lse: memref<4x8x16xf32>) {
  fa.attention ins(%q, %k, %v : memref<4x8x16x64xf32>, memref<4x2x512x64xf32>, memref<4x2x512x64xf32>)
               outs(%o, %lse : memref<4x8x16x64xf32>, memref<4x8x16xf32>)
               mask (%b: index, %h: index, %i: index, %j: index) {
    %queries = arith.constant 16 : index
    %length_int = memref.load %len[%b] : memref<4xi32>
    %length = arith.index_cast %length_int : i32 to index
    %past = arith.subi %length, %queries : index
    %position = arith.addi %i, %past : index
    %keep = arith.cmpi sle, %j, %position : index
    fa.yield %keep : i1
  }
  return
}
