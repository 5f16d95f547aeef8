// RUN: fa-opt %s -split-input-file --convert-fa-to-loops --canonicalize --cse | FileCheck %s -enable-var-scope

// The example of the pass: scratch at the beginning of a state, freed at its end, no state left in the loop.

// CHECK-LABEL: func.func @query_outer(
// CHECK-SAME:    %[[TILE:[a-z0-9]+]]: index, %[[Q:[a-z0-9]+]]: memref<1x1x?x8xf32>, %[[K:[a-z0-9]+]]: memref<1x1x?x8xf32>, %[[V:[a-z0-9]+]]: memref<1x1x?x6xf32>
// CHECK-DAG:     %[[NONE:.*]] = arith.constant 0xFF800000 : f32
// CHECK-DAG:     %[[LOG2E:.*]] = arith.constant 1.44269502 : f32
// CHECK-DAG:     %[[SCALE:.*]] = arith.constant 2.500000e-01 : f32
// CHECK:         %[[ACC:.*]] = memref.alloc() : memref<4x6xf32>
// CHECK:         %[[M:.*]] = memref.alloc() : memref<4xf32>
// CHECK:         %[[L:.*]] = memref.alloc() : memref<4xf32>
// CHECK:         scf.for %[[J:.*]] = %{{.*}} to %{{.*}} step %{{.*}} {
// The key loop is bounded by the keys that exist, the row loop by the rows that exist.
// CHECK:           %[[SK:.*]] = memref.dim %[[K]]
// CHECK:           arith.minsi
// CHECK:           %[[SQ:.*]] = memref.dim %[[Q]]
// CHECK:           arith.minsi
// A hidden pair has the logit -inf; its product is not computed.
// CHECK:           scf.if %{{.*}} -> (f32) {
// CHECK:             arith.mulf %{{.*}} fastmath<contract>
// CHECK:             arith.addf %{{.*}} fastmath<reassoc,contract>
// CHECK:             arith.mulf %{{.*}}, %[[SCALE]]
// CHECK:           } else {
// CHECK-NEXT:        scf.yield %[[NONE]]
// CHECK:           arith.maximumf
// Subtract first, then multiply: exactly 1 at the reference.
// CHECK:           %[[VISIBLE:.*]] = arith.cmpf une, %[[X:.*]], %[[NONE]]
// CHECK-NEXT:      scf.if %[[VISIBLE]] -> (f32) {
// CHECK-NEXT:        %[[DIFF:.*]] = arith.subf %[[X]], %{{.*}} : f32
// CHECK-NEXT:        %[[EXPONENT:.*]] = arith.mulf %[[DIFF]], %[[LOG2E]] : f32
// CHECK-NEXT:        math.exp2 %[[EXPONENT]] : f32
// CHECK:             memref.load %[[V]]
// CHECK:         arith.divf
// CHECK:         math.log
// CHECK:         memref.dealloc %[[ACC]]
// CHECK:         memref.dealloc %[[M]]
// CHECK:         memref.dealloc %[[L]]
// CHECK-NOT:     fa.state
func.func @query_outer(%tile: index, %q: memref<1x1x?x8xf32>, %k: memref<1x1x?x8xf32>, %v: memref<1x1x?x6xf32>,
                       %o: memref<1x1x?x6xf32>, %lse: memref<1x1x?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %s0 = fa.init : !fa.state<4x6xf32>
  %r = scf.for %j = %c0 to %n step %c1 iter_args(%s = %s0) -> (!fa.state<4x6xf32>) {
    %s1 = fa.step %s, %q[%c0, %c0, %tile], %k, %v[%c0, %c0, %j] tile_kv(16) scale(0.25)
      mask (%b: index, %h: index, %i0: index, %j0: index) {
        %keep = arith.cmpi sle, %j0, %i0 : index
        fa.yield %keep : i1
      } : !fa.state<4x6xf32>, memref<1x1x?x8xf32>, memref<1x1x?x8xf32>, memref<1x1x?x6xf32>
    scf.yield %s1 : !fa.state<4x6xf32>
  }
  fa.finish %r, %o, %lse[%c0, %c0, %tile] : !fa.state<4x6xf32>, memref<1x1x?x6xf32>, memref<1x1x?xf32>
  return
}

