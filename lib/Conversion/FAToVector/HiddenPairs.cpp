// Score functions and masks on a register block of scores.
#include "Gather.h"
#include "StepBuilder.h"
#include "fa/Dialect/FA/IR/ScalarRegion.h"

using namespace mlir;
using namespace mlir::fa::cpu;

/// Score functions and long masks run row by row through memory: one copy of their code, however large, and none of it
/// on the path of blocks that need neither.
FailureOr<SmallVector<Value>> StepBuilder::applyRegions(const ScoreBlock &block, const Visit &visit,
                                                        SmallVector<Value> scores) {
  Value end = e.add(block.key, e.table.keys);
  Value visible = e.both(e.compare(arith::CmpIPredicate::sle, visit.fullLower, block.key),
                         e.compare(arith::CmpIPredicate::sle, end, visit.fullUpper));
  Value masked = arith::XOrIOp::create(e.builder, e.loc, visible, e.boolean(true));
  LogicalResult result = success();
  auto through = [&]() -> SmallVector<Value> {
    storeScores(scores, block);
    SmallVector<Value> queries = queriesOf(block.subTile);
    e.loop(block.key, e.add(block.key, e.table.keys), 1,
           [&](Value row) { result = emitScoreRow(queries, row, masked); });
    return loadScores(block);
  };
  SmallVector<Value> changed = score ? through() : e.choose(masked, through, [&] { return scores; });
  if (failed(result))
    return failure();
  return changed;
}

/// The scores of a masked block, without leaving the registers.
SmallVector<Value> StepBuilder::hideInRegisters(const ScoreBlock &block, SmallVector<Value> scores) {
  Value hidden = e.splat(-std::numeric_limits<double>::infinity());
  SmallVector<Value> queries, seen;
  for (int64_t i = 0; mask && i < block.vectors; ++i) {
    queries.push_back(laneMask->positions(e, e.add(firstQuery, positionOf(block, i))));
    seen.push_back(e.load(scratch.seen, laneOf(block, i)));
  }
  Value first = mask ? laneMask->broadcast(e, e.add(firstKey, block.key)) : Value();
  Value left = e.sub(numKeys, block.key); // keys that exist
  for (int64_t r = 0; r < e.table.keys; ++r) {
    Value exists = mayEndInBlock(e.table.keys) ? e.compare(arith::CmpIPredicate::slt, e.index(r), left) : Value();
    for (int64_t i = 0; i < block.vectors; ++i) {
      Value &x = scores[r * block.vectors + i];
      if (mask)
        x = e.select(laneMask->visible(e, queries[i], laneMask->offset(e, first, r)), x, hidden);
      if (exists)
        x = e.select(exists, x, hidden);
      if (mask)
        seen[i] = e.larger(x, seen[i]);
    }
  }
  for (auto [i, largest] : llvm::enumerate(seen))
    e.store(largest, scratch.seen, laneOf(block, i));
  return scores;
}

/// Indices of the queries on the lanes, clamped to those that exist.
SmallVector<Value> StepBuilder::queriesOf(Value subTile) {
  Value first = e.add(firstQuery, e.mul(subTile, e.table.subTile()));
  Value last = e.broadcast(e.sub(seqQ, e.index(1)));
  SmallVector<Value> queries;
  for (int64_t i = 0; i < e.table.queryVectors; ++i)
    queries.push_back(arith::MinSIOp::create(e.builder, e.loc, e.lanesFrom(e.add(first, i * e.table.lanes)), last));
  return queries;
}

LogicalResult StepBuilder::emitScoreRow(ArrayRef<Value> queries, Value row, Value masked) {
  const int64_t lanes = e.table.lanes;
  Value keyIndex = e.add(firstKey, row), lastKey = e.sub(seqKv, e.index(1));
  Value clampedKey = e.min(keyIndex, lastKey);
  for (int64_t i = 0; i < e.table.queryVectors; ++i) {
    Value x = e.load(scratch.scores, row, e.index(i * lanes));
    if (score) {
      FailureOr<Value> y =
          cloneScalarRegion(e.builder, *score, {x, operands.batch, operands.head, queries[i], clampedKey}, emitGather);
      if (failed(y))
        return failure();
      x = *y;
    }
    FailureOr<Value> hidden = hide(x, queries[i], keyIndex, clampedKey);
    if (failed(hidden))
      return failure();
    // Without a score region this code runs for masked blocks only.
    Value changed = score ? e.select(masked, *hidden, x) : *hidden;
    e.store(changed, scratch.scores, row, e.index(i * lanes));
    if (mask || score)
      e.store(e.larger(changed, e.load(scratch.seen, e.index(i * lanes))), scratch.seen, e.index(i * lanes));
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
