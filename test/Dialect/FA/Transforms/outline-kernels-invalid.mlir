// RUN: fa-opt %s --fa-outline-kernels --split-input-file --verify-diagnostics

func.func @offset(%x: memref<4xf32>, %v: f32) {
  // expected-error @+1 {{expected a loop from 0 with step 1 and no shared outputs}}
  scf.forall (%i) = (1) to (4) step (1) {
    memref.store %v, %x[%i] : memref<4xf32>
  }
  return
}

// -----

func.func @shared(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{expected a loop from 0 with step 1 and no shared outputs}}
  %r = scf.forall (%i) in (4) shared_outs(%o = %x) -> tensor<4xf32> {
    scf.forall.in_parallel {
    }
  }
  return %r : tensor<4xf32>
}