// -----

// A full step checks no key: the loop over keys has a constant bound, and nothing is hidden before the softmax.

// CHECK-LABEL: func.func @full_step(
// CHECK-DAG:     %[[C0:.*]] = arith.constant 0 : index
// CHECK-DAG:     %[[C1:.*]] = arith.constant 1 : index
// CHECK-DAG:     %[[C16:.*]] = arith.constant 16 : index
// CHECK:         scf.for %{{.*}} = %[[C0]] to %[[C16]] step %[[C1]] iter_args
// CHECK-NOT:       scf.if
// CHECK:           arith.maximumf
func.func @full_step(%q: memref<1x1x32x8xf32>, %k: memref<1x1x32x8xf32>, %v: memref<1x1x32x8xf32>,
                     %o: memref<1x1x32x8xf32>) {
  %c0 = arith.constant 0 : index
  %s0 = fa.init : !fa.state<4x8xf32>
  %s1 = fa.step %s0, %q[%c0, %c0, %c0], %k, %v[%c0, %c0, %c0] tile_kv(16) scale(0.25) full
    : !fa.state<4x8xf32>, memref<1x1x32x8xf32>, memref<1x1x32x8xf32>, memref<1x1x32x8xf32>
  fa.finish %s1, %o[%c0, %c0, %c0] : !fa.state<4x8xf32>, memref<1x1x32x8xf32>
  return
}

// -----

// bf16: products and sums in f32, P rounded to bf16 before it is summed and multiplied, the output rounded once.

// CHECK-LABEL: func.func @bf16(
// CHECK:         arith.extf %{{.*}} : bf16 to f32
// CHECK:         %[[P:.*]] = math.exp2 %{{.*}} : f32
// CHECK:         %[[P:.*]] = math.exp2 %{{.*}} : f32
// CHECK-NEXT:    %[[ROUNDED:.*]] = arith.truncf %[[P]] : f32 to bf16
// CHECK-NEXT:    %[[WIDE:.*]] = arith.extf %[[ROUNDED]] : bf16 to f32
// CHECK:         arith.mulf %[[WIDE]], %{{.*}} fastmath<contract>
// CHECK:         arith.addf %{{.*}}, %[[WIDE]] : f32
// CHECK:         arith.truncf %{{.*}} : f32 to bf16
func.func @bf16(%q: memref<1x1x?x8xbf16>, %o: memref<1x1x?x8xbf16>) {
  %c0 = arith.constant 0 : index
  %s0 = fa.init : !fa.state<4x8xf32>
  %s1 = fa.step %s0, %q[%c0, %c0, %c0], %q, %q[%c0, %c0, %c0] tile_kv(4)
    : !fa.state<4x8xf32>, memref<1x1x?x8xbf16>, memref<1x1x?x8xbf16>, memref<1x1x?x8xbf16>
  fa.finish %s1, %o[%c0, %c0, %c0] : !fa.state<4x8xf32>, memref<1x1x?x8xbf16>
  return
}

// -----

// A static scale of 0 needs no product: the logit is 0 whatever the inputs hold. A scale of 1 is not multiplied.

// CHECK-LABEL: func.func @scale_zero(
// CHECK-SAME:    %{{.*}}: memref<1x1x4x8xf64>, %[[K:[a-z0-9]+]]: memref<1x1x4x8xf64>
// CHECK-NOT:     memref.load %[[K]]
// CHECK:         return
func.func @scale_zero(%q: memref<1x1x4x8xf64>, %k: memref<1x1x4x8xf64>, %v: memref<1x1x4x8xf64>,
                      %o: memref<1x1x4x8xf64>) {
  %c0 = arith.constant 0 : index
  %s0 = fa.init : !fa.state<4x8xf64>
  %s1 = fa.step %s0, %q[%c0, %c0, %c0], %k, %v[%c0, %c0, %c0] tile_kv(4) scale(0.0)
    : !fa.state<4x8xf64>, memref<1x1x4x8xf64>, memref<1x1x4x8xf64>, memref<1x1x4x8xf64>
  fa.finish %s1, %o[%c0, %c0, %c0] : !fa.state<4x8xf64>, memref<1x1x4x8xf64>
  return
}

