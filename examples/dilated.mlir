// Dilated causal attention: every 160th key, counted back from the query. The visible key tiles of a query tile are no range, so
// a test in the loop skips the others.
//   fa-run examples/dilated.mlir --schedule=tile_q=16,tile_kv=16 --remarks --tile-map
func.func @attention(%q: memref<1x2x640x32xf32>, %k: memref<1x2x640x32xf32>, %v: memref<1x2x640x32xf32>,
                     %o: memref<1x2x640x32xf32>, %lse: memref<1x2x640xf32>) {
  fa.attention ins(%q, %k, %v : memref<1x2x640x32xf32>, memref<1x2x640x32xf32>, memref<1x2x640x32xf32>)
               outs(%o, %lse : memref<1x2x640x32xf32>, memref<1x2x640xf32>)
               masks [#fa.causal<top_left>]
               mask (%b: index, %h: index, %i: index, %j: index) {
    %zero = arith.constant 0 : index
    %step = arith.constant 160 : index
    %distance = arith.subi %i, %j : index
    %rest = arith.remsi %distance, %step : index
    %keep = arith.cmpi eq, %rest, %zero : index
    fa.yield %keep : i1
  }
  return
}
