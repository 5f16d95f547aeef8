// What a fragment's elements are, rows of fragments, and moving fragments to shared memory.
#ifndef FA_DIALECT_HOPPER_IR_HOPPERFRAGMENTOPS_TD
#define FA_DIALECT_HOPPER_IR_HOPPERFRAGMENTOPS_TD
include "fa/Dialect/Hopper/IR/HopperGemmOps.td"
include "mlir/Interfaces/InferTypeOpInterface.td"

def Hopper_RowPair : VectorOfLengthAndType<[2], [F32, Index, I1]>;
def Hopper_RowValues : VectorOfLengthAndType<[2], [F32]>,
                       BuildableType<"::mlir::VectorType::get({2}, $_builder.getF32Type())">;

def Hopper_RowIndices : VectorOfLengthAndType<[2], [Index]>,
                        BuildableType<"::mlir::VectorType::get({2}, $_builder.getIndexType())">;

def Hopper_FragmentRowsOp : Hopper_Op<"fragment_rows", [Pure]> {
  let summary = "the two rows that this thread holds of its warpgroup's fragments";
  let description = [{
    ```
    result[e] = from + 16 (t / 32) + (t mod 32) / 4 + 8 e        t: thread of the warpgroup; from: 0 if left out
    ```
    `from` is a position in a tensor: neither it nor a result is negative or beyond the last tile, so that positions and
    lengths can be subtracted in 32 bits.

    ```mlir
    %rows = hopper.fragment_rows from(%first) : vector<2xindex>
    ```
  }];
  let arguments = (ins Optional<Index>:$from);
  let results = (outs Hopper_RowIndices:$result);
  let assemblyFormat = "(`from` `(` $from^ `)`)? attr-dict `:` type($result)";
}

def Hopper_FragmentColumnsOp : Hopper_Op<"fragment_columns", [Pure]> {
  let summary = "the column of each element of a fragment";
  let description = [{
    ```
    result[v] = from + 8 (v / 4) + 2 (t mod 4) + v mod 2          t: thread of the warpgroup; from: 0 if left out
    ```
    `from` is a position as in hopper.fragment_rows. The lowering keeps sums, differences and comparisons of positions
    as one value per row and a constant per column: `j <= i` is a comparison with an immediate.

    * (C1) the length is a multiple of 4 up to 128.

    ```mlir
    %columns = hopper.fragment_columns from(%first) : vector<64xindex>
    ```
  }];
  let arguments = (ins Optional<Index>:$from);
  let results = (outs VectorOfRankAndType<[1], [Index]>:$result);
  let assemblyFormat = "(`from` `(` $from^ `)`)? attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Hopper_RowBroadcastOp : Hopper_Op<"row_broadcast", [Pure]> {
  let summary = "give every element of a fragment the value of its row";
  let description = [{
    ```
    result[v] = value[(v / 2) mod 2]
    ```
    * (C1) the element types agree; the length is a multiple of 4 up to 128.

    ```mlir
    %m = hopper.row_broadcast %row_max : vector<2xf32> to vector<64xf32>
    ```
  }];
  let arguments = (ins Hopper_RowPair:$value);
  let results = (outs VectorOfRankAndType<[1], [F32, Index, I1]>:$result);
  let assemblyFormat = "$value attr-dict `:` type($value) `to` type($result)";
  let hasVerifier = 1;
}

def Hopper_RowReduceOp : Hopper_Op<"row_reduce", [Pure]> {
  let summary = "combine this thread's elements of each of its two rows";
  let description = [{
    Four independent chains, so that the latency of one does not stall the others. A NaN loses against a number in `max`
    and wins in `sum`. The other columns of a row are held by the three other threads of a quad: see hopper.quad_reduce.

    ```mlir
    %m = hopper.row_reduce max %s : vector<64xf32>
    ```
  }];
  let arguments = (ins Hopper_ReductionAttr:$kind, Hopper_Fragment:$value);
  let results = (outs Hopper_RowValues:$result);
  let assemblyFormat = "$kind $value attr-dict `:` type($value)";
}

