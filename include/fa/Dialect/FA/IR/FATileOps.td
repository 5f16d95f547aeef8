// Levels L1 to L3: the online softmax over tiles. Included by FAOps.td.
#ifndef FA_DIALECT_FA_IR_FATILEOPS
#define FA_DIALECT_FA_IR_FATILEOPS

def FA_InitOp : FA_Op<"init", [Pure]> {
  let summary = "the state before any key was seen";
  let description = [{
    acc = 0, m = -inf, l = 0.

    ```mlir
    %s0 = fa.init : !fa.state<128x128xf32>
    ```
  }];
  let results = (outs FA_StateType:$state);
  let assemblyFormat = "attr-dict `:` qualified(type($state))";
}

def FA_StepOp : FA_Op<"step", [TypesMatchWith<"the new state has the type of the old one", "state", "result", "$_self">,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>]> {
  let summary = "one key tile of the online softmax";
  let description = [{
    With query rows i = query_tile * rows + [0, rows) and keys j = key_tile * tile_kv + [0, tile_kv):
    ```
    S = score(scale Q K^T);  S = mask ? S : -inf
    m' = max(m, rowmax(S));  a = e^(m - m');  P = e^(S - m');  l' = a l + rowsum(P);  acc' = a acc + P V
    ```
    Coordinates are in tiles; they name base memrefs, not subviews, because regions and TMA need absolute indices.
    Query rows past the end hold unspecified values; keys past the end are hidden. In an edge tile, indices are clamped to
    the last valid (i, j) before a region is evaluated.

    `full` promises that every valid query row of the tile sees every key of it (all of them exist): there is no mask
    region and no bounds check on keys. `fa-peel-masked-tiles` sets it where the mask analysis proved it.

    Constraints:
    * (C1) query, key and value have one element type; the state's element type is f64 for f64 inputs, else f32.
    * (C2) the state's depth is the depth of value, which is static.
    * (C3) query and key have the same static depth.
    * (C4) tile_kv is positive.
    * (C5) regions and scale are those of `fa.attention` (its C9 to C12); a `full` step has no mask region.

    ```mlir
    %s1 = fa.step %s0, %q[%b, %h, %i], %k, %v[%b, %hk, %j] tile_kv(128) scale(0.0883883461)
      mask (%b0: index, %h0: index, %i0: index, %j0: index) {
        %keep = arith.cmpi sle, %j0, %i0 : index
        fa.yield %keep : i1
      } : !fa.state<128x128xf32>, memref<2x32x4096x128xbf16>, memref<2x8x4096x128xbf16>, memref<2x8x4096x128xbf16>
    ```
  }];
  let arguments = (ins
    FA_StateType:$state, FA_MemRef4:$query, Index:$query_batch, Index:$query_head, Index:$query_tile,
    FA_MemRef4:$key, FA_MemRef4:$value, Index:$key_batch, Index:$key_head, Index:$key_tile,
    Optional<FA_Accumulator>:$dynamic_scale, OptionalAttr<F64Attr>:$scale, I64Attr:$tile_kv, UnitAttr:$full);
  let results = (outs FA_StateType:$result);
  let regions = (region AnyRegion:$score, AnyRegion:$mask);
  let assemblyFormat = [{
    $state `,` $query `[` $query_batch `,` $query_head `,` $query_tile `]` `,`
    $key `,` $value `[` $key_batch `,` $key_head `,` $key_tile `]`
    `tile_kv` `(` $tile_kv `)` (custom<Scale>($scale, $dynamic_scale, type($dynamic_scale))^)? (`full` $full^)?
    (custom<ScalarRegions>($score, $mask)^)?
    attr-dict `:` qualified(type($state)) `,` type($query) `,` type($key) `,` type($value)
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::Type getAccumulatorType() { return getState().getType().getElementType(); }
  }];
}

def FA_FinishOp : FA_Op<"finish", [MemoryEffects<[MemWrite]>]> {
  let summary = "normalises a state and stores it";
  let description = [{
    O = l == 0 ? 0 : acc / l and LSE = l == 0 ? -inf : m + ln l, for the rows of the query tile that exist.

    Constraints:
    * (C1) the state's depth is the depth of the output.
    * (C2) the log-sum-exp has the state's element type.

    ```mlir
    fa.finish %s, %o, %lse[%b, %h, %i] : !fa.state<128x128xf32>, memref<2x32x4096x128xbf16>, memref<2x32x4096xf32>
    ```
  }];
  let arguments = (ins FA_StateType:$state, FA_MemRef4:$output, Optional<FA_StatMemRef>:$lse,
    Index:$batch, Index:$head, Index:$query_tile);
  let assemblyFormat = [{
    $state `,` $output (`,` $lse^)? `[` $batch `,` $head `,` $query_tile `]`
    attr-dict `:` qualified(type($state)) `,` type($output) (`,` type($lse)^)?
  }];
  let hasVerifier = 1;
}

