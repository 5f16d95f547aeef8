// RUN: fa-opt %s --split-input-file --fa-tile-attention --fa-eliminate-masked-tiles --cse --verify-diagnostics | FileCheck %s -enable-var-scope

!t = memref<1x2x256x16xf32>

// The example of the pass documentation: causal, lengths that are multiples of the tiles.
// CHECK: #[[$END:.*]] = affine_map<()[s0] -> (s0 + 1)>
// CHECK-LABEL: func.func @causal
func.func @causal(%q: !t, %o: !t) {
  // CHECK: scf.forall (%{{.*}}, %{{.*}}, %[[T:.*]]) in
  // CHECK: %[[HI:.*]] = affine.apply #[[$END]]()[%[[T]]]
  // CHECK: scf.for %[[J:.*]] = %c0 to %[[HI]] step %c1
  // CHECK: fa.step {{.*}}%[[J]]] tile_kv(64)
  // CHECK: mask
  // expected-remark @below {{key tiles [0, i], full below i}}
  fa.attention ins(%q, %q, %q : !t, !t, !t) outs(%o : !t) schedule(#fa.schedule<tile_q = 64, tile_kv = 64>)
    mask (%b: index, %h: index, %i: index, %j: index) {
      %keep = arith.cmpi sle, %j, %i : index
      fa.yield %keep : i1
    }
  return
}

// -----

!t = memref<?x?x?x16xf32>

// Symbolic lengths: bounds in terms of Sq, Sk and the last query of the tile.
// CHECK: #[[$LAST:.*]] = affine_map<()[s0, s1] -> (s0 * 64 + 63, s1 - 1)>
// CHECK: #[[$END:.*]] = affine_map<()[s0, s1, s2] -> ((s0 - s1 + s2) floordiv 32 + 1)>
// CHECK-LABEL: func.func @causal_bottom_right
func.func @causal_bottom_right(%q: !t, %k: !t, %o: !t) {
  %c2 = arith.constant 2 : index
  %sq = memref.dim %q, %c2 : !t
  %sk = memref.dim %k, %c2 : !t
  // CHECK: %[[SQ:.*]] = memref.dim %arg0, %c2
  // CHECK: %[[SK:.*]] = memref.dim %arg1, %c2
  // CHECK: %[[Q:.*]] = affine.min #[[$LAST]]()[%{{.*}}, %[[SQ]]]
  // CHECK: %[[HI:.*]] = affine.apply #[[$END]]()[%[[Q]], %[[SQ]], %[[SK]]]
  // CHECK: scf.for %{{.*}} = %c0 to %[[HI]] step %c1
  // expected-remark @below {{key tiles [0, (qLast + Sk - Sq) floordiv 32], full below max(0, (64 * i + Sk - Sq + 1) floordiv 32), where qLast = min(64 * i + 63, Sq - 1)}}
  fa.attention ins(%q, %k, %k : !t, !t, !t) outs(%o : !t) schedule(#fa.schedule<tile_q = 64, tile_kv = 32>)
    mask (%b: index, %h: index, %i: index, %j: index) {
      %offset = arith.subi %sk, %sq : index
      %last = arith.addi %i, %offset : index
      %keep = arith.cmpi sle, %j, %last : index
      fa.yield %keep : i1
    }
  return
}

// -----

!t = memref<1x1x256x16xf32>

// A window: tiles before it are skipped too.
// CHECK: #[[$LO:.*]] = affine_map<()[s0] -> (0, s0 - 2)>
// CHECK-LABEL: func.func @window
// CHECK: %[[LO_:.*]] = affine.max #[[$LO]]()[%{{.*}}]
// CHECK: scf.for %{{.*}} = %[[LO_]] to
func.func @window(%q: !t, %o: !t) {
  // expected-remark @below {{key tiles [max(0, i - 2), i], full in [max(0, i - 1), i - 1]}}
  fa.attention ins(%q, %q, %q : !t, !t, !t) outs(%o : !t) schedule(#fa.schedule<tile_q = 32, tile_kv = 32>)
    mask (%b: index, %h: index, %i: index, %j: index) {
      %c63 = arith.constant 63 : index
      %first = arith.subi %i, %c63 : index
      %after = arith.cmpi sge, %j, %first : index
      %before = arith.cmpi sle, %j, %i : index
      %keep = arith.andi %after, %before : i1
      fa.yield %keep : i1
    }
  return
}

// -----

!t = memref<1x1x256x16xf32>

// A length per batch is loaded before the loop.
// CHECK-LABEL: func.func @padding
// CHECK: scf.forall (%[[B:.*]], %{{.*}}, %{{.*}}) in
// CHECK: %[[LEN:.*]] = memref.load %{{.*}}[%[[B]]] : memref<?xi32>
// CHECK: %[[S:.*]] = arith.index_cast %[[LEN]] : i32 to index
// CHECK: %[[HI:.*]] = affine.min #{{.*}}()[%[[S]]
// CHECK: scf.for %{{.*}} = %c0 to %[[HI]]
func.func @padding(%q: !t, %o: !t, %lengths: memref<?xi32>) {
  // expected-remark @below {{key tiles [0, min(7, (s0 - 1) floordiv 32)], full below min(8, max(0, s0 floordiv 32)); s0 from memref.load}}
  fa.attention ins(%q, %q, %q : !t, !t, !t) outs(%o : !t) schedule(#fa.schedule<tile_q = 32, tile_kv = 32>)
    mask (%b: index, %h: index, %i: index, %j: index) {
      %length = memref.load %lengths[%b] : memref<?xi32>
      %n = arith.index_cast %length : i32 to index
      %keep = arith.cmpi slt, %j, %n : index
      fa.yield %keep : i1
    }
  return
}

// -----

!t = memref<1x1x256x16xf32>

// An offset of index type that the mask calculates with: beyond 2^40 the sum might wrap, and every tile is visited.
// CHECK-LABEL: func.func @checked_offset
// CHECK: %[[OFF:.*]] = memref.load
// CHECK: %[[CLAMPED:.*]] = arith.minsi
// CHECK: %[[OK:.*]] = arith.cmpi eq, %[[OFF]], %[[CLAMPED]]
// CHECK: %[[HI:.*]] = arith.select %[[OK]], %{{.*}}, %c8
// CHECK: scf.for %{{.*}} to %[[HI]]
func.func @checked_offset(%q: !t, %o: !t, %offsets: memref<?xindex>) {
  // expected-remark @below {{key tiles [0, min(7, (32 * i + s0 + 31) floordiv 32)]}}
  fa.attention ins(%q, %q, %q : !t, !t, !t) outs(%o : !t) schedule(#fa.schedule<tile_q = 32, tile_kv = 32>)
    mask (%b: index, %h: index, %i: index, %j: index) {
      %offset = memref.load %offsets[%b] : memref<?xindex>
      %last = arith.addi %i, %offset : index
      %keep = arith.cmpi sle, %j, %last : index
      fa.yield %keep : i1
    }
  return
}

// -----

!t = memref<1x1x256x16xf32>

// A union becomes consecutive loops; the second starts after the first.
// CHECK-LABEL: func.func @sink_or_window
// CHECK: %[[A:.*]] = scf.for {{.*}} iter_args(%{{.*}} = %{{.*}})
// CHECK: %[[B:.*]] = scf.for {{.*}} iter_args(%{{.*}} = %[[A]])
// CHECK: fa.finish %[[B]]
func.func @sink_or_window(%q: !t, %o: !t) {
  // expected-remark @below {{key tiles [0, 0], none full; then [max(0, i - 1), i], none full}}
  fa.attention ins(%q, %q, %q : !t, !t, !t) outs(%o : !t) schedule(#fa.schedule<tile_q = 32, tile_kv = 32>)
    mask (%b: index, %h: index, %i: index, %j: index) {
      %c4 = arith.constant 4 : index
      %c15 = arith.constant 15 : index
      %sink = arith.cmpi slt, %j, %c4 : index
      %first = arith.subi %i, %c15 : index
      %near = arith.cmpi sge, %j, %first : index
      %either = arith.ori %sink, %near : i1
      %causal = arith.cmpi sle, %j, %i : index
      %keep = arith.andi %either, %causal : i1
      fa.yield %keep : i1
    }
  return
}

// -----

!t = memref<1x1x256x16xf32>

// No tile is left: the state passes from fa.init to fa.finish.
// CHECK-LABEL: func.func @nothing_visible
// CHECK: %[[S:.*]] = fa.init
// CHECK-NOT: fa.step
// CHECK: fa.finish %[[S]]
func.func @nothing_visible(%q: !t, %o: !t) {
  // expected-remark @below {{key tiles none}}
  fa.attention ins(%q, %q, %q : !t, !t, !t) outs(%o : !t) schedule(#fa.schedule<tile_q = 32, tile_kv = 32>)
    mask (%b: index, %h: index, %i: index, %j: index) {
      %after = arith.cmpi sgt, %j, %i : index
      %before = arith.cmpi slt, %j, %i : index
      %keep = arith.andi %after, %before : i1
      fa.yield %keep : i1
    }
  return
}

// -----

!t = memref<1x1x256x16xf32>

// Dilation: no union of ranges, so each tile is tested.
// CHECK-LABEL: func.func @dilated
// CHECK: scf.for %[[J:.*]] = %c0 to %c64 step %c1 iter_args(%[[S:.*]] =
// CHECK:   %[[R:.*]] = scf.if %{{.*}} -> (!fa.state<4x16xf32>)
// CHECK:     %[[NEW:.*]] = fa.step %[[S]]
// CHECK:     scf.yield %[[NEW]]
// CHECK:   } else {
// CHECK:     scf.yield %[[S]]
// CHECK:   scf.yield %[[R]]
func.func @dilated(%q: !t, %o: !t) {
  // expected-remark @below {{key tiles [0, 63], none full}}
  // expected-remark @below {{conservative: the visible keys of a query tile are no interval}}
  fa.attention ins(%q, %q, %q : !t, !t, !t) outs(%o : !t) schedule(#fa.schedule<tile_q = 4, tile_kv = 4>)
    mask (%b: index, %h: index, %i: index, %j: index) {
      %c0 = arith.constant 0 : index
      %c13 = arith.constant 13 : index
      %distance = arith.subi %i, %j : index
      %rest = arith.remsi %distance, %c13 : index
      %keep = arith.cmpi eq, %rest, %c0 : index
      fa.yield %keep : i1
    }
  return
}

// -----

!t = memref<1x1x256x16xf32>

// Data that depends on the positions: the bound of the known part stays.
// CHECK: #[[$END:.*]] = affine_map<()[s0] -> (s0 + 1)>
// CHECK-LABEL: func.func @documents
// CHECK: affine.apply #[[$END]]
func.func @documents(%q: !t, %o: !t, %doc: memref<256xi32>) {
  // expected-remark @below {{key tiles [0, i], none full}}
  // expected-remark @below {{conservative: a part of the mask is not affine in the positions}}
  fa.attention ins(%q, %q, %q : !t, !t, !t) outs(%o : !t) schedule(#fa.schedule<tile_q = 32, tile_kv = 32>)
    mask (%b: index, %h: index, %i: index, %j: index) {
      %x = memref.load %doc[%i] : memref<256xi32>
      %y = memref.load %doc[%j] : memref<256xi32>
      // expected-note @below {{not read: a side of this comparison is not affine in the query and key position}}
      %same = arith.cmpi eq, %x, %y : i32
      %causal = arith.cmpi sle, %j, %i : index
      %keep = arith.andi %same, %causal : i1
      fa.yield %keep : i1
    }
  return
}

// -----

!t = memref<1x1x256x16xf32>

// Key tiles outside: the loop over query tiles is bounded instead.
// CHECK-LABEL: func.func @key_outer
// CHECK: scf.for %[[J:.*]] = %c0 to %c8
// CHECK: scf.for %[[T:.*]] = %[[J]] to %c8
// CHECK: fa.load_state
func.func @key_outer(%q: !t, %o: !t) {
  // expected-remark @below {{query tiles [j, 7], full from j + 1}}
  fa.attention ins(%q, %q, %q : !t, !t, !t) outs(%o : !t)
      schedule(#fa.schedule<tile_q = 32, tile_kv = 32, order = key_outer>)
    mask (%b: index, %h: index, %i: index, %j: index) {
      %keep = arith.cmpi sle, %j, %i : index
      fa.yield %keep : i1
    }
  return
}

// -----

!t = memref<1x1x256x16xf32>

// Nothing to do: no mask.
// CHECK-LABEL: func.func @no_mask
// CHECK: scf.for %{{.*}} = %c0 to %c8 step %c1
// CHECK-NOT: fa.run
func.func @no_mask(%q: !t, %o: !t) {
  fa.attention ins(%q, %q, %q : !t, !t, !t) outs(%o : !t) schedule(#fa.schedule<tile_q = 32, tile_kv = 32>)
  return
}

// -----

// A loop that walks a part of the tiles keeps to it; one with another step is left alone.
// CHECK-LABEL: func.func @parts
// CHECK-SAME: %[[BEGIN:[a-z0-9]*]]: index, %[[END:[a-z0-9]*]]: index
func.func @parts(%q: memref<1x1x256x16xf32>, %begin: index, %end: index, %t: index) -> (!fa.state<32x16xf32>, !fa.state<32x16xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %s0 = fa.init : !fa.state<32x16xf32>
  // CHECK: %[[LO:.*]] = arith.maxsi %{{.*}}, %[[BEGIN]]
  // CHECK: %[[HI:.*]] = arith.minsi %{{.*}}, %[[END]]
  // CHECK: scf.for %{{.*}} = %[[LO]] to %[[HI]] step %c1
  %r = scf.for %j = %begin to %end step %c1 iter_args(%s = %s0) -> (!fa.state<32x16xf32>) {
    // expected-remark @below {{key tiles [0, i], full below i}}
    %s1 = fa.step %s, %q[%c0, %c0, %t], %q, %q[%c0, %c0, %j] tile_kv(32) scale(0.25)
      mask (%b: index, %h: index, %i: index, %jj: index) {
        %keep = arith.cmpi sle, %jj, %i : index
        fa.yield %keep : i1
      } : !fa.state<32x16xf32>, memref<1x1x256x16xf32>, memref<1x1x256x16xf32>, memref<1x1x256x16xf32>
    scf.yield %s1 : !fa.state<32x16xf32>
  }
  // CHECK: scf.for %{{.*}} = %[[BEGIN]] to %[[END]] step %c2
  %r2 = scf.for %j = %begin to %end step %c2 iter_args(%s = %s0) -> (!fa.state<32x16xf32>) {
    %s1 = fa.step %s, %q[%c0, %c0, %t], %q, %q[%c0, %c0, %j] tile_kv(32) scale(0.25)
      mask (%b: index, %h: index, %i: index, %jj: index) {
        %keep = arith.cmpi sle, %jj, %i : index
        fa.yield %keep : i1
      } : !fa.state<32x16xf32>, memref<1x1x256x16xf32>, memref<1x1x256x16xf32>, memref<1x1x256x16xf32>
    scf.yield %s1 : !fa.state<32x16xf32>
  }
  return %r, %r2 : !fa.state<32x16xf32>, !fa.state<32x16xf32>
}
