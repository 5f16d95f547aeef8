// RUN: fa-opt %s -split-input-file -verify-diagnostics --convert-fa-to-loops

func.func @used_twice(%o: memref<1x1x4x8xf32>) {
  %c0 = arith.constant 0 : index
  // expected-error@+1 {{expected a state to be used exactly once, but got 2 uses}}
  %s = fa.init : !fa.state<4x8xf32>
  // expected-note@+1 {{used here}}
  fa.finish %s, %o[%c0, %c0, %c0] : !fa.state<4x8xf32>, memref<1x1x4x8xf32>
  // expected-note@+1 {{used here}}
  fa.finish %s, %o[%c0, %c0, %c0] : !fa.state<4x8xf32>, memref<1x1x4x8xf32>
  return
}

// -----

func.func @unused() {
  // expected-error@+1 {{expected a state to be used exactly once, but got 0 uses}}
  %s = fa.init : !fa.state<4x8xf32>
  return
}

// -----

func.func @repeated_by_a_loop(%o: memref<1x1x4x8xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %s = fa.init : !fa.state<4x8xf32>
  scf.for %i = %c0 to %n step %c1 {
    // expected-error@+1 {{expected a state to be used exactly once, but a loop repeats this use; carry the state in the iteration arguments of the loop}}
    fa.finish %s, %o[%c0, %c0, %i] : !fa.state<4x8xf32>, memref<1x1x4x8xf32>
  }
  return
}

// -----

func.func @swapped(%o: memref<1x1x4x8xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %s0 = fa.init : !fa.state<4x8xf32>
  %t0 = fa.init : !fa.state<4x8xf32>
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%s = %s0, %t = %t0) -> (!fa.state<4x8xf32>, !fa.state<4x8xf32>) {
    // expected-error@+1 {{expected every state to be yielded in the position in which it came}}
    scf.yield %t, %s : !fa.state<4x8xf32>, !fa.state<4x8xf32>
  }
  fa.finish %r#0, %o[%c0, %c0, %c0] : !fa.state<4x8xf32>, memref<1x1x4x8xf32>
  fa.finish %r#1, %o[%c0, %c0, %c1] : !fa.state<4x8xf32>, memref<1x1x4x8xf32>
  return
}

// -----

// expected-error@+1 {{expected states in fa operations, scf.for and scf.if only, but got one in 'func.func'}}
func.func @argument(%s: !fa.state<4x8xf32>, %o: memref<1x1x4x8xf32>) {
  %c0 = arith.constant 0 : index
  fa.finish %s, %o[%c0, %c0, %c0] : !fa.state<4x8xf32>, memref<1x1x4x8xf32>
  return
}

// -----

func.func @returned() -> !fa.state<4x8xf32> {
  %s = fa.init : !fa.state<4x8xf32>
  // expected-error@+1 {{expected states in fa operations, scf.for and scf.if only, but got one in 'func.return'}}
  return %s : !fa.state<4x8xf32>
}

// -----

func.func @scale_out_of_range(%q: memref<1x1x4x8xf32>, %o: memref<1x1x4x8xf32>) {
  %c0 = arith.constant 0 : index
  %s0 = fa.init : !fa.state<4x8xf32>
  // expected-error@+1 {{expected a scale within the range of 'f32', but got 1.000000e+300}}
  %s1 = fa.step %s0, %q[%c0, %c0, %c0], %q, %q[%c0, %c0, %c0] tile_kv(4) scale(1.0e300)
    : !fa.state<4x8xf32>, memref<1x1x4x8xf32>, memref<1x1x4x8xf32>, memref<1x1x4x8xf32>
  fa.finish %s1, %o[%c0, %c0, %c0] : !fa.state<4x8xf32>, memref<1x1x4x8xf32>
  return
}
