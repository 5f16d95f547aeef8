// RUN: not fa-opt %s --fa-peel-masked-tiles=order=sideways 2>&1 | FileCheck %s
// CHECK: error: expected order to be descending or ascending, but got sideways

// RUN: fa-opt %s --fa-tile-attention --fa-eliminate-masked-tiles --fa-peel-masked-tiles 2>&1 >/dev/null | FileCheck %s --check-prefix=DECLINED
// DECLINED: remark: not peeled: the last key tile reaches past the keys, and key tiles are the outer loop

!t = memref<1x1x250x16xf32>
func.func @key_outer(%q: !t, %o: !t) {
  fa.attention ins(%q, %q, %q : !t, !t, !t) outs(%o : !t)
      schedule(#fa.schedule<tile_q = 64, tile_kv = 64, order = key_outer>)
  return
}
