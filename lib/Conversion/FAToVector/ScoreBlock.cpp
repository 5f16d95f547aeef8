// A block of scores: dot products, regions, lazy row reference, exponentials, row sums.
#include "Exp2.h"
#include "Gather.h"
#include "MicroKernel.h"
#include "StepBuilder.h"
#include "TileMemory.h"
#include "fa/Dialect/FA/IR/ScalarRegion.h"

using namespace mlir;
using namespace mlir::fa::cpu;

SmallVector<Value> StepBuilder::emitDotProducts(Value subTile, Value block) {
  const int64_t rows = e.table.keys, lanes = e.table.lanes;
  Value base = e.mul(subTile, shape.depth);
  MicroKernel product{rows,
                      [&](Value t, int64_t r) -> Value {
                        return memref::LoadOp::create(e.builder, e.loc, keys, ValueRange{e.add(block, r), t});
                      },
                      [&](Value t, int64_t i) { return e.load(scratch.queries, e.add(base, t), e.index(i * lanes)); },
                      [&](Value t) { prefetchBeside(block, t); }};
  SmallVector<Value> zeros(rows * e.table.queryVectors, e.splat(0.0));
  return product.emit(e, e.index(0), e.index(shape.depth), zeros);
}

/// Iteration t of the products of a block of keys asks for its share of the next block and of the values of this one,
/// where tensors are read in place. Requests in bursts would hold the line buffers that other misses need.
void StepBuilder::prefetchBeside(Value block, Value t) {
  const int64_t rows = e.table.keys, lineElements = 64 * 8 / e.type.getIntOrFloatBitWidth();
  auto ask = [&](Value tensor, Value tile, Value row, int64_t depth, int locality) {
    if (classifyTile(cast<MemRefType>(tensor.getType()), e.type, rows) == TileAccess::Copy)
      return;
    SmallVector<ReassociationIndices> all{{0, 1}};
    Value flat = memref::CollapseShapeOp::create(e.builder, e.loc, tile, all);
    const int64_t share = std::max<int64_t>(rows * depth / shape.depth, 1);
    Value first = e.add(e.mul(row, depth), e.mul(t, share));
    for (int64_t n = 0; n < share * e.table.unroll; n += lineElements)
      memref::PrefetchOp::create(e.builder, e.loc, flat, ValueRange{e.add(first, n)}, /*isWrite=*/false, locality,
                                 /*isDataCache=*/true);
  };
  Value hasNext = e.compare(arith::CmpIPredicate::sle, e.add(block, 2 * rows), numKeys);
  ask(operands.key, keys, e.select(hasNext, e.add(block, rows), block), shape.depth, /*first-level cache*/ 3);
  ask(operands.value, values, block, shape.depthV, /*second-level cache*/ 2);
}

