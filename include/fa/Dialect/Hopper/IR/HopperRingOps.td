// Warp specialisation, rings of stages, bulk copies and turns.
#ifndef FA_DIALECT_HOPPER_IR_HOPPERRINGOPS_TD
#define FA_DIALECT_HOPPER_IR_HOPPERRINGOPS_TD
include "fa/Dialect/Hopper/IR/HopperDialect.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"

class Hopper_Op<string mnemonic, list<Trait> traits = []> : Op<Hopper_Dialect, mnemonic, traits>;

def Hopper_WarpSpecializeOp : Hopper_Op<"warp_specialize",
    [SingleBlock, NoTerminator, RecursiveMemoryEffects, HasParent<"::mlir::gpu::GPUFuncOp">]> {
  let summary = "run the producer on one thread, the consumers on whole warpgroups";
  let description = [{
    Warpgroup 0 runs `producer`: one elected thread executes the region, the others leave. Warpgroups 1 to `warpgroups`
    run `consumers` with their number, counted from 0, as the region's argument. Registers move from the producer to the
    consumers by setmaxnreg (PTX ISA: setmaxnreg needs launch bounds). All barriers of the kernel's rings are initialised
    and made visible before either region starts.

    * (C1) `warpgroups` is 1, 2 or 3.
    * (C2) register counts are multiples of 8 between 24 and 256, and fit into 64k registers together.
    * (C3) the kernel's block has 128 (warpgroups + 1) threads (`known_block_size`).

    ```mlir
    hopper.warp_specialize producer registers(24) {
    } consumers(%warpgroup) of 2 registers(240) {
    }
    ```
  }];
  let arguments = (ins I32Attr:$warpgroups, I32Attr:$producerRegisters, I32Attr:$consumerRegisters);
  let regions = (region SizedRegion<1>:$producer, SizedRegion<1>:$consumers);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let skipDefaultBuilders = 1;
  let builders = [OpBuilder<(ins "int64_t":$warpgroups, "int64_t":$producerRegisters, "int64_t":$consumerRegisters)>];
  let extraClassDeclaration = [{
    /// The number of the consumer warpgroup, counted from 0 (index).
    BlockArgument getWarpgroup() { return getConsumers().getArgument(0); }
  }];
}

def Hopper_RingOp : Hopper_Op<"ring", [HasParent<"::mlir::gpu::GPUFuncOp">]> {
  let summary = "allocate a ring of stages and its barriers in shared memory";
  let description = [{
    Every slot starts empty. A slot becomes full when all bytes announced by hopper.acquire have arrived, and empty again
    after `readers` calls of hopper.release. `offset` and `barriers` are byte offsets in dynamic shared memory, assigned by
    hopper-allocate-shared: first the tiles of stage 0, then stage 1, ...; full barriers, then empty barriers.

    * (C1) `readers` is 1, 2 or 3.
    * (C2) `offset` is a multiple of 1024 and `barriers` of 8 (PTX ISA 9.7.15.5.1: swizzle pattern repeats after 1024 bytes).

    ```mlir
    %k = hopper.ring readers(2) : !hopper.ring<2 x [128x128xbf16]>
    ```
  }];
  let arguments = (ins I32Attr:$readers, OptionalAttr<I64Attr>:$offset, OptionalAttr<I64Attr>:$barriers);
  let results = (outs Hopper_RingType:$ring);
  let assemblyFormat = "`readers` `(` $readers `)` (`offset` `(` $offset^ `)`)? (`barriers` `(` $barriers^ `)`)? attr-dict `:` qualified(type($ring))";
  let hasVerifier = 1;
}

