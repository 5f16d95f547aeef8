// Every constraint of the dialect, by its label. RUN lines: one input per case.
// RUN: fa-opt %s -split-input-file -verify-diagnostics

// warp_specialize (C1)
gpu.module @m {
  gpu.func @k(%i: index) kernel attributes {known_block_size = array<i32: 384, 1, 1>} {
    // expected-error @+1 {{expected 1, 2 or 3 consumer warpgroups, but got 4}}
    hopper.warp_specialize producer registers(24) {
    } consumers(%w) of 4 registers(240) {
    }
    gpu.return
  }
}

// -----

// warp_specialize (C2)
gpu.module @m {
  gpu.func @k(%i: index) kernel attributes {known_block_size = array<i32: 384, 1, 1>} {
    // expected-error @+1 {{expected register counts to be multiples of 8 from 24 to 256, but got 250}}
    hopper.warp_specialize producer registers(24) {
    } consumers(%w) of 2 registers(250) {
    }
    gpu.return
  }
}

// -----

// warp_specialize (C2)
gpu.module @m {
  gpu.func @k(%i: index) kernel attributes {known_block_size = array<i32: 512, 1, 1>} {
    // expected-error @+1 {{expected at most 65536 registers in a block, but got 95232}}
    hopper.warp_specialize producer registers(24) {
    } consumers(%w) of 3 registers(240) {
    }
    gpu.return
  }
}

// -----

// warp_specialize (C3)
gpu.module @m {
  gpu.func @k(%i: index) kernel attributes {} {
    // expected-error @+1 {{expected the kernel to have known_block_size = array<i32: 384, 1, 1>, but got none}}
    hopper.warp_specialize producer registers(24) {
    } consumers(%w) of 2 registers(240) {
    }
    gpu.return
  }
}

// -----

// ring (C1)
gpu.module @m {
  gpu.func @k(%i: index) kernel attributes {known_block_size = array<i32: 384, 1, 1>} {
    // expected-error @+1 {{expected 1, 2 or 3 readers, but got 0}}
    %r = hopper.ring readers(0) : !hopper.ring<2 x [64x64xbf16]>
    gpu.return
  }
}

// -----

// ring (C2)
gpu.module @m {
  gpu.func @k(%i: index) kernel attributes {known_block_size = array<i32: 384, 1, 1>} {
    // expected-error @+1 {{expected the offset to be a multiple of 1024, but got 512}}
    %r = hopper.ring readers(1) offset(512) : !hopper.ring<2 x [64x64xbf16]>
    gpu.return
  }
}

// -----

// allocate (C1)
gpu.module @m {
  gpu.func @k(%i: index) kernel attributes {known_block_size = array<i32: 384, 1, 1>} {
    // expected-error @+1 {{expected the offset to be a multiple of 1024, but got 16}}
    %r = hopper.allocate offset(16) : !hopper.tile<64x64xbf16>
    gpu.return
  }
}

// -----

// release (C1)
gpu.module @m {
  gpu.func @k(%i: index) kernel attributes {known_block_size = array<i32: 384, 1, 1>} {
    %r = hopper.ring readers(1) : !hopper.ring<2 x [64x64xbf16]>
    // expected-error @+1 {{expected the number of the use, or stage and phase, but got 3 values}}
    hopper.release %r[%i, %i, %i] : !hopper.ring<2 x [64x64xbf16]>
    gpu.return
  }
}

// -----

// wait (C2)
gpu.module @m {
  gpu.func @k(%i: index) kernel attributes {known_block_size = array<i32: 384, 1, 1>} {
    %r = hopper.ring readers(1) : !hopper.ring<2 x [64x64xbf16]>
    // expected-error @+1 {{expected a tile of type '!hopper.tile<64x64xbf16>', but got '!hopper.tile<64x128xbf16>'}}
    %t = hopper.wait %r[%i] : !hopper.ring<2 x [64x64xbf16]> -> !hopper.tile<64x128xbf16>
    gpu.return
  }
}

// -----

// acquire (C2)
gpu.module @m {
  gpu.func @k(%i: index) kernel attributes {known_block_size = array<i32: 384, 1, 1>} {
    %r = hopper.ring readers(1) : !hopper.ring<2 x [64x64xbf16]>
    // expected-error @+1 {{expected 1 tiles, but got 2}}
    %t:2, %f = hopper.acquire %r[%i] : !hopper.ring<2 x [64x64xbf16]> -> !hopper.tile<64x64xbf16>, !hopper.tile<64x64xbf16>
    gpu.return
  }
}

// -----

