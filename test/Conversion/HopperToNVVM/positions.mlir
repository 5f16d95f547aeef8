// Comparisons of positions are comparisons of a column with an immediate, whatever the mask: the rest is computed once per row.
// RUN: fa-opt %s --pass-pipeline='builtin.module(gpu.module(convert-hopper-to-nvvm,canonicalize,cse))' -split-input-file | FileCheck %s

!i = vector<8xindex>
!f = vector<8xf32>

// Lengths: the differences fit 32 bits.
// CHECK-LABEL: llvm.func @causal
// CHECK-DAG: %[[C0:.*]] = arith.constant 0 : i32
// CHECK-DAG: %[[C1:.*]] = arith.constant 1 : i32
// CHECK-DAG: %[[C8:.*]] = arith.constant 8 : i32
// CHECK-DAG: %[[C9:.*]] = arith.constant 9 : i32
// CHECK-NOT: llvm.intr.ssub.sat
// Two rows, one bound each: min(i + Sk - Sq, Sk - 1) - j0.
// CHECK: %[[BOUND0:.*]] = arith.minsi
// CHECK: %[[BOUND1:.*]] = arith.minsi
// CHECK-NEXT: arith.cmpi sge, %[[BOUND0]], %[[C0]]
// CHECK-NEXT: arith.cmpi sge, %[[BOUND0]], %[[C1]]
// CHECK-NEXT: arith.cmpi sge, %[[BOUND1]], %[[C0]]
// CHECK-NEXT: arith.cmpi sge, %[[BOUND1]], %[[C1]]
// CHECK-NEXT: arith.cmpi sge, %[[BOUND0]], %[[C8]]
// CHECK-NEXT: arith.cmpi sge, %[[BOUND0]], %[[C9]]
// CHECK-NEXT: arith.cmpi sge, %[[BOUND1]], %[[C8]]
// CHECK-NEXT: arith.cmpi sge, %[[BOUND1]], %[[C9]]
// CHECK-NEXT: arith.select
gpu.module @kernels {
  gpu.func @causal(%lse: memref<?x?x?xf32>, %sq: index {hopper.length}, %sk: index {hopper.length}, %row: index, %column: index)
      kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    hopper.warp_specialize producer registers(56) {
    } consumers(%w) of 1 registers(256) {
      %rows = hopper.fragment_rows from(%row) : vector<2xindex>
      %i = hopper.row_broadcast %rows : vector<2xindex> to !i
      %j = hopper.fragment_columns from(%column) : !i
      %offset = arith.subi %sk, %sq : index
      %offsets = vector.broadcast %offset : index to !i
      %last = arith.addi %i, %offsets : !i
      %diagonal = arith.cmpi sle, %j, %last : !i
      %sks = vector.broadcast %sk : index to !i
      %exists = arith.cmpi sgt, %sks, %j : !i
      %keep = arith.andi %diagonal, %exists : vector<8xi1>
      %one = arith.constant dense<1.0> : !f
      %zero = arith.constant dense<0.0> : !f
      %x = arith.select %keep, %one, %zero : vector<8xi1>, !f
      %sum = hopper.row_reduce sum %x : !f
      hopper.store_rows %sum, %lse[%c0, %c0, %rows] limit(%c1) : memref<?x?x?xf32>
    }
    gpu.return
  }
}

// -----

!i = vector<8xindex>
!f = vector<8xf32>

// A number of the user's can be anything: its difference to a position is taken with saturation. A window's two sides are
// two comparisons; equality needs no saturation.
// CHECK-LABEL: llvm.func @window
// CHECK: %[[LOWER:.*]] = arith.cmpi sle
// CHECK: %[[DIFFERENCE:.*]] = llvm.intr.ssub.sat(%{{.*}}, %{{.*}})
// CHECK: %[[UPPER:.*]] = arith.cmpi sgt, %[[DIFFERENCE]],
// CHECK: arith.andi %[[LOWER]], %[[UPPER]]
// CHECK-NOT: llvm.intr.ssub.sat
// CHECK: arith.cmpi ne
gpu.module @kernels {
  gpu.func @window(%lse: memref<?x?x?xf32>, %length: index, %row: index, %column: index)
      kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    hopper.warp_specialize producer registers(56) {
    } consumers(%w) of 1 registers(256) {
      %rows = hopper.fragment_rows from(%row) : vector<2xindex>
      %i = hopper.row_broadcast %rows : vector<2xindex> to !i
      %j = hopper.fragment_columns from(%column) : !i
      %c100 = arith.constant dense<100> : !i
      %left = arith.subi %i, %c100 : !i
      %inside = arith.cmpi sge, %j, %left : !i
      %lengths = vector.broadcast %length : index to !i
      %exists = arith.cmpi slt, %j, %lengths : !i
      %both = arith.andi %inside, %exists : vector<8xi1>
      %other = arith.cmpi ne, %i, %j : !i
      %keep = arith.andi %both, %other : vector<8xi1>
      %one = arith.constant dense<1.0> : !f
      %zero = arith.constant dense<0.0> : !f
      %x = arith.select %keep, %one, %zero : vector<8xi1>, !f
      %sum = hopper.row_reduce sum %x : !f
      hopper.store_rows %sum, %lse[%c0, %c0, %rows] limit(%c1) : memref<?x?x?xf32>
    }
    gpu.return
  }
}

// -----

!i = vector<8xindex>
!f = vector<8xf32>

// A use that needs positions as numbers gets an addition per column: here a division.
// CHECK-LABEL: llvm.func @chunks
// CHECK-COUNT-6: arith.addi
// CHECK: arith.divui
gpu.module @kernels {
  gpu.func @chunks(%lse: memref<?x?x?xf32>, %row: index, %column: index)
      kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    hopper.warp_specialize producer registers(56) {
    } consumers(%w) of 1 registers(256) {
      %rows = hopper.fragment_rows from(%row) : vector<2xindex>
      %j = hopper.fragment_columns from(%column) : !i
      %c48 = arith.constant dense<48> : !i
      %chunk = arith.divui %j, %c48 : !i
      %c3 = arith.constant dense<3> : !i
      %keep = arith.cmpi slt, %chunk, %c3 : !i
      %one = arith.constant dense<1.0> : !f
      %zero = arith.constant dense<0.0> : !f
      %x = arith.select %keep, %one, %zero : vector<8xi1>, !f
      %sum = hopper.row_reduce sum %x : !f
      hopper.store_rows %sum, %lse[%c0, %c0, %rows] limit(%c1) : memref<?x?x?xf32>
    }
    gpu.return
  }
}
