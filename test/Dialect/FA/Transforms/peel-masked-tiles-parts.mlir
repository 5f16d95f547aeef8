// RUN: fa-opt %s --fa-peel-masked-tiles --canonicalize --cse 2>/dev/null | FileCheck %s -enable-var-scope

!t = memref<1x1x?x16xf32>

// A loop that elimination did not bound is cut all the same, clamped at both ends.
// CHECK-LABEL: func.func @uneliminated
// CHECK-SAME: %[[BEGIN:[a-z0-9]*]]: index, %[[END:[a-z0-9]*]]: index
// CHECK: %[[RAISED:.*]] = arith.maxsi %{{.*}}, %[[BEGIN]]
// CHECK: arith.minsi %[[RAISED]], %[[END]]
// CHECK: scf.for
// CHECK:   fa.step {{.*}} mask
// CHECK: scf.for
// CHECK:   fa.step {{.*}} full
func.func @uneliminated(%q: !t, %begin: index, %end: index, %t: index) -> !fa.state<32x16xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %s0 = fa.init : !fa.state<32x16xf32>
  %r = scf.for %j = %begin to %end step %c1 iter_args(%s = %s0) -> (!fa.state<32x16xf32>) {
    %s1 = fa.step %s, %q[%c0, %c0, %t], %q, %q[%c0, %c0, %j] tile_kv(32) scale(0.25)
      mask (%b: index, %h: index, %i: index, %jj: index) {
        %keep = arith.cmpi sle, %jj, %i : index
        fa.yield %keep : i1
      } : !fa.state<32x16xf32>, !t, !t, !t
    scf.yield %s1 : !fa.state<32x16xf32>
  }
  return %r : !fa.state<32x16xf32>
}
