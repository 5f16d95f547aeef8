// RUN: fa-opt %s --split-input-file --verify-diagnostics

func.func @step_C1(%s: !fa.state<4x8xf32>, %q: memref<1x1x4x8xf64>, %c: index) {
  // expected-error @+1 {{(C1) expected a state of 'f64' for inputs of 'f64', but got 'f32'}}
  %r = fa.step %s, %q[%c, %c, %c], %q, %q[%c, %c, %c] tile_kv(4) : !fa.state<4x8xf32>, memref<1x1x4x8xf64>, memref<1x1x4x8xf64>, memref<1x1x4x8xf64>
  return
}

// -----

func.func @step_C2(%s: !fa.state<4x16xf32>, %q: memref<1x1x4x8xf32>, %c: index) {
  // expected-error @+1 {{(C2) expected value to have the depth of the state, 16, but got 'memref<1x1x4x8xf32>'}}
  %r = fa.step %s, %q[%c, %c, %c], %q, %q[%c, %c, %c] tile_kv(4) : !fa.state<4x16xf32>, memref<1x1x4x8xf32>, memref<1x1x4x8xf32>, memref<1x1x4x8xf32>
  return
}

// -----

func.func @step_C3(%s: !fa.state<4x8xf32>, %q: memref<1x1x4x?xf32>, %v: memref<1x1x4x8xf32>, %c: index) {
  // expected-error @+1 {{(C3) expected query and key to have the same static depth}}
  %r = fa.step %s, %q[%c, %c, %c], %q, %v[%c, %c, %c] tile_kv(4) : !fa.state<4x8xf32>, memref<1x1x4x?xf32>, memref<1x1x4x?xf32>, memref<1x1x4x8xf32>
  return
}

// -----

func.func @step_C4(%s: !fa.state<4x8xf32>, %q: memref<1x1x4x8xf32>, %c: index) {
  // expected-error @+1 {{(C4) expected a positive tile_kv, but got 0}}
  %r = fa.step %s, %q[%c, %c, %c], %q, %q[%c, %c, %c] tile_kv(0) : !fa.state<4x8xf32>, memref<1x1x4x8xf32>, memref<1x1x4x8xf32>, memref<1x1x4x8xf32>
  return
}

// -----

func.func @step_C5(%s: !fa.state<4x8xf32>, %q: memref<1x1x4x8xf32>, %c: index) {
  // expected-error @+1 {{(C5) expected no mask region in a full step}}
  %r = fa.step %s, %q[%c, %c, %c], %q, %q[%c, %c, %c] tile_kv(4) full mask (%b: index, %h: index, %i: index, %j: index) {
    %keep = arith.cmpi sle, %j, %i : index
    fa.yield %keep : i1
  } : !fa.state<4x8xf32>, memref<1x1x4x8xf32>, memref<1x1x4x8xf32>, memref<1x1x4x8xf32>
  return
}

// -----

func.func @finish_C1(%s: !fa.state<4x16xf32>, %o: memref<1x1x4x8xf32>, %c: index) {
  // expected-error @+1 {{(C1) expected the output to have the depth of the state, 16}}
  fa.finish %s, %o[%c, %c, %c] : !fa.state<4x16xf32>, memref<1x1x4x8xf32>
  return
}

// -----

func.func @finish_C2(%s: !fa.state<4x8xf32>, %o: memref<1x1x4x8xf32>, %lse: memref<1x1x4xf64>, %c: index) {
  // expected-error @+1 {{(C2) expected a log-sum-exp of 'f32', but got 'memref<1x1x4xf64>'}}
  fa.finish %s, %o, %lse[%c, %c, %c] : !fa.state<4x8xf32>, memref<1x1x4x8xf32>, memref<1x1x4xf64>
  return
}

// -----

func.func @load_state_C1(%acc: memref<1x1x4x8xf32>, %m: memref<1x1x4xf64>, %c: index) {
  // expected-error @+1 {{(C1) expected memory of 'f32', but got 'memref<1x1x4xf64>'}}
  %s = fa.load_state %acc, %m, %m[%c, %c, %c] : memref<1x1x4x8xf32>, memref<1x1x4xf64>, memref<1x1x4xf64> -> !fa.state<4x8xf32>
  return
}

// -----

func.func @store_state_C1(%s: !fa.state<4x8xf32>, %acc: memref<1x1x4x16xf32>, %m: memref<1x1x4xf32>, %c: index) {
  // expected-error @+1 {{(C1) expected an accumulator of depth 8, but got 'memref<1x1x4x16xf32>'}}
  fa.store_state %s, %acc, %m, %m[%c, %c, %c] : !fa.state<4x8xf32>, memref<1x1x4x16xf32>, memref<1x1x4xf32>, memref<1x1x4xf32>
  return
}

// -----

func.func private @kernel(index) attributes {fa.kernel}

func.func @launch_unknown(%n: index) {
  // expected-error @+1 {{(C1) expected a kernel function, but 'other' is not a function of this module}}
  fa.launch @other grid(%n) args()
  return
}

// -----

func.func private @plain(index)

func.func @launch_plain(%n: index) {
  // expected-error @+1 {{(C1) expected a function marked 'fa.kernel', but 'plain' is not}}
  fa.launch @plain grid(%n) args()
  return
}

// -----

// expected-note @+1 {{the kernel takes ('index', 'f32')}}
func.func private @kernel(index, f32) attributes {fa.kernel}

func.func @launch_arguments(%n: index) {
  // expected-error @+1 {{(C1) expected a kernel that takes ('index')}}
  fa.launch @kernel grid(%n) args()
  return
}
