// Prefix-LM: every query sees the prefix of its sequence, whose length is data, and all keys up to itself. The union of both
// bounds the loop: key tiles [0, max(diagonal, prefix)], full below max(i, prefix / tile).
//   fa-run examples/prefix-lm.mlir --remarks --tile-map
func.func @attention(%q: memref<2x4x384x64xf32>, %k: memref<2x4x384x64xf32>, %v: memref<2x4x384x64xf32>,
                     %prefix: memref<2xi32> {fa.name = "prefix", fa.fill = "integers:20,300"},
                     %o: memref<2x4x384x64xf32>, %lse: memref<2x4x384xf32>) {
  fa.attention ins(%q, %k, %v : memref<2x4x384x64xf32>, memref<2x4x384x64xf32>, memref<2x4x384x64xf32>)
               outs(%o, %lse : memref<2x4x384x64xf32>, memref<2x4x384xf32>)
               mask (%b: index, %h: index, %i: index, %j: index) {
    %length_int = memref.load %prefix[%b] : memref<2xi32>
    %length = arith.index_cast %length_int : i32 to index
    %in_prefix = arith.cmpi slt, %j, %length : index
    %causal = arith.cmpi sle, %j, %i : index
    %keep = arith.ori %in_prefix, %causal : i1
    fa.yield %keep : i1
  }
  return
}
