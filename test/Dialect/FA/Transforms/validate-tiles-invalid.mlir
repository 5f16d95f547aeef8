// RUN: fa-opt %s --split-input-file --fa-validate-tiles --verify-diagnostics
// RUN: not fa-opt %s --split-input-file --fa-validate-tiles=spec=nowhere 2>&1 | FileCheck %s
// CHECK: error: expected a function @nowhere with an fa.attention, but found none

!t = memref<1x1x16x8xf32>
// The diagonal tile is missing.
// expected-error @below {{query tile 1, key tile 1 of batch 0, head 0 was removed, but query 4 sees key 4}}
func.func @removed(%q: !t, %o: !t) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.forall (%t) in (4) {
    %s0 = fa.init : !fa.state<4x8xf32>
    %end = arith.maxsi %t, %c1 : index
    %r = scf.for %j = %c0 to %end step %c1 iter_args(%s = %s0) -> (!fa.state<4x8xf32>) {
      %s1 = fa.step %s, %q[%c0, %c0, %t], %q, %q[%c0, %c0, %j] tile_kv(4) scale(1.0)
        mask (%b: index, %h: index, %i: index, %jj: index) {
          %keep = arith.cmpi sle, %jj, %i : index
          fa.yield %keep : i1
        } : !fa.state<4x8xf32>, !t, !t, !t
      scf.yield %s1 : !fa.state<4x8xf32>
    }
    fa.finish %r, %o[%c0, %c0, %t] : !fa.state<4x8xf32>, !t
  }
  return
}

// -----

!t = memref<1x1x16x8xf32>
// A tile on the diagonal runs without its mask.
// expected-error @below {{query tile 0, key tile 0 of batch 0, head 0 runs without a mask, but query 0 must not see key 1}}
func.func @unmasked(%q: !t, %o: !t) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.forall (%t) in (4) {
    %s0 = fa.init : !fa.state<4x8xf32>
    %r = scf.for %j = %c1 to %t step %c1 iter_args(%s = %s0) -> (!fa.state<4x8xf32>) {
      %s1 = fa.step %s, %q[%c0, %c0, %t], %q, %q[%c0, %c0, %j] tile_kv(4) scale(1.0)
        mask (%b: index, %h: index, %i: index, %jj: index) {
          %keep = arith.cmpi sle, %jj, %i : index
          fa.yield %keep : i1
        } : !fa.state<4x8xf32>, !t, !t, !t
      scf.yield %s1 : !fa.state<4x8xf32>
    }
    %d = fa.step %r, %q[%c0, %c0, %t], %q, %q[%c0, %c0, %c0] tile_kv(4) scale(1.0) full : !fa.state<4x8xf32>, !t, !t, !t
    fa.finish %d, %o[%c0, %c0, %t] : !fa.state<4x8xf32>, !t
  }
  return
}

// -----

!t = memref<1x1x14x8xf32>
// A full step on a tile that reaches past the keys.
// expected-error @below {{query tile 0, key tile 3 of batch 0, head 0 runs without a mask, but reaches past the 14 keys}}
func.func @past_the_keys(%q: !t, %o: !t) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  scf.forall (%t) in (4) {
    %s0 = fa.init : !fa.state<4x8xf32>
    %r = scf.for %j = %c0 to %c4 step %c1 iter_args(%s = %s0) -> (!fa.state<4x8xf32>) {
      %s1 = fa.step %s, %q[%c0, %c0, %t], %q, %q[%c0, %c0, %j] tile_kv(4) scale(1.0) full : !fa.state<4x8xf32>, !t, !t, !t
      scf.yield %s1 : !fa.state<4x8xf32>
    }
    fa.finish %r, %o[%c0, %c0, %t] : !fa.state<4x8xf32>, !t
  }
  return
}

// -----

!t = memref<1x1x16x8xf32>
func.func @twice(%q: !t, %o: !t) {
  %c0 = arith.constant 0 : index
  %s0 = fa.init : !fa.state<4x8xf32>
  %s1 = fa.step %s0, %q[%c0, %c0, %c0], %q, %q[%c0, %c0, %c0] tile_kv(4) scale(1.0) : !fa.state<4x8xf32>, !t, !t, !t
  // expected-error @below {{expected every tile to be visited once, but query tile 0 visits key tile 0 of batch 0, head 0 again}}
  %s2 = fa.step %s1, %q[%c0, %c0, %c0], %q, %q[%c0, %c0, %c0] tile_kv(4) scale(1.0) : !fa.state<4x8xf32>, !t, !t, !t
  fa.finish %s2, %o[%c0, %c0, %c0] : !fa.state<4x8xf32>, !t
  return
}
