// RUN: fa-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(hopper-allocate-shared)))' | FileCheck %s -enable-var-scope

gpu.module @m {
  // CHECK-LABEL: gpu.func @k
  // CHECK-SAME: hopper.shared_bytes = 122928 : i64
  // CHECK: hopper.ring readers(2) offset(0) barriers(122880) : !hopper.ring<1 x [128x96xbf16]>
  // CHECK: hopper.ring readers(2) offset(32768) barriers(122896) : !hopper.ring<2 x [80x128xbf16]>
  // CHECK: hopper.allocate offset(73728) : !hopper.tile<128x192xbf16>
  gpu.func @k() kernel {
    %q = hopper.ring readers(2) : !hopper.ring<1 x [128x96xbf16]>
    %k = hopper.ring readers(2) : !hopper.ring<2 x [80x128xbf16]>
    %o = hopper.allocate : !hopper.tile<128x192xbf16>
    gpu.return
  }
  // Nothing to place.
  // CHECK-LABEL: gpu.func @none
  // CHECK-NOT: hopper.shared_bytes
  gpu.func @none() kernel {
    gpu.return
  }
}