// -----

// FlashAttention-1: states come from memory and go back to it.

// CHECK-LABEL: func.func @key_outer(
// CHECK-SAME:    %[[ACC:[a-z0-9]+]]: memref<1x1x?x8xf32>, %[[M:[a-z0-9]+]]: memref<1x1x?xf32>, %[[L:[a-z0-9]+]]: memref<1x1x?xf32>
// CHECK:         memref.load %[[M]]
// CHECK:         memref.load %[[L]]
// CHECK:         memref.load %[[ACC]]
// CHECK:         math.exp2
// CHECK:         memref.store %{{.*}}, %[[M]]
// CHECK:         memref.store %{{.*}}, %[[L]]
// CHECK:         memref.store %{{.*}}, %[[ACC]]
// CHECK-COUNT-3: memref.dealloc
func.func @key_outer(%acc: memref<1x1x?x8xf32>, %m: memref<1x1x?xf32>, %l: memref<1x1x?xf32>,
                     %q: memref<1x1x?x8xf32>, %i: index, %j: index) {
  %c0 = arith.constant 0 : index
  %s0 = fa.load_state %acc, %m, %l[%c0, %c0, %i]
    : memref<1x1x?x8xf32>, memref<1x1x?xf32>, memref<1x1x?xf32> -> !fa.state<4x8xf32>
  %s1 = fa.step %s0, %q[%c0, %c0, %i], %q, %q[%c0, %c0, %j] tile_kv(4) scale(1.0)
    : !fa.state<4x8xf32>, memref<1x1x?x8xf32>, memref<1x1x?x8xf32>, memref<1x1x?x8xf32>
  fa.store_state %s1, %acc, %m, %l[%c0, %c0, %i]
    : !fa.state<4x8xf32>, memref<1x1x?x8xf32>, memref<1x1x?xf32>, memref<1x1x?xf32>
  return
}

// -----

// A state through nested loops and a per-tile test, beside values that stay.

// CHECK-LABEL: func.func @through_control_flow(
// CHECK:         %[[R:.*]] = scf.for {{.*}} iter_args(%[[N:.*]] = %{{.*}}) -> (index) {
// CHECK:           scf.for {{.*}} {
// CHECK:             scf.if %{{.*}} {
// CHECK:               math.exp2
// CHECK:           %[[NEXT:.*]] = arith.addi %[[N]]
// CHECK:           scf.yield %[[NEXT]] : index
// CHECK:         return %[[R]] : index
func.func @through_control_flow(%q: memref<1x1x?x8xf32>, %o: memref<1x1x?x8xf32>, %any: i1) -> index {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %s0 = fa.init : !fa.state<4x8xf32>
  %r:2 = scf.for %a = %c0 to %c4 step %c1 iter_args(%s = %s0, %n = %c0) -> (!fa.state<4x8xf32>, index) {
    %inner = scf.for %j = %c0 to %c4 step %c1 iter_args(%t = %s) -> (!fa.state<4x8xf32>) {
      %u = scf.if %any -> (!fa.state<4x8xf32>) {
        %s1 = fa.step %t, %q[%c0, %c0, %a], %q, %q[%c0, %c0, %j] tile_kv(4) scale(1.0)
          : !fa.state<4x8xf32>, memref<1x1x?x8xf32>, memref<1x1x?x8xf32>, memref<1x1x?x8xf32>
        scf.yield %s1 : !fa.state<4x8xf32>
      } else {
        scf.yield %t : !fa.state<4x8xf32>
      }
      scf.yield %u : !fa.state<4x8xf32>
    }
    %next = arith.addi %n, %a : index
    scf.yield %inner, %next : !fa.state<4x8xf32>, index
  }
  fa.finish %r#0, %o[%c0, %c0, %c0] : !fa.state<4x8xf32>, memref<1x1x?x8xf32>
  return %r#1 : index
}

