// RUN: fa-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(hopper-assign-stages)))' | FileCheck %s -enable-var-scope

gpu.module @m {
  // A power of two: mask and shift.
  // CHECK-LABEL: gpu.func @two
  // CHECK-SAME: %[[N:.*]]: index
  // CHECK: %[[STAGE:.*]] = arith.andi %[[N]], %{{.*}} : index
  // CHECK: %[[TURN:.*]] = arith.shrui %[[N]], %{{.*}} : index
  // CHECK: %[[PHASE:.*]] = arith.andi %[[TURN]], %{{.*}} : index
  // CHECK: hopper.wait %{{.*}}[%[[STAGE]], %[[PHASE]]]
  gpu.func @two(%n: index) kernel {
    %r = hopper.ring readers(1) : !hopper.ring<2 x [64x64xbf16]>
    %t = hopper.wait %r[%n] : !hopper.ring<2 x [64x64xbf16]> -> !hopper.tile<64x64xbf16>
    gpu.return
  }
  // CHECK-LABEL: gpu.func @three
  // CHECK: arith.remui
  // CHECK: arith.divui
  // CHECK: hopper.release %{{.*}}[%{{.*}}, %{{.*}}]
  gpu.func @three(%n: index) kernel {
    %r = hopper.ring readers(1) : !hopper.ring<3 x [64x64xbf16]>
    hopper.release %r[%n] : !hopper.ring<3 x [64x64xbf16]>
    gpu.return
  }
  // Left alone.
  // CHECK-LABEL: gpu.func @assigned
  // CHECK-NOT: arith
  // CHECK: hopper.release %{{.*}}[%[[S:.*]], %[[P:.*]]]
  gpu.func @assigned(%s: index, %p: index) kernel {
    %r = hopper.ring readers(1) : !hopper.ring<3 x [64x64xbf16]>
    hopper.release %r[%s, %p] : !hopper.ring<3 x [64x64xbf16]>
    gpu.return
  }
}