def Hopper_QuadReduceOp : Hopper_Op<"quad_reduce", [SameOperandsAndResultType]> {
  let summary = "combine row values over the four threads that share a row";
  let description = [{
    Two shuffles for each row; every thread gets the result.

    ```mlir
    %m1 = hopper.quad_reduce max %m : vector<2xf32>
    ```
  }];
  let arguments = (ins Hopper_ReductionAttr:$kind, Hopper_RowValues:$value);
  let results = (outs Hopper_RowValues:$result);
  let assemblyFormat = "$kind $value attr-dict `:` type($value)";
}

def Hopper_AnyOp : Hopper_Op<"any"> {
  let summary = "true in all threads of a warp when the condition holds in one of them";
  let description = [{
    ```mlir
    %large = hopper.any %condition
    ```
  }];
  let arguments = (ins I1:$condition);
  let results = (outs I1:$result);
  let assemblyFormat = "$condition attr-dict";
}

def Hopper_PackOp : Hopper_Op<"pack", [Pure]> {
  let summary = "round a fragment to 16 bits, two neighbouring columns in each i32";
  let description = [{
    The lower half of `result[i]` is `value[2 i]`, the upper half `value[2 i + 1]`; rounds to nearest even.

    * (C1) the element type is bf16 or f16.
    * (C2) the result has half as many elements as the value.

    ```mlir
    %p = hopper.pack %s to bf16 : vector<64xf32> -> vector<32xi32>
    ```
  }];
  let arguments = (ins Hopper_Fragment:$value, TypeAttr:$elementType);
  let results = (outs Hopper_PackedFragment:$packed);
  let assemblyFormat = "$value `to` $elementType attr-dict `:` type($value) `->` type($packed)";
  let hasVerifier = 1;
}

def Hopper_StoreFragmentOp : Hopper_Op<"store_fragment"> {
  let summary = "store a packed fragment to 64 rows of a tile";
  let description = [{
    stmatrix (PTX ISA 9.7.14.6.16) to rows [row, row + 64); what the fragment leaves of its last panel becomes zero, since
    a bulk store reads whole panels. Readers through the async proxy need a fence: hopper.tma_store has it.

    * (C1) the tile has a 16-bit element type and at least as many columns as the fragment (4 per element).

    ```mlir
    hopper.store_fragment %p, %tile[%r] : vector<32xi32>, !hopper.tile<128x128xbf16>
    ```
  }];
  let arguments = (ins Hopper_PackedFragment:$value, Hopper_TileType:$tile, Index:$row);
  let assemblyFormat = "$value `,` $tile `[` $row `]` attr-dict `:` type($value) `,` qualified(type($tile))";
  let hasVerifier = 1;
}

def Hopper_StoreRowsOp : Hopper_Op<"store_rows"> {
  let summary = "store one f32 per row to global memory";
  let description = [{
    One thread of each quad writes `value[e]` to `memref[batch, head, rows[e]]` where `rows[e] < limit`.

    ```mlir
    hopper.store_rows %lse, %memref[%b, %h, %rows] limit(%n) : memref<?x?x?xf32>
    ```
  }];
  let arguments = (ins Hopper_RowValues:$value, MemRefRankOf<[F32], [3]>:$memref, Index:$batch, Index:$head,
                       Hopper_RowIndices:$rows, Index:$limit);
  let assemblyFormat = [{$value `,` $memref `[` $batch `,` $head `,` $rows `]` `limit` `(` $limit `)` attr-dict
                         `:` type($memref)}];
}

def Hopper_GatherOp : Hopper_Op<"gather"> {
  let summary = "load one value per element of a fragment";
  let description = [{
    Each index is the same for all elements (index) or has one value per element (vector of index). Offsets are computed
    in 64 bits.

    * (C1) one index per dimension, at least one of them a vector; vectors and result have one length.
    * (C2) the result's elements are the memref's.

    ```mlir
    %bias = hopper.gather %m[%b, %i] : memref<?x?xf32>, index, vector<64xindex> -> vector<64xf32>
    ```
  }];
  let arguments = (ins AnyMemRef:$memref, Variadic<AnyTypeOf<[Index, VectorOfRankAndType<[1], [Index]>]>>:$indices);
  let results = (outs VectorOfRankAndType<[1], [AnyType]>:$result);
  let assemblyFormat = "$memref `[` $indices `]` attr-dict `:` type($memref) `,` type($indices) `->` type($result)";
  let hasVerifier = 1;
}
#endif
