// Regions on fragments: positions as vectors, captured loads as gathers, indices clamped to what exists.
// RUN: fa-opt %s --fa-kernels-pipeline="target=sm_90a" --fa-hopper-kernels-pipeline 2>/dev/null | FileCheck %s -enable-var-scope

!t = memref<1x2x?x64xf16>
// CHECK: %[[BIAS:[^:]*]]: memref<2x?x?xf32> {fa.source = "memref 4"}
// CHECK: %[[COLUMNS:.*]] = hopper.fragment_columns from(%{{.*}}) : vector<64xindex>
// CHECK: arith.minsi
// CHECK: hopper.gather %[[BIAS]][%{{.*}}, %{{.*}}, %{{.*}}] : memref<2x?x?xf32>, index, vector<64xindex>, vector<64xindex> -> vector<64xf32>
// CHECK: math.tanh %{{.*}} : vector<64xf32>
func.func @bias(%q: !t, %k: !t, %v: !t, %o: !t, %bias: memref<2x?x?xf32>) {
  fa.attention ins(%q, %k, %v : !t, !t, !t) outs(%o : !t) scale(0.125)
    score (%s: f32, %b: index, %h: index, %i: index, %j: index) {
      %x = memref.load %bias[%h, %i, %j] : memref<2x?x?xf32>
      %y = arith.addf %s, %x : f32
      %z = math.tanh %y : f32
      fa.yield %z : f32
    }
  return
}
