// RUN: fa-opt %s --split-input-file --fa-tile-attention --fa-eliminate-masked-tiles --fa-peel-masked-tiles --canonicalize --cse 2>/dev/null | FileCheck %s -enable-var-scope
// RUN: fa-opt %s --split-input-file --fa-tile-attention --fa-eliminate-masked-tiles --fa-peel-masked-tiles=order=ascending --canonicalize --cse 2>/dev/null | FileCheck %s -enable-var-scope --check-prefix=UP

!t = memref<2x2x256x16xf32>

// Causal: first the diagonal tile with the mask, then the full tiles below it, downwards, without.
// CHECK-LABEL: func.func @causal
// CHECK: scf.forall (%{{.*}}, %{{.*}}, %[[T:.*]]) in
// CHECK: %[[P:.*]] = scf.for %[[IV:.*]] = %c0 to %{{.*}} step %c1
// CHECK:   %[[J:.*]] = arith.subi %{{.*}}, %[[IV]]
// CHECK:   fa.step {{.*}}%[[J]]] tile_kv(64) {{.*}} mask
// CHECK: %[[LAST:.*]] = arith.subi %[[T]], %c1
// CHECK: %[[F:.*]] = scf.for %[[IV2:.*]] = %c0 to %[[T]] step %c1 iter_args(%{{.*}} = %[[P]])
// CHECK:   %[[J2:.*]] = arith.subi %[[LAST]], %[[IV2]]
// CHECK:   fa.step {{.*}}%[[J2]]] tile_kv(64) scale({{[^)]*}}) full : !fa.state
// CHECK: fa.finish %[[F]]
//
// UP-LABEL: func.func @causal
// UP: scf.forall (%{{.*}}, %{{.*}}, %[[T:.*]]) in
// UP: %[[F:.*]] = scf.for %[[J:.*]] = %c0 to %[[T]] step %c1
// UP:   fa.step {{.*}}%[[J]]] tile_kv(64) scale({{[^)]*}}) full : !fa.state
// UP: scf.for %[[J2:.*]] = %[[T]] to %{{.*}} step %c1 iter_args(%{{.*}} = %[[F]])
// UP:   fa.step {{.*}}%[[J2]]] tile_kv(64) {{.*}} mask
func.func @causal(%q: !t, %o: !t) {
  fa.attention ins(%q, %q, %q : !t, !t, !t) outs(%o : !t) schedule(#fa.schedule<tile_q = 64, tile_kv = 64>)
    mask (%b: index, %h: index, %i: index, %j: index) {
      %keep = arith.cmpi sle, %j, %i : index
      fa.yield %keep : i1
    }
  return
}

// -----

!t = memref<2x2x250x16xf32>

// No mask, but a last tile that reaches past the keys: only that one checks.
// CHECK-LABEL: func.func @tail
// CHECK: scf.forall
// CHECK: fa.step {{.*}} tile_kv(64) scale({{[^)]*}}) : !fa.state
// CHECK: scf.for {{.*}} = %c0 to %c3 step %c1
// CHECK:   fa.step {{.*}} full : !fa.state
func.func @tail(%q: !t, %o: !t) {
  fa.attention ins(%q, %q, %q : !t, !t, !t) outs(%o : !t) schedule(#fa.schedule<tile_q = 64, tile_kv = 64>)
  return
}

// -----

!t = memref<2x2x256x16xf32>

// Whole tiles and no mask: one loop, all full.
// CHECK-LABEL: func.func @all_full
// CHECK: scf.for {{.*}} = %c0 to %c4 step %c1
// CHECK:   fa.step {{.*}} full : !fa.state
// CHECK-NOT: scf.for
// CHECK: fa.finish
func.func @all_full(%q: !t, %o: !t) {
  fa.attention ins(%q, %q, %q : !t, !t, !t) outs(%o : !t) schedule(#fa.schedule<tile_q = 64, tile_kv = 64>)
  return
}

// -----

!t = memref<2x2x256x16xf32>

// Key tiles outside: query tiles from the last one down.
// CHECK-LABEL: func.func @key_outer
// CHECK: scf.for %[[J:.*]] = %c0 to %c4
// CHECK:   %[[COUNT:.*]] = arith.subi %c4, %{{.*}}
// CHECK:   scf.for %[[IV:.*]] = %c0 to %[[COUNT]]
// CHECK:     %[[T:.*]] = arith.subi %c3, %[[IV]]
// CHECK:     fa.load_state {{.*}}%[[T]]]
// CHECK:     fa.step {{.*}}%[[T]]], {{.*}} full : !fa.state
// CHECK:   scf.for
// CHECK:     fa.step {{.*}} mask
func.func @key_outer(%q: !t, %o: !t) {
  fa.attention ins(%q, %q, %q : !t, !t, !t) outs(%o : !t)
      schedule(#fa.schedule<tile_q = 64, tile_kv = 64, order = key_outer>)
    mask (%b: index, %h: index, %i: index, %j: index) {
      %keep = arith.cmpi sle, %j, %i : index
      fa.yield %keep : i1
    }
  return
}

// -----

!t = memref<2x2x256x16xf32>

// Nothing to do: dilation has no full tile, and its loop tests each tile.
// CHECK-LABEL: func.func @dilated
// CHECK: scf.for
// CHECK:   scf.if
// CHECK:     fa.step {{.*}} mask
// CHECK-NOT: full
func.func @dilated(%q: !t, %o: !t) {
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
