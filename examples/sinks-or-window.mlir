// A sliding window that also keeps the first 4 keys (attention sinks in the sense of StreamingLLM): a union of two ranges, which
// become two consecutive loops, the second starting where the first one ended.
//   fa-run examples/sinks-or-window.mlir --remarks --tile-map
func.func @attention(%q: memref<1x4x1024x64xf32>, %k: memref<1x4x1024x64xf32>, %v: memref<1x4x1024x64xf32>,
                     %o: memref<1x4x1024x64xf32>, %lse: memref<1x4x1024xf32>) {
  fa.attention ins(%q, %k, %v : memref<1x4x1024x64xf32>, memref<1x4x1024x64xf32>, memref<1x4x1024x64xf32>)
               outs(%o, %lse : memref<1x4x1024x64xf32>, memref<1x4x1024xf32>)
               masks [#fa.causal<top_left>]
               mask (%b: index, %h: index, %i: index, %j: index) {
    %sinks = arith.constant 4 : index
    %left = arith.constant 255 : index
    %is_sink = arith.cmpi slt, %j, %sinks : index
    %first = arith.subi %i, %left : index
    %near = arith.cmpi sge, %j, %first : index
    %keep = arith.ori %is_sink, %near : i1
    fa.yield %keep : i1
  }
  return
}
