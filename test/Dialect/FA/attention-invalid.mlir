// RUN: fa-opt %s --split-input-file --verify-diagnostics

// Each case is named after the constraint of the op's text that it breaks.

func.func @C1_mixed(%q: memref<1x1x4x8xf32>, %k: tensor<1x1x4x8xf32>, %o: memref<1x1x4x8xf32>) {
  // expected-error @+1 {{(C1) expected query, key, value and outputs to be all tensors or all memrefs}}
  fa.attention ins(%q, %k, %q : memref<1x1x4x8xf32>, tensor<1x1x4x8xf32>, memref<1x1x4x8xf32>) outs(%o : memref<1x1x4x8xf32>)
  return
}

// -----

func.func @C1_layout(%q: memref<1x1x4x8xf32, affine_map<(a, b, c, d) -> (a, b, d, c floordiv 2, c mod 2)>>, %o: memref<1x1x4x8xf32>) {
  // expected-error @+1 {{(C1) expected memrefs with a strided layout}}
  fa.attention ins(%q, %q, %q : memref<1x1x4x8xf32, affine_map<(a, b, c, d) -> (a, b, d, c floordiv 2, c mod 2)>>, memref<1x1x4x8xf32, affine_map<(a, b, c, d) -> (a, b, d, c floordiv 2, c mod 2)>>, memref<1x1x4x8xf32, affine_map<(a, b, c, d) -> (a, b, d, c floordiv 2, c mod 2)>>) outs(%o : memref<1x1x4x8xf32>)
  return
}

// -----

func.func @C2_types(%q: memref<1x1x4x8xf32>, %k: memref<1x1x4x8xf16>) {
  // expected-error @+1 {{(C2) expected query, key, value and output to have one element type, but got 'f32' and 'f16'}}
  fa.attention ins(%q, %k, %k : memref<1x1x4x8xf32>, memref<1x1x4x8xf16>, memref<1x1x4x8xf16>) outs(%q : memref<1x1x4x8xf32>)
  return
}

// -----

func.func @C3_batch(%q: memref<2x1x4x8xf32>, %k: memref<3x1x4x8xf32>) {
  // expected-error @+1 {{(C3) expected query and key to have the same batch, but got 2 and 3}}
  fa.attention ins(%q, %k, %k : memref<2x1x4x8xf32>, memref<3x1x4x8xf32>, memref<3x1x4x8xf32>) outs(%q : memref<2x1x4x8xf32>)
  return
}

// -----

func.func @C4_depth(%q: memref<1x1x4x8xf32>, %k: memref<1x1x4x16xf32>) {
  // expected-error @+1 {{(C4) expected query and key to have the same depth, but got 8 and 16}}
  fa.attention ins(%q, %k, %k : memref<1x1x4x8xf32>, memref<1x1x4x16xf32>, memref<1x1x4x16xf32>) outs(%q : memref<1x1x4x8xf32>)
  return
}

// -----

func.func @C4_no_depth(%q: memref<1x1x4x0xf32>) {
  // expected-error @+1 {{(C4) expected a depth of at least 1, but got 0}}
  fa.attention ins(%q, %q, %q : memref<1x1x4x0xf32>, memref<1x1x4x0xf32>, memref<1x1x4x0xf32>) outs(%q : memref<1x1x4x0xf32>)
  return
}

// -----

func.func @C5_length(%q: memref<1x1x4x8xf32>, %v: memref<1x1x5x8xf32>) {
  // expected-error @+1 {{(C5) expected key and value to have the same sequence length, but got 4 and 5}}
  fa.attention ins(%q, %q, %v : memref<1x1x4x8xf32>, memref<1x1x4x8xf32>, memref<1x1x5x8xf32>) outs(%q : memref<1x1x4x8xf32>)
  return
}

// -----

func.func @C5_heads(%q: memref<1x2x4x8xf32>, %v: memref<1x1x4x8xf32>) {
  // expected-error @+1 {{(C5) expected key and value to have the same heads, but got 2 and 1}}
  fa.attention ins(%q, %q, %v : memref<1x2x4x8xf32>, memref<1x2x4x8xf32>, memref<1x1x4x8xf32>) outs(%q : memref<1x2x4x8xf32>)
  return
}

// -----

func.func @C6_groups(%q: memref<1x3x4x8xf32>, %k: memref<1x2x4x8xf32>) {
  // expected-error @+1 {{(C6) expected heads of query to be a multiple of heads of key, but got 3 and 2}}
  fa.attention ins(%q, %k, %k : memref<1x3x4x8xf32>, memref<1x2x4x8xf32>, memref<1x2x4x8xf32>) outs(%q : memref<1x3x4x8xf32>)
  return
}

// -----

func.func @C7_output(%q: memref<1x1x4x8xf32>, %v: memref<1x1x4x16xf32>) {
  // expected-error @+1 {{(C7) expected value and output to have the same depth, but got 16 and 8}}
  fa.attention ins(%q, %q, %v : memref<1x1x4x8xf32>, memref<1x1x4x8xf32>, memref<1x1x4x16xf32>) outs(%q : memref<1x1x4x8xf32>)
  return
}

