// Round trip of every op, through the generic form as well.
// RUN: fa-opt %s | fa-opt | FileCheck %s -enable-var-scope
// RUN: fa-opt %s --mlir-print-op-generic | fa-opt | FileCheck %s -enable-var-scope

!map = !hopper.tensor_map<128x64xbf16>
!omap = !hopper.tensor_map<64x64xbf16>

gpu.module @kernels {
  // CHECK-LABEL: gpu.func @ops
  gpu.func @ops(%map: !map, %omap: !omap, %memref: memref<?x?x?xf32>, %b: index, %h: index, %n: index)
      kernel attributes {known_block_size = array<i32: 384, 1, 1>} {
    %c0 = arith.constant 0 : index
    // CHECK: %[[RING:.*]] = hopper.ring readers(2) : !hopper.ring<2 x [128x128xbf16, 128x64xbf16]>
    %ring = hopper.ring readers(2) : !hopper.ring<2 x [128x128xbf16, 128x64xbf16]>
    // CHECK: hopper.ring readers(1) offset(131072) barriers(196608) : !hopper.ring<1 x [64x96xf16]>
    %placed = hopper.ring readers(1) offset(131072) barriers(196608) : !hopper.ring<1 x [64x96xf16]>
    // CHECK: hopper.allocate offset(1024) : !hopper.tile<128x128xbf16>
    %staging = hopper.allocate offset(1024) : !hopper.tile<128x128xbf16>
    // CHECK: hopper.warp_specialize producer registers(24) {
    hopper.warp_specialize producer registers(24) {
      // CHECK: %[[TILES:.*]]:2, %[[FULL:.*]] = hopper.acquire %[[RING]][%{{.*}}] : !hopper.ring<2 x [128x128xbf16, 128x64xbf16]> -> !hopper.tile<128x128xbf16>, !hopper.tile<128x64xbf16>
      %tiles:2, %full = hopper.acquire %ring[%n] : !hopper.ring<2 x [128x128xbf16, 128x64xbf16]> -> !hopper.tile<128x128xbf16>, !hopper.tile<128x64xbf16>
      // CHECK: hopper.tma_load %{{.*}}[%{{.*}}, %{{.*}}, %{{.*}}] to %[[TILES]]#0 signals %[[FULL]] : !hopper.tensor_map<128x64xbf16> to !hopper.tile<128x128xbf16>
      hopper.tma_load %map[%b, %h, %c0] to %tiles#0 signals %full : !map to !hopper.tile<128x128xbf16>
      hopper.tma_load %map[%b, %h, %c0] to %tiles#1 signals %full : !map to !hopper.tile<128x64xbf16>
    // CHECK: } consumers(%[[W:.*]]) of 2 registers(240) {
    } consumers(%w) of 2 registers(240) {
      // CHECK: hopper.first_turn %[[W]] of 2
      hopper.first_turn %w of 2
      // CHECK: %[[K:.*]]:2 = hopper.wait %[[RING]][%{{.*}}, %{{.*}}] : !hopper.ring<2 x [128x128xbf16, 128x64xbf16]>
      %k:2 = hopper.wait %ring[%c0, %c0] : !hopper.ring<2 x [128x128xbf16, 128x64xbf16]> -> !hopper.tile<128x128xbf16>, !hopper.tile<128x64xbf16>
      // CHECK: hopper.take_turn %[[W]] of 2
      hopper.take_turn %w of 2
      // CHECK: %[[S:.*]] = hopper.gemm_ss %[[K]]#0[%{{.*}}], %[[K]]#0 transpose_b negate_a : !hopper.tile<128x128xbf16>, !hopper.tile<128x128xbf16> -> !hopper.pending<vector<64xf32>>
      %sp = hopper.gemm_ss %k#0[%c0], %k#0 transpose_b negate_a : !hopper.tile<128x128xbf16>, !hopper.tile<128x128xbf16> -> !hopper.pending<vector<64xf32>>
      // CHECK: hopper.pass_turn %[[W]] of 2
      hopper.pass_turn %w of 2
      // CHECK: %[[SV:.*]] = hopper.wait_gemms pending(0) %[[S]] : !hopper.pending<vector<64xf32>> -> vector<64xf32>
      %s = hopper.wait_gemms pending(0) %sp : !hopper.pending<vector<64xf32>> -> vector<64xf32>
      // CHECK: hopper.release %[[RING]][%{{.*}}] : !hopper.ring<2 x [128x128xbf16, 128x64xbf16]>
      hopper.release %ring[%c0] : !hopper.ring<2 x [128x128xbf16, 128x64xbf16]>
      // CHECK: %[[P:.*]] = hopper.pack %[[SV]] to bf16 : vector<64xf32> -> vector<32xi32>
      %p = hopper.pack %s to bf16 : vector<64xf32> -> vector<32xi32>
      // CHECK: hopper.gemm_rs %[[P]], %[[K]]#0 plus %[[SV]] : vector<64xf32>, : vector<32xi32>, !hopper.tile<128x128xbf16> -> !hopper.pending<vector<64xf32>>
      %op = hopper.gemm_rs %p, %k#0 plus %s : vector<64xf32>, : vector<32xi32>, !hopper.tile<128x128xbf16> -> !hopper.pending<vector<64xf32>>
      // A product that reads A from a tile stored [k][m], as the backward pass does.
      // CHECK: hopper.gemm_ss %{{.*}}[%{{.*}}], %{{.*}} transpose_a : !hopper.tile<128x128xbf16>, !hopper.tile<128x64xbf16> -> !hopper.pending<vector<32xf32>>
      %tp = hopper.gemm_ss %k#0[%c0], %k#1 transpose_a : !hopper.tile<128x128xbf16>, !hopper.tile<128x64xbf16> -> !hopper.pending<vector<32xf32>>
      // CHECK: hopper.wait_gemms pending(0) %{{.*}}, %{{.*}} keeping(%[[P]] : vector<32xi32>) :
      %o:2 = hopper.wait_gemms pending(0) %op, %tp keeping(%p : vector<32xi32>) : !hopper.pending<vector<64xf32>>, !hopper.pending<vector<32xf32>> -> vector<64xf32>, vector<32xf32>
      // CHECK: hopper.fragment_rows : vector<2xindex>
      %rows = hopper.fragment_rows : vector<2xindex>
      // CHECK: hopper.fragment_rows from(%{{.*}}) : vector<2xindex>
      %positions = hopper.fragment_rows from(%c0) : vector<2xindex>
      // CHECK: hopper.fragment_columns : vector<64xindex>
      %columns = hopper.fragment_columns : vector<64xindex>
      // CHECK: hopper.fragment_columns from(%{{.*}}) : vector<64xindex>
      %keys = hopper.fragment_columns from(%c0) : vector<64xindex>
      // CHECK: %[[M:.*]] = hopper.row_reduce max %{{.*}} : vector<64xf32>
      %m = hopper.row_reduce max %s : vector<64xf32>
      // CHECK: %[[MQ:.*]] = hopper.quad_reduce max %[[M]] : vector<2xf32>
      %mq = hopper.quad_reduce max %m : vector<2xf32>
      // CHECK: hopper.schedule_fence %[[MQ]] : vector<2xf32>
      hopper.schedule_fence %mq : vector<2xf32>
      // CHECK: hopper.row_broadcast %[[MQ]] : vector<2xf32> to vector<64xf32>
      %mb = hopper.row_broadcast %mq : vector<2xf32> to vector<64xf32>
      // CHECK: hopper.gather %{{.*}}[%{{.*}}, %{{.*}}, %{{.*}}] : memref<?x?x?xf32>, index, index, vector<64xindex> -> vector<64xf32>
      %g = hopper.gather %memref[%b, %h, %columns] : memref<?x?x?xf32>, index, index, vector<64xindex> -> vector<64xf32>
      %true = arith.constant true
      // CHECK: hopper.any %{{.*}}
      %any = hopper.any %true
      // CHECK: hopper.store_rows %[[MQ]], %{{.*}}[%{{.*}}, %{{.*}}, %{{.*}}] limit(%{{.*}}) : memref<?x?x?xf32>
      hopper.store_rows %mq, %memref[%b, %h, %rows] limit(%n) : memref<?x?x?xf32>
      // CHECK: hopper.view %{{.*}} : !hopper.tile<128x128xbf16> to !hopper.tile<128x64xbf16>
      %view = hopper.view %k#0 : !hopper.tile<128x128xbf16> to !hopper.tile<128x64xbf16>
      // CHECK: hopper.store_fragment %[[P]], %{{.*}}[%{{.*}}] : vector<32xi32>, !hopper.tile<128x128xbf16>
      hopper.store_fragment %p, %staging[%c0] : vector<32xi32>, !hopper.tile<128x128xbf16>
      // CHECK: hopper.tma_store %{{.*}}[%{{.*}}] to %{{.*}}[%{{.*}}, %{{.*}}, %{{.*}}] warpgroup(%[[W]]) : !hopper.tile<128x128xbf16> to !hopper.tensor_map<64x64xbf16>
      hopper.tma_store %staging[%c0] to %omap[%b, %h, %c0] warpgroup(%w) : !hopper.tile<128x128xbf16> to !omap
    }
    gpu.return
  }
}