/// P of all keys of the tile, with the reference that the rows have. Where their sums show that it does not fit, the
/// scores are computed again and kept, and the cold path makes P of them.
LogicalResult StepBuilder::emitScores(Value subTile, const KeyRange &range) {
  const int64_t vectors = e.table.queryVectors, lanes = e.table.lanes;
  auto position = [&](int64_t i) { return e.add(e.mul(subTile, e.table.subTile()), i * lanes); };
  LogicalResult result = success();
  e.attempt([&](Value again) {
    SmallVector<Value> sums;
    Value shifted = isShifted(subTile);
    for (int64_t i = 0; i < vectors; ++i) {
      sums.push_back(e.load(scratch.sum, position(i)));
      if (mask || score)
        e.store(e.splat(-std::numeric_limits<double>::infinity()), scratch.seen, e.index(i * lanes));
    }
    sums = e.loop(range.lower, range.upper, e.table.keys, sums, [&](Value block, ValueRange carried) {
      FailureOr<SmallVector<Value>> scores = emitScoreBlock(subTile, block, range);
      if (failed(scores)) {
        result = failure();
        return SmallVector<Value>(carried);
      }
      auto keep = [&] {
        storeBlock(*scores, block);
        return SmallVector<Value>(carried);
      };
      return e.choose(again, keep, [&] { return emitExponentials(*scores, subTile, block, shifted, carried); });
    });
    auto fromScores = [&] {
      Value blocks = e.ceilDiv(e.sub(range.upper, range.lower), e.table.keys);
      Value upper = e.add(range.lower, e.mul(blocks, e.table.keys));
      func::CallOp::create(e.builder, e.loc, rebase, ValueRange{operands.arena, subTile, range.lower, upper});
      return SmallVector<Value>{e.boolean(false)};
    };
    auto accept = [&] {
      SmallVector<Value> unfit = unfitRows(range, sums);
      Value any = e.anyLane(
          llvm::accumulate(llvm::drop_begin(unfit), unfit[0], [&](Value a, Value b) { return e.either(a, b); }));
      auto mark = [&] {
        for (auto [i, row] : llvm::enumerate(unfit))
          e.store(e.select(row, e.splat(1.0), e.splat(0.0)), scratch.unfit, e.index(i * lanes));
      };
      auto keepSums = [&] {
        for (auto [i, sum] : llvm::enumerate(sums))
          e.store(sum, scratch.sum, position(i));
      };
      e.when(any, mark, keepSums);
      return SmallVector<Value>{any};
    };
    return e.choose(again, fromScores, accept)[0];
  });
  return result;
}

/// Vectors of i1: the row's sum is NaN or too large, or too small although the row sees a key. A row decides for
/// itself: its result must not change a bit with keys that other rows see.
SmallVector<Value> StepBuilder::unfitRows(const KeyRange &range, ValueRange sums) {
  const double limit = sumLimit(e.type);
  Value every = e.compare(arith::CmpIPredicate::slt, range.fullLower, range.fullUpper);
  SmallVector<Value> unfit;
  for (auto [i, sum] : llvm::enumerate(sums)) {
    Value large = e.compare(arith::CmpFPredicate::UGT, sum, e.splat(limit));
    Value small = e.compare(arith::CmpFPredicate::OLT, sum, e.splat(1.0 / limit));
    if (mask || score) {
      // Blocks that are not masked have no hidden pair, and are not in `seen`, unless all go through the score region.
      Value seen = e.compare(arith::CmpFPredicate::OGT, e.load(scratch.seen, e.index(i * e.table.lanes)),
                             e.splat(-std::numeric_limits<double>::infinity()));
      small = e.both(small, score ? seen : e.either(seen, e.broadcast(every)));
    }
    unfit.push_back(e.either(large, small));
  }
  return unfit;
}

FailureOr<SmallVector<Value>> StepBuilder::emitScoreBlock(Value subTile, Value block, const KeyRange &range) {
  SmallVector<Value> scores = emitDotProducts(subTile, block);
  Value end = e.add(block, e.table.keys);
  Value visible = e.both(e.compare(arith::CmpIPredicate::sle, range.fullLower, block),
                         e.compare(arith::CmpIPredicate::sle, end, range.fullUpper));
  Value masked = arith::XOrIOp::create(e.builder, e.loc, visible, e.boolean(true));
  return applyRegions(subTile, block, masked, scores);
}

void StepBuilder::storeBlock(ArrayRef<Value> rows, Value block) {
  const int64_t vectors = e.table.queryVectors;
  for (auto [n, row] : llvm::enumerate(rows))
    e.store(row, scratch.scores, block, int64_t(n) / vectors, int64_t(n) % vectors * e.table.lanes);
}

SmallVector<Value> StepBuilder::loadBlock(Value block) {
  SmallVector<Value> rows;
  for (int64_t r = 0; r < e.table.keys; ++r)
    for (int64_t i = 0; i < e.table.queryVectors; ++i)
      rows.push_back(e.load(scratch.scores, block, r, i * e.table.lanes));
  return rows;
}

