// A block of scores: dot products, regions, lazy row reference, exponentials, row sums.
#include "Exp2.h"
#include "Gather.h"
#include "MicroKernel.h"
#include "StepBuilder.h"
#include "fa/Dialect/FA/IR/ScalarRegion.h"

using namespace mlir;
using namespace mlir::fa::cpu;

SmallVector<Value> StepBuilder::emitDotProducts(Value subTile, Value block) {
  const int64_t rows = e.table.keys, lanes = e.table.lanes;
  Value base = e.mul(subTile, shape.depth), last = e.sub(numKeys, e.index(1));
  // Rows past the last key repeat it; their scores are hidden.
  SmallVector<Value> keyRows;
  for (int64_t r = 0; r < rows; ++r)
    keyRows.push_back(e.min(e.add(block, r), last));
  MicroKernel product{rows,
                      [&](Value t, int64_t r) -> Value {
                        return memref::LoadOp::create(e.builder, e.loc, keys, ValueRange{keyRows[r], t});
                      },
                      [&](Value t, int64_t i) { return e.load(scratch.queries, e.add(base, t), e.index(i * lanes)); }};
  SmallVector<Value> zeros(rows * e.table.queryVectors, e.splat(0.0));
  return product.emit(e, e.index(0), e.index(shape.depth), zeros);
}

LogicalResult StepBuilder::emitScoreBlock(Value subTile, Value block, const KeyRange &range) {
  SmallVector<Value> scores = emitDotProducts(subTile, block);
  Value end = e.add(block, e.table.keys);
  Value visible = e.both(e.compare(arith::CmpIPredicate::sle, range.fullLower, block),
                         e.compare(arith::CmpIPredicate::sle, end, range.fullUpper));
  Value masked = arith::XOrIOp::create(e.builder, e.loc, visible, e.boolean(true));
  FailureOr<SmallVector<Value>> changed = applyRegions(subTile, block, masked, scores);
  if (failed(changed))
    return failure();
  emitRaiseCheck(*changed, subTile, block);
  emitExponentials(*changed, subTile, block);
  return success();
}

/// Score and mask regions run row by row through memory: one copy of their code, however large, and none of it on the
/// path of blocks that need neither.
FailureOr<SmallVector<Value>> StepBuilder::applyRegions(Value subTile, Value block, Value masked,
                                                        SmallVector<Value> scores) {
  const int64_t vectors = e.table.queryVectors, lanes = e.table.lanes;
  LogicalResult result = success();
  auto through = [&]() -> SmallVector<Value> {
    for (int64_t r = 0; r < e.table.keys; ++r)
      for (int64_t i = 0; i < vectors; ++i)
        e.store(scores[r * vectors + i], scratch.scores, e.add(block, r), e.index(i * lanes));
    e.loop(block, e.add(block, e.table.keys), 1, [&](Value row) { result = emitScoreRow(subTile, row, masked); });
    SmallVector<Value> reloaded;
    for (int64_t r = 0; r < e.table.keys; ++r)
      for (int64_t i = 0; i < vectors; ++i)
        reloaded.push_back(e.load(scratch.scores, e.add(block, r), e.index(i * lanes)));
    return reloaded;
  };
  SmallVector<Value> changed = score ? through() : e.choose(masked, through, [&] { return scores; });
  if (failed(result))
    return failure();
  return changed;
}

LogicalResult StepBuilder::emitScoreRow(Value subTile, Value row, Value masked) {
  const int64_t lanes = e.table.lanes;
  Value keyIndex = e.add(firstKey, row), lastKey = e.sub(seqKv, e.index(1));
  Value clampedKey = e.min(keyIndex, lastKey);
  Value first = e.add(firstQuery, e.mul(subTile, e.table.subTile()));
  Value lastQuery = e.broadcast(e.sub(seqQ, e.index(1)));
  for (int64_t i = 0; i < e.table.queryVectors; ++i) {
    Value x = e.load(scratch.scores, row, e.index(i * lanes));
    Value queries = e.lanesFrom(e.add(first, i * lanes));
    queries = arith::MinSIOp::create(e.builder, e.loc, queries, lastQuery);
    if (score) {
      FailureOr<Value> y =
          cloneScalarRegion(e.builder, *score, {x, operands.batch, operands.head, queries, clampedKey}, emitGather);
      if (failed(y))
        return failure();
      x = *y;
    }
    FailureOr<Value> hidden = hide(x, queries, keyIndex, clampedKey);
    if (failed(hidden))
      return failure();
    // Without a score region this code runs for masked blocks only.
    e.store(score ? e.select(masked, *hidden, x) : *hidden, scratch.scores, row, e.index(i * lanes));
  }
  return success();
}

FailureOr<Value> StepBuilder::hide(Value x, Value queries, Value keyIndex, Value clampedKey) {
  Value exists = e.compare(arith::CmpIPredicate::slt, keyIndex, seqKv);
  Value hidden = e.splat(-std::numeric_limits<double>::infinity());
  if (mask) {
    FailureOr<Value> keep =
        cloneScalarRegion(e.builder, *mask, {operands.batch, operands.head, queries, clampedKey}, emitGather);
    if (failed(keep))
      return failure();
    x = e.select(*keep, x, hidden);
  }
  return e.select(exists, x, hidden);
}

void StepBuilder::emitRaiseCheck(ArrayRef<Value> scores, Value subTile, Value block) {
  const int64_t vectors = e.table.queryVectors;
  SmallVector<Value> arguments;
  Value exceeded;
  for (int64_t i = 0; i < vectors; ++i) {
    SmallVector<Value> level;
    for (int64_t r = 0; r < e.table.keys; ++r)
      level.push_back(scores[r * vectors + i]);
    while (level.size() > 1) {
      SmallVector<Value> next;
      for (size_t j = 0; j + 1 < level.size(); j += 2)
        next.push_back(e.larger(level[j], level[j + 1]));
      if (level.size() % 2)
        next.push_back(level.back());
      level = next;
    }
    arguments.push_back(level[0]);
    Value position = e.add(e.mul(subTile, e.table.subTile()), i * e.table.lanes);
    Value above = arith::CmpFOp::create(e.builder, e.loc, arith::CmpFPredicate::OGT, level[0],
                                        e.load(scratch.threshold, position));
    exceeded = exceeded ? arith::OrIOp::create(e.builder, e.loc, exceeded, above) : above;
  }
  arguments.append({operands.arena, subTile, block});
  e.when(e.anyLane(exceeded), [&] { func::CallOp::create(e.builder, e.loc, raise, arguments); });
}

void StepBuilder::emitExponentials(ArrayRef<Value> scores, Value subTile, Value block) {
  const int64_t vectors = e.table.queryVectors;
  Value scale = e.splat(shape.exponentScale);
  for (int64_t i = 0; i < vectors; ++i) {
    Value position = e.add(e.mul(subTile, e.table.subTile()), i * e.table.lanes);
    Value reference = e.load(scratch.reference, position), sum = e.load(scratch.sum, position);
    for (int64_t r = 0; r < e.table.keys; ++r) {
      Value p = emitExp2(e, e.mulf(e.subf(scores[r * vectors + i], reference), scale));
      sum = e.addf(sum, p);
      e.store(p, scratch.scores, e.add(block, r), e.index(i * e.table.lanes));
    }
    e.store(sum, scratch.sum, position);
  }
}
