// Masks as regions, on one head of depth 1; lengths are open.
!t = memref<1x1x?x1xf32>
!l = memref<1x1x?xf32>

// Nothing is visible.
func.func @nothing(%q: !t {fa.name = "q"}, %k: !t {fa.name = "k"}, %v: !t {fa.name = "v"}, %o: !t {fa.name = "o"}, %lse: !l {fa.name = "lse"}) {
  fa.attention ins(%q, %k, %v : !t, !t, !t) outs(%o, %lse : !t, !l)
  mask (%b: index, %h: index, %i: index, %j: index) {
    %no = arith.constant false
    fa.yield %no : i1
  }
  return
}

// A boolean matrix from memory, and causal.
func.func @matrix_and_causal(%q: !t {fa.name = "q"}, %k: !t {fa.name = "k"}, %v: !t {fa.name = "v"}, %keep: memref<?x?xi1> {fa.name = "keep"},
                             %o: !t {fa.name = "o"}, %lse: !l {fa.name = "lse"}) {
  fa.attention ins(%q, %k, %v : !t, !t, !t) outs(%o, %lse : !t, !l) masks [#fa.causal<top_left>]
  mask (%b: index, %h: index, %i: index, %j: index) {
    %bit = memref.load %keep[%i, %j] : memref<?x?xi1>
    fa.yield %bit : i1
  }
  return
}

// Query i sits at position past + i of a cache whose buffer is longer than what it holds.
func.func @past(%q: !t {fa.name = "q"}, %k: !t {fa.name = "k"}, %v: !t {fa.name = "v"}, %past: index {fa.name = "past"},
                %o: !t {fa.name = "o"}, %lse: !l {fa.name = "lse"}) {
  fa.attention ins(%q, %k, %v : !t, !t, !t) outs(%o, %lse : !t, !l)
  mask (%b: index, %h: index, %i: index, %j: index) {
    %position = arith.addi %i, %past : index
    %keep = arith.cmpi sle, %j, %position : index
    fa.yield %keep : i1
  }
  return
}

// Keys at an even distance, and causal.
func.func @even_and_causal(%q: !t {fa.name = "q"}, %k: !t {fa.name = "k"}, %v: !t {fa.name = "v"}, %o: !t {fa.name = "o"}, %lse: !l {fa.name = "lse"}) {
  fa.attention ins(%q, %k, %v : !t, !t, !t) outs(%o, %lse : !t, !l) masks [#fa.causal<top_left>]
  mask (%b: index, %h: index, %i: index, %j: index) {
    %c2 = arith.constant 2 : index
    %c0 = arith.constant 0 : index
    %sum = arith.addi %i, %j : index
    %rest = arith.remui %sum, %c2 : index
    %keep = arith.cmpi eq, %rest, %c0 : index
    fa.yield %keep : i1
  }
  return
}

// Documents, and causal.
func.func @documents(%q: !t {fa.name = "q"}, %k: !t {fa.name = "k"}, %v: !t {fa.name = "v"}, %doc: memref<?xi32> {fa.name = "doc"},
                     %o: !t {fa.name = "o"}, %lse: !l {fa.name = "lse"}) {
  fa.attention ins(%q, %k, %v : !t, !t, !t) outs(%o, %lse : !t, !l) masks [#fa.causal<top_left>]
  mask (%b: index, %h: index, %i: index, %j: index) {
    %mine = memref.load %doc[%i] : memref<?xi32>
    %theirs = memref.load %doc[%j] : memref<?xi32>
    %keep = arith.cmpi eq, %mine, %theirs : i32
    fa.yield %keep : i1
  }
  return
}

// Cap 2 after the scale; key 1 is hidden.
func.func @softcap_then_mask(%q: !t {fa.name = "q"}, %k: !t {fa.name = "k"}, %v: !t {fa.name = "v"}, %o: !t {fa.name = "o"}, %lse: !l {fa.name = "lse"}) {
  fa.attention ins(%q, %k, %v : !t, !t, !t) outs(%o, %lse : !t, !l)
  score (%s: f32, %b: index, %h: index, %i: index, %j: index) {
    %cap = arith.constant 2.0 : f32
    %x = arith.divf %s, %cap : f32
    %t = math.tanh %x : f32
    %r = arith.mulf %t, %cap : f32
    fa.yield %r : f32
  }
  mask (%b: index, %h: index, %i: index, %j: index) {
    %c0 = arith.constant 0 : index
    %keep = arith.cmpi eq, %j, %c0 : index
    fa.yield %keep : i1
  }
  return
}

// A scale from outside.
func.func @scaled(%q: !t {fa.name = "q"}, %k: !t {fa.name = "k"}, %v: !t {fa.name = "v"}, %scale: f32 {fa.name = "scale"},
                  %o: !t {fa.name = "o"}, %lse: !l {fa.name = "lse"}) {
  fa.attention ins(%q, %k, %v : !t, !t, !t) outs(%o, %lse : !t, !l) scale(%scale : f32)
  return
}
