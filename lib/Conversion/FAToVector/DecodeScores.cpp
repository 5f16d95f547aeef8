// Scores of a block: regions, lazy row reference, exponentials, row sums.
#include "DecodeStep.h"
#include "Exp2.h"
#include "Gather.h"
#include "fa/Dialect/FA/IR/ScalarRegion.h"

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fa::cpu;

/// Vector by vector: the exponentials of one run beside the products of the next. Returns whether any pair is hidden.
FailureOr<Value> DecodeStep::emitScores(Value rowBlock, Value block, const Keys &keys, Value masked) {
  Value ahead = shape.stageKeys ? Value() : rowAhead(block);
  LogicalResult result = success();
  Value none = e.boolean(false);
  Value hidden = e.loop(e.index(0), e.index(shape.scoreVectors()), 1, {none}, [&](Value vector, ValueRange carried) {
    Value first = e.mul(vector, shape.group());
    Value products = emitDotProducts(rowBlock, first, keys, ahead);
    FailureOr<Value> scores = applyRegions(rowBlock, e.add(block, first), products, masked);
    if (failed(scores)) {
      result = failure();
      return SmallVector<Value>{none};
    }
    emitRaiseCheck(rowBlock, vector, *scores);
    return SmallVector<Value>{e.either(carried[0], emitExponentials(rowBlock, vector, *scores))};
  })[0];
  if (failed(result))
    return failure();
  return hidden;
}

/// Of lanes that are rows x keys from `firstOfVector` (relative to the tile) on.
FailureOr<Value> DecodeStep::applyRegions(Value rowBlock, Value firstOfVector, Value scores, Value masked) {
  if (score)
    return changedScores(rowBlock, firstOfVector, scores, masked);
  LogicalResult result = success();
  Value changed = e.choose(
      masked,
      [&] {
        FailureOr<Value> hidden = changedScores(rowBlock, firstOfVector, scores, masked);
        result = hidden;
        return SmallVector<Value>{succeeded(hidden) ? *hidden : scores};
      },
      [&] { return SmallVector<Value>{scores}; })[0];
  if (failed(result))
    return failure();
  return changed;
}

FailureOr<Value> DecodeStep::changedScores(Value rowBlock, Value firstOfVector, Value x, Value masked) {
  const int64_t group = shape.group();
  SmallVector<int64_t> rowOfLane, keyOfLane;
  for (int64_t lane = 0; lane < shape.lanes(); ++lane) {
    rowOfLane.push_back(lane / group);
    keyOfLane.push_back(lane % group);
  }
  auto lanesFrom = [&](Value base, ArrayRef<int64_t> offsets) -> Value {
    Value steps = arith::ConstantOp::create(e.builder, e.loc, e.builder.getIndexVectorAttr(offsets));
    return arith::AddIOp::create(e.builder, e.loc, e.broadcast(base), steps);
  };
  auto clamp = [&](Value positions, Value length) -> Value {
    return arith::MinSIOp::create(e.builder, e.loc, positions, e.broadcast(e.sub(length, e.index(1))));
  };
  Value queries = clamp(lanesFrom(e.add(firstQuery, e.mul(rowBlock, shape.rows)), rowOfLane), seqQ);
  Value positions = lanesFrom(firstOfVector, keyOfLane);
  Value keys = clamp(lanesFrom(e.add(firstKey, firstOfVector), keyOfLane), seqKv);
  SmallVector<Value> pair{operands.batch, operands.head, queries, keys};
  if (score) {
    SmallVector<Value> arguments{x};
    llvm::append_range(arguments, pair);
    FailureOr<Value> changed = cloneScalarRegion(e.builder, *score, arguments, emitGather);
    if (failed(changed))
      return failure();
    x = *changed;
  }
  // Keys past the tile belong to another step, or to nothing.
  Value shown = e.compare(arith::CmpIPredicate::slt, positions, e.broadcast(numKeys));
  if (mask) {
    FailureOr<Value> keep = cloneScalarRegion(e.builder, *mask, pair, emitGather);
    if (failed(keep))
      return failure();
    shown = e.both(shown, isa<VectorType>((*keep).getType()) ? *keep : e.broadcast(*keep));
  }
  Value hidden = e.select(shown, x, e.splat(-std::numeric_limits<double>::infinity()));
  // Without a score region this code runs for masked blocks only.
  return score ? e.select(masked, hidden, x) : hidden;
}

void DecodeStep::emitRaiseCheck(Value rowBlock, Value vector, Value scores) {
  Value threshold = e.load(scratch.threshold, e.mul(rowBlock, shape.lanes()));
  Value above = arith::CmpFOp::create(e.builder, e.loc, arith::CmpFPredicate::OGT, scores, threshold);
  e.when(e.anyLane(above),
         [&] { func::CallOp::create(e.builder, e.loc, raise, ValueRange{scores, operands.arena, rowBlock, vector}); });
}

/// Returns whether a pair is hidden. Its weight is -0: that of a visible pair may underflow to 0, and is told apart.
Value DecodeStep::emitExponentials(Value rowBlock, Value vector, Value scores) {
  Value lane = e.mul(rowBlock, shape.lanes()), row = e.add(e.mul(rowBlock, shape.scoreVectors()), vector);
  Value reference = e.load(scratch.reference, lane), sum = e.load(scratch.sum, lane);
  Value p = emitExp2(e, e.mulf(e.subf(scores, reference), e.splat(shape.kernel.exponentScale)));
  Value hidden = e.compare(arith::CmpFPredicate::OEQ, scores, e.splat(-std::numeric_limits<double>::infinity()));
  p = e.select(hidden, e.splat(-0.0), p);
  e.store(e.addf(sum, p), scratch.sum, lane);
  e.store(p, scratch.scores, row, e.index(0));
  return e.anyLane(hidden);
}