/// The scores of a masked block, without leaving the registers.
SmallVector<Value> StepBuilder::hideInRegisters(Value subTile, Value block, SmallVector<Value> scores) {
  const int64_t vectors = e.table.queryVectors, lanes = e.table.lanes;
  Value hidden = e.splat(-std::numeric_limits<double>::infinity());
  Value firstRow = e.add(firstQuery, e.mul(subTile, e.table.subTile()));
  SmallVector<Value> queries, seen;
  for (int64_t i = 0; i < vectors; ++i) {
    queries.push_back(laneMask->positions(e, e.add(firstRow, i * lanes)));
    if (mask)
      seen.push_back(e.load(scratch.seen, e.index(i * lanes)));
  }
  Value first = laneMask->broadcast(e, e.add(firstKey, block));
  for (int64_t r = 0; r < e.table.keys; ++r) {
    Value key = laneMask->offset(e, first, r);
    for (int64_t i = 0; i < vectors; ++i) {
      Value &x = scores[r * vectors + i];
      x = e.select(laneMask->visible(e, queries[i], key), x, hidden);
      if (mask)
        seen[i] = e.larger(x, seen[i]);
    }
  }
  for (auto [i, largest] : llvm::enumerate(seen))
    e.store(largest, scratch.seen, e.index(i * lanes));
  return scores;
}

/// Score functions and long masks run row by row through memory: one copy of their code, however large, and none of it
/// on the path of blocks that need neither.
FailureOr<SmallVector<Value>> StepBuilder::applyRegions(Value subTile, Value block, Value masked,
                                                        SmallVector<Value> scores) {
  LogicalResult result = success();
  auto through = [&]() -> SmallVector<Value> {
    storeBlock(scores, block);
    SmallVector<Value> queries = queriesOf(subTile);
    e.loop(block, e.add(block, e.table.keys), 1, [&](Value row) { result = emitScoreRow(queries, row, masked); });
    return loadBlock(block);
  };
  if (laneMask)
    return e.choose(masked, [&] { return hideInRegisters(subTile, block, scores); }, [&] { return scores; });
  SmallVector<Value> changed = score ? through() : e.choose(masked, through, [&] { return scores; });
  if (failed(result))
    return failure();
  return changed;
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

/// i1: some row of the sub-tile has a shift. (x + 0 would be x, but an operation more for each score.)
Value StepBuilder::isShifted(Value subTile) {
  if (!shape.scoresAreExponents)
    return e.boolean(true);
  Value any;
  for (int64_t i = 0; i < e.table.queryVectors; ++i) {
    Value shift = e.load(scratch.shift, e.add(e.mul(subTile, e.table.subTile()), i * e.table.lanes));
    Value shifted = e.compare(arith::CmpFPredicate::UNE, shift, e.splat(0.0));
    any = any ? e.either(any, shifted) : shifted;
  }
  return e.anyLane(any);
}

SmallVector<Value> StepBuilder::emitExponentials(ArrayRef<Value> scores, Value subTile, Value block, Value shifted,
                                                 ValueRange sums) {
  const int64_t vectors = e.table.queryVectors;
  auto shift = [&] {
    SmallVector<Value> exponents(scores);
    for (int64_t i = 0; i < vectors; ++i) {
      Value offset = e.load(scratch.shift, e.add(e.mul(subTile, e.table.subTile()), i * e.table.lanes));
      for (int64_t r = 0; r < e.table.keys; ++r)
        exponents[r * vectors + i] = emitShifted(e, shape, exponents[r * vectors + i], offset);
    }
    return exponents;
  };
  SmallVector<Value> exponents =
      shape.scoresAreExponents ? e.choose(shifted, shift, [&] { return SmallVector<Value>(scores); }) : shift();
  SmallVector<Value> added(sums);
  for (int64_t i = 0; i < vectors; ++i)
    for (int64_t r = 0; r < e.table.keys; ++r) {
      Value p = emitExp2(e, exponents[r * vectors + i]);
      added[i] = e.addf(added[i], p);
      e.store(p, scratch.scores, block, r, i * e.table.lanes);
    }
  return added;
}
