// RUN: fa-opt %s -split-input-file -verify-diagnostics

func.func @c1_types(%po: memref<3x1x8x4x16xf64>, %plse: memref<3x1x8x4xf64>, %o: memref<1x8x4x16xbf16>) {
  // expected-error@+1 {{(C1) expected elements of 'f32' for an output of 'bf16', but got 'memref<3x1x8x4x16xf64>'}}
  fa.combine ins(%po, %plse : memref<3x1x8x4x16xf64>, memref<3x1x8x4xf64>) outs(%o : memref<1x8x4x16xbf16>)
  return
}

// -----

func.func @c2_shape(%po: memref<3x1x8x4x16xf32>, %plse: memref<3x1x8x4xf32>, %o: memref<1x8x4x32xf32>) {
  // expected-error@+1 {{(C2) expected partial outputs of splits x the shape of the output, but got 'memref<3x1x8x4x16xf32>' for 'memref<1x8x4x32xf32>'}}
  fa.combine ins(%po, %plse : memref<3x1x8x4x16xf32>, memref<3x1x8x4xf32>) outs(%o : memref<1x8x4x32xf32>)
  return
}

// -----

func.func @c3_splits(%po: memref<3x1x8x4x16xf32>, %plse: memref<2x1x8x4xf32>, %o: memref<1x8x4x16xf32>) {
  // expected-error@+1 {{(C3) expected partial log-sum-exps of splits x batch x heads x seq_q, but got 'memref<2x1x8x4xf32>' for 'memref<3x1x8x4x16xf32>'}}
  fa.combine ins(%po, %plse : memref<3x1x8x4x16xf32>, memref<2x1x8x4xf32>) outs(%o : memref<1x8x4x16xf32>)
  return
}

// -----

func.func @c3_lse(%po: memref<3x1x8x4x16xf32>, %plse: memref<3x1x8x4xf32>, %o: memref<1x8x4x16xf32>,
                  %lse: memref<1x8x5xf32>) {
  // expected-error@+1 {{(C3) expected a log-sum-exp of batch x heads x seq_q, but got 'memref<1x8x5xf32>' for 'memref<1x8x4x16xf32>'}}
  fa.combine ins(%po, %plse : memref<3x1x8x4x16xf32>, memref<3x1x8x4xf32>)
             outs(%o, %lse : memref<1x8x4x16xf32>, memref<1x8x5xf32>)
  return
}
