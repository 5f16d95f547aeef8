// RUN: fa-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(hopper-allocate-shared)))' -verify-diagnostics

gpu.module @m {
  // expected-error @+1 {{expected at most 232448 bytes of shared memory, but got 262208}}
  gpu.func @k() kernel {
    // expected-note @+1 {{4 stages of 65536 bytes here}}
    %k = hopper.ring readers(2) : !hopper.ring<4 x [128x256xbf16]>
    gpu.return
  }
}
