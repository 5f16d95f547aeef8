// Scalar code that the tiled and the naive form share: one logit, one probability, one row of P V, one finished row.
// What two forms have in common is emitted once, so that they differ in tiling only.
#pragma once
#include "fa/Dialect/FA/IR/FA.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::fa::loops {

/// Where one (batch, head) of an attention reads its operands, and how it scores them.
struct AttentionSource {
  Value query, key, value;     ///< memrefs [batch, heads, sequence, depth]
  Value queryBatch, queryHead; ///< index
  Value keyBatch, keyHead;     ///< index
  Value scale;                 ///< of the accumulator type; null when the scale is a static zero or one
  bool scaleIsZero = false;
  Region *score = nullptr; ///< null when absent
  Region *mask = nullptr;  ///< null when absent
  ArrayAttr masks;         ///< named masks, or null
  Type accumulator;        ///< f64 for f64 inputs, else f32
};

/// Fills `scale` and `scaleIsZero` from a dynamic or static scale, or 1/sqrt(depth of the query) when neither is given.
/// Emits what does not depend on a pair, so the builder stands outside the loops. Fails when the accumulator type
/// cannot hold it.
LogicalResult emitScale(ImplicitLocOpBuilder &b, Operation *op, Value dynamicScale, FloatAttr scale,
                        AttentionSource &source);

/// Loop `for index in [0, size) step 1` whose body `fill` gets the index; the builder continues after the loop.
void emitLoop(ImplicitLocOpBuilder &b, Value size, llvm::function_ref<void(Value index)> fill);

/// Folds [0, size) into a value: `fold` gets the index and the value so far and returns the next one.
Value emitReduction(ImplicitLocOpBuilder &b, Value size, Value start,
                    llvm::function_ref<Value(Value index, Value carried)> fold);

/// min(tile, size - first): how many of `tile` positions from `first` exist. Negative when `first` is past the end.
Value emitValidCount(ImplicitLocOpBuilder &b, Value size, Value first, int64_t tile);

/// The logit of the pair (i, j), absolute indices: score(scale * dot), or -inf when a mask hides it.
FailureOr<Value> emitLogit(ImplicitLocOpBuilder &b, const AttentionSource &source, Value i, Value j);

/// True unless the logit is -inf.
Value emitIsVisible(ImplicitLocOpBuilder &b, Value logit);

/// e^(logit - reference) as exp2((logit - reference) log2 e): exactly 1 at the reference.
Value emitExp(ImplicitLocOpBuilder &b, Value logit, Value reference);

/// A probability rounded to the element type of the inputs, as PV sees it, in the accumulator type.
Value emitRounded(ImplicitLocOpBuilder &b, Value probability, Type element);

/// accumulator[prefix, d] += probability * value[kb, kh, j, d] for every d.
void emitAccumulate(ImplicitLocOpBuilder &b, const AttentionSource &source, Value accumulator, ValueRange prefix,
                    Value probability, Value j);

/// Accumulator, row reference and row sum of a row that has seen all keys.
struct FinishedRow {
  Value accumulator;         ///< memref
  SmallVector<Value> prefix; ///< indices of its row, without the depth
  Value reference, sum;      ///< scalars
};

/// output[b, h, i, :] = sum == 0 ? 0 : accumulator / sum, lse[b, h, i] = sum == 0 ? -inf : reference + ln sum. `lse`
/// may be null.
void emitFinishedRow(ImplicitLocOpBuilder &b, const FinishedRow &row, Value output, Value lse, ValueRange position);

/// Float constant of `type` (f32 or f64).
Value emitFloat(ImplicitLocOpBuilder &b, Type type, double value);
/// -inf of `type`.
Value emitMinusInfinity(ImplicitLocOpBuilder &b, Type type);
/// Index constant.
Value emitIndex(ImplicitLocOpBuilder &b, int64_t value);
/// Size of one dim of a memref: a constant when it is static.
Value emitDim(ImplicitLocOpBuilder &b, Value memref, int64_t dim);

} // namespace mlir::fa::loops
