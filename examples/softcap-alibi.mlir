// A score function of your own: scores are capped (30 tanh(s / 30)), then each head subtracts its slope times the distance.
// `fa.fill` says what a captured tensor holds unless --fill or --input does.
//   fa-run examples/softcap-alibi.mlir
func.func @attention(%q: memref<2x4x200x64xf32>, %k: memref<2x4x200x64xf32>, %v: memref<2x4x200x64xf32>,
                     %slopes: memref<4xf32> {fa.name = "slopes", fa.fill = "alibi"}, %o: memref<2x4x200x64xf32>) {
  fa.attention ins(%q, %k, %v : memref<2x4x200x64xf32>, memref<2x4x200x64xf32>, memref<2x4x200x64xf32>)
               outs(%o : memref<2x4x200x64xf32>)
               masks [#fa.causal<bottom_right>]
               score (%s: f32, %b: index, %h: index, %i: index, %j: index) {
    %cap = arith.constant 30.0 : f32
    %ratio = arith.divf %s, %cap : f32
    %tanh = math.tanh %ratio : f32
    %capped = arith.mulf %tanh, %cap : f32
    %ahead = arith.subi %i, %j : index
    %ahead_int = arith.index_cast %ahead : index to i32
    %distance_int = math.absi %ahead_int : i32
    %distance = arith.sitofp %distance_int : i32 to f32
    %slope = memref.load %slopes[%h] : memref<4xf32>
    %penalty = arith.mulf %slope, %distance : f32
    %biased = arith.subf %capped, %penalty : f32
    fa.yield %biased : f32
  }
  return
}