// -----

func.func @C8_type(%q: memref<1x1x4x8xbf16>, %lse: memref<1x1x4xf64>) {
  // expected-error @+1 {{(C8) expected a log-sum-exp of 'f32', but got 'memref<1x1x4xf64>'}}
  fa.attention ins(%q, %q, %q : memref<1x1x4x8xbf16>, memref<1x1x4x8xbf16>, memref<1x1x4x8xbf16>) outs(%q, %lse : memref<1x1x4x8xbf16>, memref<1x1x4xf64>)
  return
}

// -----

func.func @C8_length(%q: memref<1x1x4x8xf32>, %lse: memref<1x1x5xf32>) {
  // expected-error @+1 {{(C8) expected query and log-sum-exp to have the same sequence length, but got 4 and 5}}
  fa.attention ins(%q, %q, %q : memref<1x1x4x8xf32>, memref<1x1x4x8xf32>, memref<1x1x4x8xf32>) outs(%q, %lse : memref<1x1x4x8xf32>, memref<1x1x5xf32>)
  return
}

// -----

func.func @C9_nan(%q: memref<1x1x4x8xf32>) {
  // expected-error @+1 {{(C9) expected a finite scale}}
  fa.attention ins(%q, %q, %q : memref<1x1x4x8xf32>, memref<1x1x4x8xf32>, memref<1x1x4x8xf32>) outs(%q : memref<1x1x4x8xf32>) scale(0x7FF8000000000000)
  return
}

// -----

func.func @C9_type(%q: memref<1x1x4x8xf32>, %s: f64) {
  // expected-error @+1 {{(C9) expected a dynamic scale of type 'f32', but got 'f64'}}
  fa.attention ins(%q, %q, %q : memref<1x1x4x8xf32>, memref<1x1x4x8xf32>, memref<1x1x4x8xf32>) outs(%q : memref<1x1x4x8xf32>) scale(%s : f64)
  return
}

// -----

func.func @C10_yield(%q: memref<1x1x4x8xf64>) {
  // expected-error @+1 {{(C10) expected the score region to take ('f64', 'index', 'index', 'index', 'index'), but got ('f32', 'index', 'index', 'index', 'index')}}
  fa.attention ins(%q, %q, %q : memref<1x1x4x8xf64>, memref<1x1x4x8xf64>, memref<1x1x4x8xf64>) outs(%q : memref<1x1x4x8xf64>)
      score (%s: f32, %b: index, %h: index, %i: index, %j: index) {
    fa.yield %s : f32
  }
  return
}

// -----

func.func @C11_yield(%q: memref<1x1x4x8xf32>) {
  // expected-error @+1 {{(C11) expected the mask region to yield 'i1', but got 'index'}}
  fa.attention ins(%q, %q, %q : memref<1x1x4x8xf32>, memref<1x1x4x8xf32>, memref<1x1x4x8xf32>) outs(%q : memref<1x1x4x8xf32>)
      mask (%b: index, %h: index, %i: index, %j: index) {
    // expected-note @+1 {{yielded here}}
    fa.yield %i : index
  }
  return
}

// -----

func.func @C12_store(%q: memref<1x1x4x8xf32>, %seen: memref<?xi1>) {
  // expected-error @+1 {{(C12) expected operations of the mask region to be pure or to only read memory, but got 'memref.store'}}
  fa.attention ins(%q, %q, %q : memref<1x1x4x8xf32>, memref<1x1x4x8xf32>, memref<1x1x4x8xf32>) outs(%q : memref<1x1x4x8xf32>)
      mask (%b: index, %h: index, %i: index, %j: index) {
    %keep = arith.cmpi sle, %j, %i : index
    // expected-note @+1 {{this operation}}
    memref.store %keep, %seen[%i] : memref<?xi1>
    fa.yield %keep : i1
  }
  return
}

// -----

func.func @C13_results(%q: tensor<1x1x4x8xf32>) {
  // expected-error @+1 {{(C13) expected the tensor form to return the types of its outputs}}
  fa.attention ins(%q, %q, %q : tensor<1x1x4x8xf32>, tensor<1x1x4x8xf32>, tensor<1x1x4x8xf32>) outs(%q : tensor<1x1x4x8xf32>)
  return
}

// -----

func.func @C14_broadcast(%q: memref<1x2x4x8xf32>, %o: memref<1x2x4x8xf32, strided<[32, 0, 8, 1]>>) {
  // expected-error @+1 {{(C14) expected no stride of 0 in an output}}
  fa.attention ins(%q, %q, %q : memref<1x2x4x8xf32>, memref<1x2x4x8xf32>, memref<1x2x4x8xf32>) outs(%o : memref<1x2x4x8xf32, strided<[32, 0, 8, 1]>>)
  return
}