class FA_StateMemoryOp<string mnemonic, list<Trait> traits> : FA_Op<mnemonic, traits> {
  let hasVerifier = 1;
}

def FA_LoadStateOp : FA_StateMemoryOp<"load_state", [MemoryEffects<[MemRead]>]> {
  let summary = "loads the state of one query tile from memory";
  let description = [{
    The key_outer order (FlashAttention-1) keeps the states of all query tiles in memory: the accumulator
    `B x H x Sq x Dv`, row reference and row sum `B x H x Sq`. Rows past the end hold unspecified values.

    Constraints:
    * (C1) accumulator, reference and sum have the state's element type; the accumulator has the state's depth.

    ```mlir
    %s = fa.load_state %acc, %m, %l[%b, %h, %i]
      : memref<1x1x?x64xf32>, memref<1x1x?xf32>, memref<1x1x?xf32> -> !fa.state<128x64xf32>
    ```
  }];
  let arguments = (ins FA_MemRef4:$accumulator, FA_StatMemRef:$reference, FA_StatMemRef:$sum,
    Index:$batch, Index:$head, Index:$query_tile);
  let results = (outs FA_StateType:$state);
  let assemblyFormat = [{
    $accumulator `,` $reference `,` $sum `[` $batch `,` $head `,` $query_tile `]`
    attr-dict `:` type($accumulator) `,` type($reference) `,` type($sum) `->` qualified(type($state))
  }];
}

def FA_StoreStateOp : FA_StateMemoryOp<"store_state", [MemoryEffects<[MemWrite]>]> {
  let summary = "stores the state of one query tile to memory";
  let description = [{
    The counterpart of `fa.load_state`: writes the rows of the query tile that exist.

    Constraints:
    * (C1) accumulator, reference and sum have the state's element type; the accumulator has the state's depth.

    ```mlir
    fa.store_state %s, %acc, %m, %l[%b, %h, %i]
      : !fa.state<128x64xf32>, memref<1x1x?x64xf32>, memref<1x1x?xf32>, memref<1x1x?xf32>
    ```
  }];
  let arguments = (ins FA_StateType:$state, FA_MemRef4:$accumulator, FA_StatMemRef:$reference, FA_StatMemRef:$sum,
    Index:$batch, Index:$head, Index:$query_tile);
  let assemblyFormat = [{
    $state `,` $accumulator `,` $reference `,` $sum `[` $batch `,` $head `,` $query_tile `]`
    attr-dict `:` qualified(type($state)) `,` type($accumulator) `,` type($reference) `,` type($sum)
  }];
}

def FA_CombineOp : FA_Op<"combine", [DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "joins the results of an attention whose keys were split";
  let description = [{
    Split p saw some of the keys and left its normalised output and its log-sum-exp (Flash-Decoding). With the splits that
    saw a key (LSE_p > -inf):
    ```
    LSE[i] = ln sum_p e^LSE_p[i]          O[i, :] = sum_p e^(LSE_p[i] - LSE[i]) O_p[i, :]
    ```
    The output of a split that saw no key is not read. A row that no split saw gives O = 0 and LSE = -inf. Partial outputs
    are `P x B x H x Sq x Dv`, partial log-sum-exps `P x B x H x Sq`, in f32 (f64 for f64 outputs), natural logarithm.

    Constraints:
    * (C1) partial outputs, partial log-sum-exps and the log-sum-exp are f64 for an output of f64, else f32.
    * (C2) the partial outputs are splits x the shape of the output.
    * (C3) the partial log-sum-exps are splits x batch x heads x seq_q; the log-sum-exp is batch x heads x seq_q.

    ```mlir
    fa.combine ins(%po, %plse : memref<3x1x8x1x128xf32>, memref<3x1x8x1xf32>)
               outs(%o, %lse : memref<1x8x1x128xbf16>, memref<1x8x1xf32>)
    ```
  }];
  let arguments = (ins
    MemRefRankOf<[FA_Accumulator], [5]>:$partial_outputs, MemRefRankOf<[FA_Accumulator], [4]>:$partial_lses,
    FA_MemRef4:$output, Optional<FA_StatMemRef>:$lse);
  let assemblyFormat = [{
    `ins` `(` $partial_outputs `,` $partial_lses `:` type($partial_outputs) `,` type($partial_lses) `)`
    `outs` `(` $output (`,` $lse^)? `:` type($output) (`,` type($lse)^)? `)` attr-dict
  }];
  let hasVerifier = 1;
}

#endif // FA_DIALECT_FA_IR_FATILEOPS