def Hopper_AcquireOp : Hopper_Op<"acquire"> {
  let summary = "producer: wait until a slot is empty and announce the bytes that will fill it";
  let description = [{
    `position` is either the number of the use, counted from 0 over the life of the kernel (`%r[%n]`), or, after
    hopper-assign-stages, the stage and the parity of its phase (`%r[%stage, %phase]`), where
    `stage = n mod stages` and `phase = (n / stages) mod 2`. The slot's barrier then expects exactly the bytes of the
    stage's tiles: each must be filled by one hopper.tma_load, which commits it.

    * (C1) `position` has one or two values.
    * (C2) one tile result for each tile of a stage, of the same type.

    ```mlir
    %tile, %full = hopper.acquire %k[%n] : !hopper.ring<2 x [128x128xbf16]> -> !hopper.tile<128x128xbf16>
    ```
  }];
  let arguments = (ins Hopper_RingType:$ring, Variadic<Index>:$position);
  let results = (outs Variadic<Hopper_TileType>:$tiles, Hopper_BarrierType:$full);
  let assemblyFormat = "$ring `[` $position `]` attr-dict `:` qualified(type($ring)) `->` qualified(type($tiles))";
  let hasVerifier = 1;
}

def Hopper_TmaLoadOp : Hopper_Op<"tma_load"> {
  let summary = "start the bulk copy of one tile into a slot";
  let description = [{
    Copies rows [row, row + R) of the tensor's (batch, head) plane, all panels, and completes the transaction on
    `barrier` (PTX ISA 9.7.9.25.5). Rows and columns outside the tensor arrive as zeros and are counted.

    * (C1) the box has the tile's rows and element type, and the columns of one panel.

    ```mlir
    hopper.tma_load %map[%b, %h, %row] to %tile signals %full
        : !hopper.tensor_map<128x64xbf16> to !hopper.tile<128x128xbf16>
    ```
  }];
  let arguments = (ins Hopper_TensorMapType:$map, Index:$batch, Index:$head, Index:$row, Hopper_TileType:$tile,
                       Hopper_BarrierType:$barrier);
  let assemblyFormat = [{$map `[` $batch `,` $head `,` $row `]` `to` $tile `signals` $barrier attr-dict
                         `:` qualified(type($map)) `to` qualified(type($tile))}];
  let hasVerifier = 1;
}

def Hopper_WaitOp : Hopper_Op<"wait"> {
  let summary = "consumer: wait until a slot is full";
  let description = [{
    `position` as for hopper.acquire. The tiles may be read by wgmma until hopper.release.

    * (C1) `position` has one or two values.
    * (C2) one tile result for each tile of a stage, of the same type.

    ```mlir
    %tile = hopper.wait %k[%n] : !hopper.ring<2 x [128x128xbf16]> -> !hopper.tile<128x128xbf16>
    ```
  }];
  let arguments = (ins Hopper_RingType:$ring, Variadic<Index>:$position);
  let results = (outs Variadic<Hopper_TileType>:$tiles);
  let assemblyFormat = "$ring `[` $position `]` attr-dict `:` qualified(type($ring)) `->` qualified(type($tiles))";
  let hasVerifier = 1;
}

def Hopper_ReleaseOp : Hopper_Op<"release"> {
  let summary = "consumer: give a slot back to the producer";
  let description = [{
    One thread of the warpgroup arrives on the empty barrier. All wgmma that read the slot must have been waited for
    (their completion is warpgroup-wide, so one thread speaks for all; PTX ISA 9.7.15.7).

    * (C1) `position` has one or two values.

    ```mlir
    hopper.release %k[%n] : !hopper.ring<2 x [128x128xbf16]>
    ```
  }];
  let arguments = (ins Hopper_RingType:$ring, Variadic<Index>:$position);
  let assemblyFormat = "$ring `[` $position `]` attr-dict `:` qualified(type($ring))";
  let hasVerifier = 1;
}

