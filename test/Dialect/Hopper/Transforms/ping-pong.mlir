// RUN: fa-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(hopper-ping-pong)))' -verify-diagnostics | FileCheck %s -enable-var-scope

!t = !hopper.tile<128x128xbf16>
!p = !hopper.pending<vector<64xf32>>
gpu.module @m {
  // CHECK-LABEL: gpu.func @turns
  // CHECK: consumers(%[[W:.*]]) of 2
  // CHECK-NEXT: hopper.first_turn %[[W]] of 2
  // CHECK: scf.for
  // CHECK-NEXT: hopper.take_turn %[[W]] of 2
  // CHECK-NEXT: %[[A:.*]] = hopper.gemm_ss
  // CHECK-NEXT: %[[B:.*]] = hopper.gemm_ss
  // CHECK-NEXT: hopper.pass_turn %[[W]] of 2
  // CHECK-NEXT: hopper.wait_gemms
  gpu.func @turns(%n: index) kernel attributes {hopper.ping_pong, known_block_size = array<i32: 384, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %t = hopper.allocate : !t
    hopper.warp_specialize producer registers(24) {
    } consumers(%w) of 2 registers(240) {
      scf.for %i = %c0 to %n step %c1 {
        %a = hopper.gemm_ss %t[%c0], %t transpose_b : !t, !t -> !p
        %b = hopper.gemm_ss %t[%c0], %t transpose_b : !t, !t -> !p
        %v:2 = hopper.wait_gemms pending(0) %a, %b : !p, !p -> vector<64xf32>, vector<64xf32>
      }
    }
    gpu.return
  }
  // Not asked for.
  // CHECK-LABEL: gpu.func @unmarked
  // CHECK-NOT: turn %
  gpu.func @unmarked(%n: index) kernel attributes {known_block_size = array<i32: 384, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %t = hopper.allocate : !t
    hopper.warp_specialize producer registers(24) {
    } consumers(%w) of 2 registers(240) {
      scf.for %i = %c0 to %n step %c1 {
        %a = hopper.gemm_ss %t[%c0], %t transpose_b : !t, !t -> !p
        %v = hopper.wait_gemms pending(0) %a : !p -> vector<64xf32>
      }
    }
    gpu.return
  }
  // The warpgroups would not take the same number of turns.
  // CHECK-LABEL: gpu.func @unequal
  // CHECK-NOT: turn %
  gpu.func @unequal(%n: index) kernel attributes {hopper.ping_pong, known_block_size = array<i32: 384, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %t = hopper.allocate : !t
    hopper.warp_specialize producer registers(24) {
    } consumers(%w) of 2 registers(240) {
      %end = arith.addi %n, %w : index
      // expected-remark @+1 {{no turns: the warpgroups run this loop a different number of times}}
      scf.for %i = %c0 to %end step %c1 {
        %a = hopper.gemm_ss %t[%c0], %t transpose_b : !t, !t -> !p
        %v = hopper.wait_gemms pending(0) %a : !p -> vector<64xf32>
      }
    }
    gpu.return
  }
}
