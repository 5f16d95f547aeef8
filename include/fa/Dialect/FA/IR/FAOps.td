// fa.attention (level L0), what is computed; and the operations every level shares.
#ifndef FA_DIALECT_FA_IR_FAOPS
#define FA_DIALECT_FA_IR_FAOPS

include "fa/Dialect/FA/IR/FAAttrs.td"
include "fa/Dialect/FA/IR/FATypes.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/DestinationStyleOpInterface.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class FA_Op<string mnemonic, list<Trait> traits = []> : Op<FA_Dialect, mnemonic, traits>;

def FA_Float : AnyTypeOf<[F64, F32, F16, BF16], "f64, f32, f16 or bf16">;
def FA_Accumulator : AnyTypeOf<[F64, F32], "f64 or f32">;
def FA_MemRef4 : MemRefRankOf<[FA_Float], [4]>;
def FA_StatMemRef : MemRefRankOf<[FA_Accumulator], [3]>;
def FA_Tensor4OrMemRef4 : AnyTypeOf<[FA_MemRef4, 4DTensorOf<[FA_Float]>], "4-d tensor or memref of f64, f32, f16 or bf16">;
def FA_Output : AnyTypeOf<[FA_MemRef4, 4DTensorOf<[FA_Float]>, FA_StatMemRef, 3DTensorOf<[FA_Accumulator]>],
  "4-d output or 3-d log-sum-exp, tensor or memref">;

//===----------------------------------------------------------------------===//
// fa.attention
//===----------------------------------------------------------------------===//

def FA_AttentionOp : FA_Op<"attention", [
    AttrSizedOperandSegments, DestinationStyleOpInterface,
    DeclareOpInterfaceMethods<ReifyRankedShapedTypeOpInterface, ["reifyResultShapes"]>,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>]> {
  let summary = "attention with any mask and any score function";
  let description = [{
    ```
    S[i, j]  = scale * sum_d Q[b, h, i, d] K[b, hk, j, d]             hk = h floordiv (heads_q / heads_kv)
    S[i, j]  = score(S[i, j], b, h, i, j)                             when a score region is given
    S[i, j]  = -inf  unless  masks(i, j) and mask(b, h, i, j)
    O[i, :]  = sum_j softmax(S[i, :])[j] V[b, hk, j, :]               LSE[i] = ln sum_j e^S[i, j]
    ```
    Operands are [batch, heads, sequence, depth]: query `B x Hq x Sq x D`, key `B x Hkv x Sk x D`, value
    `B x Hkv x Sk x Dv`, output `B x Hq x Sq x Dv`, optional log-sum-exp `B x Hq x Sq`. Any dim may be `?`. All operands
    are tensors (results are returned) or memrefs (outputs are written in place), with any strided layout.

    Without `scale` the scale is 1/sqrt(D). A row that sees no key gives O = 0 and LSE = -inf. Regions are pure or
    read-only and may capture values from outside. `%s` is f64 for f64 inputs, else f32. `masks` are ANDed with the mask
    region.

    Constraints:
    * (C1) query, key, value and outputs are all tensors or all memrefs; memrefs have a strided layout.
    * (C2) query, key, value and output have one element type.
    * (C3) query, key and value have the same batch.
    * (C4) query and key have the same depth, at least 1.
    * (C5) key and value have the same heads and sequence length.
    * (C6) heads of query are a multiple of heads of key.
    * (C7) the output is batch x heads_q x seq_q x depth_v.
    * (C8) the log-sum-exp is batch x heads_q x seq_q, of f32 (f64 for f64 inputs).
    * (C9) a static scale is finite; static and dynamic scale exclude each other; a dynamic scale has the type of `%s`.
    * (C10) the score region takes (%s, index, index, index, index) and yields the type of `%s`.
    * (C11) the mask region takes (index, index, index, index) and yields i1.
    * (C12) operations of both regions are pure or only read memory.
    * (C13) a tensor form returns the types of its outputs; a memref form returns nothing.
    * (C14) no output is a broadcast view (a stride of 0 in a dimension larger than 1).

    ```mlir
    fa.attention ins(%q, %k, %v : memref<2x32x4096x128xbf16>, memref<2x8x4096x128xbf16>, memref<2x8x4096x128xbf16>)
                 outs(%o, %lse : memref<2x32x4096x128xbf16>, memref<2x32x4096xf32>)
                 scale(0.0883883461) masks [#fa.causal<bottom_right>]
                 score (%s: f32, %b: index, %h: index, %i: index, %j: index) {
      %cap = math.tanh %s : f32
      fa.yield %cap : f32
    }
    ```
  }];
  let arguments = (ins
    FA_Tensor4OrMemRef4:$query, FA_Tensor4OrMemRef4:$key, FA_Tensor4OrMemRef4:$value,
    Variadic<FA_Output>:$outputs, Optional<FA_Accumulator>:$dynamic_scale,
    OptionalAttr<F64Attr>:$scale, OptionalAttr<FA_MaskArrayAttr>:$masks, OptionalAttr<FA_ScheduleAttr>:$schedule);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let regions = (region AnyRegion:$score, AnyRegion:$mask);
  let assemblyFormat = [{
    `ins` `(` $query `,` $key `,` $value `:` type($query) `,` type($key) `,` type($value) `)`
    `outs` `(` $outputs `:` type($outputs) `)`
    (custom<Scale>($scale, $dynamic_scale, type($dynamic_scale))^)?
    (`masks` $masks^)? (`schedule` `(` qualified($schedule)^ `)`)?
    (custom<ScalarRegions>($score, $mask)^)?
    attr-dict (`->` type($results)^)?
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let hasCanonicalizer = 1;
  let extraClassDeclaration = [{
    /// The output, and the log-sum-exp or null.
    ::mlir::Value getOutput() { return getOutputs().front(); }
    ::mlir::Value getLse() { return getOutputs().size() > 1 ? getOutputs()[1] : ::mlir::Value(); }
    ::mlir::ShapedType getQueryType() { return ::llvm::cast<::mlir::ShapedType>(getQuery().getType()); }
    ::mlir::ShapedType getKeyType() { return ::llvm::cast<::mlir::ShapedType>(getKey().getType()); }
    ::mlir::ShapedType getValueType() { return ::llvm::cast<::mlir::ShapedType>(getValue().getType()); }
    /// Type of scores, softmax and accumulator: f64 for f64 inputs, else f32.
    ::mlir::Type getAccumulatorType();
    bool hasTensorSemantics() { return ::llvm::isa<::mlir::RankedTensorType>(getQuery().getType()); }
    ::mlir::MutableOperandRange getDpsInitsMutable() { return getOutputsMutable(); }
  }];
}

def FA_YieldOp : FA_Op<"yield", [Pure, Terminator, ParentOneOf<["AttentionOp", "StepOp"]>]> {
  let summary = "ends a score or mask region";
  let description = [{
    Yields the new score of a score region, or whether the pair is visible (i1) of a mask region.

    ```mlir
    fa.yield %keep : i1
    ```
  }];
  let arguments = (ins AnyType:$value);
  let assemblyFormat = "$value attr-dict `:` type($value)";
}

include "fa/Dialect/FA/IR/FATileOps.td"
include "fa/Dialect/FA/IR/FALaunchOps.td"

#endif // FA_DIALECT_FA_IR_FAOPS