// -----

// A launch becomes a loop of calls.

// CHECK-LABEL: func.func @host(
// CHECK-SAME:    %[[A:.*]]: memref<4xf32>, %[[N:.*]]: index
// CHECK:         scf.for %[[BLOCK:.*]] = %{{.*}} to %[[N]]
// CHECK-NEXT:      func.call @kernel(%[[BLOCK]], %[[A]]) : (index, memref<4xf32>) -> ()
func.func @kernel(%block: index, %a: memref<4xf32>) attributes {fa.kernel} {
  return
}
func.func @host(%a: memref<4xf32>, %n: index) {
  fa.launch @kernel grid(%n) args(%a : memref<4xf32>)
  return
}

// -----

// Its blocks run one after the other and share scratch memory.

// CHECK-LABEL: func.func @scratch_host(
// CHECK-SAME:    %[[A:.*]]: memref<4xf32>, %[[N:.*]]: index
// CHECK:         %[[MEMORY:.*]] = memref.alloc() {alignment = 64 : i64} : memref<4160xi8>
// CHECK:         %[[SCRATCH:.*]] = memref.cast %[[MEMORY]] : memref<4160xi8> to memref<?xi8>
// CHECK:         scf.for %[[BLOCK:.*]] = %{{.*}} to %[[N]]
// CHECK-NEXT:      func.call @scratch_kernel(%[[BLOCK]], %[[A]], %[[SCRATCH]])
// CHECK:         memref.dealloc %[[MEMORY]]
func.func @scratch_kernel(%block: index, %a: memref<4xf32>, %scratch: memref<?xi8>)
    attributes {fa.kernel, fa.scratch_bytes = 4160 : i64} {
  return
}
func.func @scratch_host(%a: memref<4xf32>, %n: index) {
  fa.launch @scratch_kernel grid(%n) args(%a : memref<4xf32>)
  return
}

// -----

// Splits are joined row by row; the output of a split without keys is not read.

// CHECK-LABEL: func.func @combine(
// CHECK-SAME:    %[[PO:[a-z0-9]+]]: memref<3x1x8x?x16xf32>, %[[PLSE:[a-z0-9]+]]: memref<3x1x8x?xf32>
// CHECK:         memref.load %[[PLSE]]
// CHECK:         arith.maximumf
// CHECK:         memref.load %[[PLSE]]
// CHECK:         arith.cmpf une
// CHECK:         scf.if
// CHECK:           math.exp2
// CHECK:           memref.load %[[PO]]
// CHECK:         arith.truncf
// CHECK:         math.log
func.func @combine(%po: memref<3x1x8x?x16xf32>, %plse: memref<3x1x8x?xf32>, %o: memref<1x8x?x16xbf16>,
                   %lse: memref<1x8x?xf32>) {
  fa.combine ins(%po, %plse : memref<3x1x8x?x16xf32>, memref<3x1x8x?xf32>)
             outs(%o, %lse : memref<1x8x?x16xbf16>, memref<1x8x?xf32>)
  return
}

// -----

// Nothing to do: fa.attention and other dialects stay as they are.

// CHECK-LABEL: func.func @untouched(
// CHECK-NEXT:    fa.attention
// CHECK-NEXT:    memref.store
// CHECK-NEXT:    return
func.func @untouched(%q: memref<1x1x4x8xf32>, %o: memref<1x1x4x8xf32>, %x: f32, %i: index) {
  fa.attention ins(%q, %q, %q : memref<1x1x4x8xf32>, memref<1x1x4x8xf32>, memref<1x1x4x8xf32>)
               outs(%o : memref<1x1x4x8xf32>) scale(0.5)
  memref.store %x, %o[%i, %i, %i, %i] : memref<1x1x4x8xf32>
  return
}