// tma_load (C1)
gpu.module @m {
  gpu.func @k(%i: index, %map: !hopper.tensor_map<128x64xbf16>) kernel attributes {known_block_size = array<i32: 384, 1, 1>} {
    %r = hopper.ring readers(1) : !hopper.ring<2 x [64x64xbf16]>
    %t, %f = hopper.acquire %r[%i] : !hopper.ring<2 x [64x64xbf16]> -> !hopper.tile<64x64xbf16>
    // expected-error @+1 {{expected a box of 64 rows, but got 128}}
    hopper.tma_load %map[%i, %i, %i] to %t signals %f : !hopper.tensor_map<128x64xbf16> to !hopper.tile<64x64xbf16>
    gpu.return
  }
}

// -----

// tma_store (C1)
gpu.module @m {
  gpu.func @k(%i: index, %map: !hopper.tensor_map<64x64xf16>) kernel attributes {known_block_size = array<i32: 384, 1, 1>} {
    %t = hopper.allocate : !hopper.tile<128x128xbf16>
    // expected-error @+1 {{expected a tensor map of 'bf16', but got 'f16'}}
    hopper.tma_store %t[%i] to %map[%i, %i, %i] warpgroup(%i) : !hopper.tile<128x128xbf16> to !hopper.tensor_map<64x64xf16>
    gpu.return
  }
}

// -----

// view (C1)
gpu.module @m {
  gpu.func @k(%i: index) kernel attributes {known_block_size = array<i32: 384, 1, 1>} {
    %t = hopper.allocate : !hopper.tile<128x128xbf16>
    // expected-error @+1 {{expected a result of at most 32768 bytes, but got 49152}}
    %v = hopper.view %t : !hopper.tile<128x128xbf16> to !hopper.tile<128x192xbf16>
    gpu.return
  }
}

// -----

// take_turn (C1)
gpu.module @m {
  gpu.func @k(%i: index) kernel attributes {known_block_size = array<i32: 384, 1, 1>} {
    // expected-error @+1 {{expected 2 or 3 warpgroups to take turns, but got 1}}
    hopper.take_turn %i of 1
    gpu.return
  }
}

// -----

// gemm_ss (C1)
gpu.module @m {
  gpu.func @k(%i: index) kernel attributes {known_block_size = array<i32: 384, 1, 1>} {
    %t = hopper.allocate : !hopper.tile<128x128xbf16>
    %u = hopper.allocate : !hopper.tile<128x128xf16>
    // expected-error @+1 {{expected operands of one element type, but got 'bf16' and 'f16'}}
    %s = hopper.gemm_ss %t[%i], %u transpose_b : !hopper.tile<128x128xbf16>, !hopper.tile<128x128xf16> -> !hopper.pending<vector<64xf32>>
    gpu.return
  }
}

// -----

// gemm_ss (C2)
gpu.module @m {
  gpu.func @k(%i: index) kernel attributes {known_block_size = array<i32: 384, 1, 1>} {
    %t = hopper.allocate : !hopper.tile<128x128xbf16>
    %u = hopper.allocate : !hopper.tile<128x64xbf16>
    // expected-error @+1 {{expected equal k extents that are multiples of 16, but got 128 and 64}}
    %s = hopper.gemm_ss %t[%i], %u transpose_b : !hopper.tile<128x128xbf16>, !hopper.tile<128x64xbf16> -> !hopper.pending<vector<64xf32>>
    gpu.return
  }
}

// -----

// gemm_ss (C3)
gpu.module @m {
  gpu.func @k(%i: index) kernel attributes {known_block_size = array<i32: 384, 1, 1>} {
    %t = hopper.allocate : !hopper.tile<128x128xbf16>
    // expected-error @+1 {{expected a result of 64 elements, but got 32}}
    %s = hopper.gemm_ss %t[%i], %t transpose_b : !hopper.tile<128x128xbf16>, !hopper.tile<128x128xbf16> -> !hopper.pending<vector<32xf32>>
    gpu.return
  }
}

// -----

// gemm_ss (C4): in flight over the edge of a loop
gpu.module @m {
  gpu.func @k(%i: index) kernel attributes {known_block_size = array<i32: 384, 1, 1>} {
    %t = hopper.allocate : !hopper.tile<128x128xbf16>
    %c1 = arith.constant 1 : index
    // expected-error @+1 {{expected the product to be waited for in its own block, but got a use in another}}
    %s = hopper.gemm_ss %t[%i], %t transpose_b : !hopper.tile<128x128xbf16>, !hopper.tile<128x128xbf16> -> !hopper.pending<vector<64xf32>>
    scf.for %j = %c1 to %i step %c1 {
      // expected-note @+1 {{used here; start and wait inside one iteration}}
      %v = hopper.wait_gemms pending(0) %s : !hopper.pending<vector<64xf32>> -> vector<64xf32>
    }
    gpu.return
  }
}

// -----

