// Products on the tensor cores, and waiting for them.
#ifndef FA_DIALECT_HOPPER_IR_HOPPERGEMMOPS_TD
#define FA_DIALECT_HOPPER_IR_HOPPERGEMMOPS_TD
include "fa/Dialect/Hopper/IR/HopperRingOps.td"
include "mlir/IR/BuiltinTypeInterfaces.td"

def Hopper_Fragment : Type<CPred<"::mlir::fa::hopper::isFragment($_self)">, "fragment (vector<4k x f32>, 4 <= 4k <= 128)",
                           "::mlir::VectorType">;
def Hopper_PackedFragment : Type<CPred<"::mlir::fa::hopper::isPackedFragment($_self)">,
                                 "packed fragment (vector<2k x i32>)", "::mlir::VectorType">;

def Hopper_GemmSSOp : Hopper_Op<"gemm_ss"> {
  let summary = "start D = A B (+ C), both operands in shared memory";
  let description = [{
    One group of wgmma.mma_async m64nNk16: 64 rows of A from `row`, all of B, f32 accumulation (PTX ISA 9.7.15). Plain
    operands are stored as they are multiplied: A is [m][k], B is [k][n]; `transpose_a` reads A from a tile stored [k][m],
    `transpose_b` reads B from a tile stored [n][k]. `negate_a` multiplies by -A, exactly. The fence and the commit of the
    group belong to the op.

    * (C1) A and B have the same 16-bit element type.
    * (C2) the k extents agree and are multiples of 16.
    * (C3) N (columns of B) is a multiple of 8 up to 256, and D has N / 2 elements.
    * (C4) every use of D is in the block of this op: a product must not be in flight over a loop's edge (ptxas C7514).

    ```mlir
    %s = hopper.gemm_ss %q[%r], %k transpose_b
        : !hopper.tile<128x128xbf16>, !hopper.tile<128x128xbf16> -> !hopper.pending<vector<64xf32>>
    ```
  }];
  let arguments = (ins Hopper_TileType:$a, Index:$row, Hopper_TileType:$b, Optional<Hopper_Fragment>:$accumulator,
                       UnitAttr:$transposeA, UnitAttr:$transposeB, UnitAttr:$negateA);
  let results = (outs Hopper_PendingType:$result);
  let assemblyFormat = [{$a `[` $row `]` `,` $b (`plus` $accumulator^ `:` type($accumulator) `,`)?
    (`transpose_a` $transposeA^)? (`transpose_b` $transposeB^)? (`negate_a` $negateA^)? attr-dict
    `:` qualified(type($a)) `,` qualified(type($b)) `->` qualified(type($result))}];
  let hasVerifier = 1;
}

def Hopper_GemmRSOp : Hopper_Op<"gemm_rs"> {
  let summary = "start D = A B (+ C), A in registers";
  let description = [{
    As hopper.gemm_ss, with A a packed fragment of 64 rows: an accumulator converted to 16 bits is the A operand of the
    next product as it stands. A stays occupied until the product has been waited for.

    * (C1) B has a 16-bit element type.
    * (C2) A has k / 4 elements, where k is B's k extent, a multiple of 16.
    * (C3) N (columns of B) is a multiple of 8 up to 256, and D has N / 2 elements.
    * (C4) every use of D is in the block of this op.

    ```mlir
    %o1 = hopper.gemm_rs %p, %v plus %o : vector<64xf32>,
        : vector<32xi32>, !hopper.tile<128x128xbf16> -> !hopper.pending<vector<64xf32>>
    ```
  }];
  let arguments = (ins Hopper_PackedFragment:$a, Hopper_TileType:$b, Optional<Hopper_Fragment>:$accumulator,
                       UnitAttr:$transposeB, UnitAttr:$negateA);
  let results = (outs Hopper_PendingType:$result);
  let assemblyFormat = [{$a `,` $b (`plus` $accumulator^ `:` type($accumulator) `,`)?
    (`transpose_b` $transposeB^)? (`negate_a` $negateA^)? attr-dict
    `:` type($a) `,` qualified(type($b)) `->` qualified(type($result))}];
  let hasVerifier = 1;
}

def Hopper_WaitGemmsOp : Hopper_Op<"wait_gemms", [AttrSizedOperandSegments]> {
  let summary = "wait until at most `pending` groups are in flight and take their accumulators";
  let description = [{
    Groups complete in the order in which they were started. The results are the accumulators that are complete now; the
    wait is tied to them, so that no use can move above it. `keeping` names fragments that products read which complete
    here: values computed before the wait never take their registers.

    * (C1) `pending` is not negative.
    * (C2) each result has the fragment type of its operand.

    ```mlir
    %s1 = hopper.wait_gemms pending(1) %s : !hopper.pending<vector<64xf32>> -> vector<64xf32>
    %o1 = hopper.wait_gemms pending(0) %o keeping(%p : vector<32xi32>) : !hopper.pending<vector<64xf32>> -> vector<64xf32>
    ```
  }];
  let arguments = (ins I32Attr:$pending, Variadic<Hopper_PendingType>:$values,
                       Variadic<Hopper_PackedFragment>:$keeping);
  let results = (outs Variadic<Hopper_Fragment>:$results);
  let assemblyFormat = [{`pending` `(` $pending `)` $values (`keeping` `(` $keeping^ `:` type($keeping) `)`)? attr-dict
                         `:` qualified(type($values)) `->` type($results)}];
  let hasVerifier = 1;
}

def Hopper_ScheduleFenceOp : Hopper_Op<"schedule_fence"> {
  let summary = "keep everything that the values depend on above this point";
  let description = [{
    ptxas sinks exponentials below the wait of the product that should hide them. This opaque, almost free use of their
    sum, placed before the wait, stops it. The values must never be negative (row sums are not).

    ```mlir
    hopper.schedule_fence %l : vector<2xf32>
    ```
  }];
  let arguments = (ins VectorOfLengthAndType<[2], [F32]>:$values);
  let assemblyFormat = "$values attr-dict `:` type($values)";
}
#endif
