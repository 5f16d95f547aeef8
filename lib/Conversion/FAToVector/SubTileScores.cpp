// P of one sub-tile of queries against the keys of a tile, with the lazy reference of its rows.
#include "StepBuilder.h"

using namespace mlir;
using namespace mlir::fa::cpu;

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
    auto emitBlock = [&](const ScoreBlock &block, ValueRange carried) {
      FailureOr<SmallVector<Value>> scores = emitScoreBlock(block, range);
      if (failed(scores)) {
        result = failure();
        return SmallVector<Value>(carried);
      }
      auto keep = [&] {
        storeScores(*scores, block);
        return SmallVector<Value>(carried);
      };
      return e.choose(again, keep, [&] { return emitExponentials(*scores, block, shifted, carried); });
    };
    sums = e.loop(range.bothLower, range.bothUpper, e.table.keys, sums, [&](Value key, ValueRange carried) {
      return emitBlock({subTile, e.opaque(key), vectors, e.index(0)}, carried);
    });
    if (hasHalfBlocks())
      sums = emitHalfBlocks(subTile, range, again, sums, emitBlock);
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

/// Keys that only the first or only the last vector of queries may see: one loop for both kinds, so that its code is
/// there once.
SmallVector<Value> StepBuilder::emitHalfBlocks(Value subTile, const KeyRange &range, Value again,
                                               SmallVector<Value> sums, BlockEmitter emitBlock) {
  const int64_t keys = e.table.keys;
  Value zero = e.index(0), lanes = e.index(e.table.lanes);
  Value first = e.ceilDiv(e.sub(range.bothLower, range.lower), keys);
  Value last = e.ceilDiv(e.sub(range.upper, range.bothUpper), keys);
  return e.loop(zero, e.add(first, last), 1, sums, [&](Value n, ValueRange carried) {
    Value isFirst = e.compare(arith::CmpIPredicate::slt, n, first);
    Value start = e.select(isFirst, range.lower, e.sub(range.bothUpper, e.mul(first, keys)));
    Value key = e.opaque(e.add(start, e.mul(n, keys)));
    ScoreBlock half{subTile, key, 1, e.select(isFirst, zero, lanes)};
    Value sum = emitBlock(half, {e.select(isFirst, carried[0], carried[1])})[0];
    // The other vector sees none of these keys.
    Value nothing = e.select(again, e.splat(-std::numeric_limits<double>::infinity()), e.splat(0.0));
    Value other = e.sub(lanes, half.lane);
    for (int64_t r = 0; r < keys; ++r)
      e.store(nothing, scratch.scores, key, r, other, 0);
    return SmallVector<Value>{e.select(isFirst, sum, carried[0]), e.select(isFirst, carried[1], sum)};
  });
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