// gemm_rs (C2)
gpu.module @m {
  gpu.func @k(%i: index) kernel attributes {known_block_size = array<i32: 384, 1, 1>} {
    %t = hopper.allocate : !hopper.tile<128x128xbf16>
    %p = arith.constant dense<0> : vector<16xi32>
    // expected-error @+1 {{expected a to have k / 4 elements for a k extent of 128 (a multiple of 16), but got 16}}
    %s = hopper.gemm_rs %p, %t : vector<16xi32>, !hopper.tile<128x128xbf16> -> !hopper.pending<vector<64xf32>>
    gpu.return
  }
}

// -----

// wait_gemms (C2)
gpu.module @m {
  gpu.func @k(%i: index) kernel attributes {known_block_size = array<i32: 384, 1, 1>} {
    %t = hopper.allocate : !hopper.tile<128x128xbf16>
    %s = hopper.gemm_ss %t[%i], %t transpose_b : !hopper.tile<128x128xbf16>, !hopper.tile<128x128xbf16> -> !hopper.pending<vector<64xf32>>
    // expected-error @+1 {{expected a result of type 'vector<64xf32>', but got 'vector<32xf32>'}}
    %v = hopper.wait_gemms pending(0) %s : !hopper.pending<vector<64xf32>> -> vector<32xf32>
    gpu.return
  }
}

// -----

// fragment_columns (C1)
gpu.module @m {
  gpu.func @k(%i: index) kernel attributes {known_block_size = array<i32: 384, 1, 1>} {
    // expected-error @+1 {{expected a length that is a multiple of 4 up to 128, but got 6}}
    %c = hopper.fragment_columns : vector<6xindex>
    gpu.return
  }
}

// -----

// row_broadcast (C1)
gpu.module @m {
  gpu.func @k(%i: index) kernel attributes {known_block_size = array<i32: 384, 1, 1>} {
    %c = arith.constant dense<0.0> : vector<2xf32>
    // expected-error @+1 {{expected elements of 'f32', but got 'index'}}
    %b = hopper.row_broadcast %c : vector<2xf32> to vector<64xindex>
    gpu.return
  }
}

// -----

// pack (C1)
gpu.module @m {
  gpu.func @k(%i: index) kernel attributes {known_block_size = array<i32: 384, 1, 1>} {
    %c = arith.constant dense<0.0> : vector<8xf32>
    // expected-error @+1 {{expected elements of bf16 or f16, but got 'f32'}}
    %b = hopper.pack %c to f32 : vector<8xf32> -> vector<4xi32>
    gpu.return
  }
}

// -----

// pack (C2)
gpu.module @m {
  gpu.func @k(%i: index) kernel attributes {known_block_size = array<i32: 384, 1, 1>} {
    %c = arith.constant dense<0.0> : vector<8xf32>
    // expected-error @+1 {{expected 4 packed elements, but got 8}}
    %b = hopper.pack %c to bf16 : vector<8xf32> -> vector<8xi32>
    gpu.return
  }
}

// -----

// store_fragment (C1)
gpu.module @m {
  gpu.func @k(%i: index) kernel attributes {known_block_size = array<i32: 384, 1, 1>} {
    %t = hopper.allocate : !hopper.tile<64x64xbf16>
    %p = arith.constant dense<0> : vector<32xi32>
    // expected-error @+1 {{expected a tile of at least 128 columns, but got 64}}
    hopper.store_fragment %p, %t[%i] : vector<32xi32>, !hopper.tile<64x64xbf16>
    gpu.return
  }
}

// -----

// gather (C1)
gpu.module @m {
  gpu.func @k(%i: index, %m: memref<?xf32>) kernel attributes {known_block_size = array<i32: 384, 1, 1>} {
    // expected-error @+1 {{expected at least one index to be a vector, but got none}}
    %g = hopper.gather %m[%i] : memref<?xf32>, index -> vector<8xf32>
    gpu.return
  }
}

// -----

// types: tile
// expected-error @+1 {{expected rows to be a multiple of 8 up to 256, but got 12}}
func.func private @f(!hopper.tile<12x64xbf16>)

// -----

// types: tile
// expected-error @+1 {{expected elements of bf16 or f16, but got 'f32'}}
func.func private @f(!hopper.tile<16x64xf32>)

// -----

// types: tensor_map
// expected-error @+1 {{expected box rows of 128 bytes, but got 32 elements of 'bf16'}}
func.func private @f(!hopper.tensor_map<16x32xbf16>)

// -----

// types: ring
// expected-error @+1 {{expected 1 to 16 stages, but got 17}}
func.func private @f(!hopper.ring<17 x [64x64xbf16]>)

// -----

// types: pending
// expected-error @+1 {{expected a fragment (vector<4k x f32>, 4 <= 4k <= 128), but got 'vector<6xf32>'}}
func.func private @f(!hopper.pending<vector<6xf32>>)