def Hopper_TmaStoreOp : Hopper_Op<"tma_store"> {
  let summary = "consumer: store the warpgroup's 64 rows of a tile to a tensor";
  let description = [{
    Makes the warpgroup's fragment stores visible to the async proxy, joins its 128 threads at named barrier
    `8 + warpgroup`, and lets one thread store rows [tile_row, tile_row + 64), all panels, to rows from `row` of the
    (batch, head) plane. Returns when the tile has been read. Rows and columns outside the tensor are not written.

    * (C1) the box has 64 rows, the tile's element type and the columns of one panel.

    ```mlir
    hopper.tma_store %tile[%r] to %map[%b, %h, %row] warpgroup(%w)
        : !hopper.tile<128x128xbf16> to !hopper.tensor_map<64x64xbf16>
    ```
  }];
  let arguments = (ins Hopper_TileType:$tile, Index:$tileRow, Hopper_TensorMapType:$map, Index:$batch, Index:$head,
                       Index:$row, Index:$warpgroup);
  let assemblyFormat = [{$tile `[` $tileRow `]` `to` $map `[` $batch `,` $head `,` $row `]` `warpgroup` `(` $warpgroup `)`
                         attr-dict `:` qualified(type($tile)) `to` qualified(type($map))}];
  let hasVerifier = 1;
}

def Hopper_AllocateOp : Hopper_Op<"allocate", [HasParent<"::mlir::gpu::GPUFuncOp">]> {
  let summary = "allocate one tile in shared memory, without barriers";
  let description = [{
    `offset` is assigned by hopper-allocate-shared.

    * (C1) `offset` is a multiple of 1024.

    ```mlir
    %o = hopper.allocate : !hopper.tile<128x128xbf16>
    ```
  }];
  let arguments = (ins OptionalAttr<I64Attr>:$offset);
  let results = (outs Hopper_TileType:$tile);
  let assemblyFormat = "(`offset` `(` $offset^ `)`)? attr-dict `:` qualified(type($tile))";
  let hasVerifier = 1;
}

def Hopper_ViewOp : Hopper_Op<"view", [Pure]> {
  let summary = "the same shared memory, seen as a tile with fewer columns";
  let description = [{
    Used to stage the output in the query's tile, which nothing reads any more.

    * (C1) same rows; the result needs no more bytes than the source.

    ```mlir
    %o = hopper.view %q : !hopper.tile<128x192xbf16> to !hopper.tile<128x128xbf16>
    ```
  }];
  let arguments = (ins Hopper_TileType:$tile);
  let results = (outs Hopper_TileType:$result);
  let assemblyFormat = "$tile attr-dict `:` qualified(type($tile)) `to` qualified(type($result))";
  let hasVerifier = 1;
}

class Hopper_TurnOp<string mnemonic> : Hopper_Op<mnemonic> {
  let arguments = (ins Index:$warpgroup, I32Attr:$of);
  let assemblyFormat = "$warpgroup `of` $of attr-dict";
  let hasVerifier = 1;
}
def Hopper_FirstTurnOp : Hopper_TurnOp<"first_turn"> {
  let summary = "once per kernel: give the first turn to warpgroup 0";
  let description = [{
    Ping-pong: consumer warpgroups issue their products in turn, so that one computes its softmax while the tensor cores
    work for another. Warpgroup w waits at named barrier `1 + w` of 256 threads; its predecessor arrives there.

    * (C1) `of` is 2 or 3: with one warpgroup there is nobody to take turns with.

    ```mlir
    hopper.first_turn %w of 2
    ```
  }];
}
def Hopper_TakeTurnOp : Hopper_TurnOp<"take_turn"> {
  let summary = "wait for this warpgroup's turn";
  let description = [{
    See hopper.first_turn. Every turn taken must be passed on, the same number of times in every warpgroup.

    * (C1) `of` is 2 or 3.

    ```mlir
    hopper.take_turn %w of 2
    ```
  }];
}
def Hopper_PassTurnOp : Hopper_TurnOp<"pass_turn"> {
  let summary = "hand the turn to the next warpgroup";
  let description = [{
    See hopper.first_turn.

    * (C1) `of` is 2 or 3.

    ```mlir
    hopper.pass_turn %w of 2
    ```
  }];
}
#endif
