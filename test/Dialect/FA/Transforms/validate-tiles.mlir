// RUN: fa-opt %s --split-input-file --fa-validate-tiles 2>&1 >/dev/null | FileCheck %s
// RUN: fa-opt %s --split-input-file --fa-expand-masks --fa-tile-attention --fa-eliminate-masked-tiles --fa-peel-masked-tiles --fa-validate-tiles="sq=37 sk=61 heads=2" 2>&1 >/dev/null | FileCheck %s --check-prefix=DERIVED

// Elimination and peeling of a whole attention, lengths open.
// DERIVED: remark: 120 of 160 tiles visited, 20 of them masked, 25.0 % of the work saved, 0 of the visited tiles hold no visible pair
func.func @causal(%q: memref<1x?x?x16xf32>, %k: memref<1x?x?x16xf32>, %o: memref<1x?x?x16xf32>) {
  fa.attention ins(%q, %k, %k : memref<1x?x?x16xf32>, memref<1x?x?x16xf32>, memref<1x?x?x16xf32>) outs(%o : memref<1x?x?x16xf32>)
    masks [#fa.causal<bottom_right>] schedule(#fa.schedule<tile_q = 4, tile_kv = 8>)
  return
}

// -----

// By hand: all tiles of the causal triangle, the diagonal ones masked.
// CHECK: remark: 10 of 16 tiles visited, 4 of them masked, 37.5 % of the work saved, 0 of the visited tiles hold no visible pair
!t = memref<1x1x16x8xf32>
func.func @by_hand(%q: !t, %o: !t) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.forall (%t) in (4) {
    %s0 = fa.init : !fa.state<4x8xf32>
    %r = scf.for %j = %c0 to %t step %c1 iter_args(%s = %s0) -> (!fa.state<4x8xf32>) {
      %s1 = fa.step %s, %q[%c0, %c0, %t], %q, %q[%c0, %c0, %j] tile_kv(4) scale(1.0) full : !fa.state<4x8xf32>, !t, !t, !t
      scf.yield %s1 : !fa.state<4x8xf32>
    }
    %d = fa.step %r, %q[%c0, %c0, %t], %q, %q[%c0, %c0, %t] tile_kv(4) scale(1.0)
      mask (%b: index, %h: index, %i: index, %jj: index) {
        %keep = arith.cmpi sle, %jj, %i : index
        fa.yield %keep : i1
      } : !fa.state<4x8xf32>, !t, !t, !t
    fa.finish %d, %o[%c0, %c0, %t] : !fa.state<4x8xf32>, !t
  }
  return
}

// -----

// Nothing to do: no tile loops, no remark.
func.func @other() {
  return
}
