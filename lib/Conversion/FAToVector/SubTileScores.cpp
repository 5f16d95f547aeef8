// P of one sub-tile of queries against the keys of a tile, with the lazy reference of its rows.
#include "StepBuilder.h"

using namespace mlir;
using namespace mlir::fa::cpu;

/// P of all keys of the tile, with the reference that the rows have. Where their sums show that it does not fit, the
/// scores are computed again and kept, and the cold path makes P of them.
LogicalResult StepBuilder::emitScores(Value subTile, const Visit &visit) {
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
    sums = e.loop(visit.lower, visit.upper, e.table.keys, sums, [&](Value key, ValueRange carried) {
      ScoreBlock block{subTile, e.opaque(key), vectors, e.index(0), !laneMask && (mask || score)};
      FailureOr<SmallVector<Value>> scores = emitDotProducts(block);
      if (!laneMask)
        scores = applyRegions(block, visit, *scores);
      if (succeeded(scores))
        return keepOrExponentiate(*scores, block, again, shifted, carried);
      result = failure();
      return SmallVector<Value>(carried);
    });
    if (hasEdges())
      sums = callEdges(subTile, visit, again, sums);
    auto fromScores = [&] {
      SmallVector<Value> arguments{operands.arena, subTile, visit.lower, visit.upper};
      llvm::append_range(arguments, visit.first);
      llvm::append_range(arguments, visit.last);
      func::CallOp::create(e.builder, e.loc, functions.rebase, arguments);
      return SmallVector<Value>{e.boolean(false)};
    };
    auto accept = [&] {
      SmallVector<Value> unfit = unfitRows(visit, sums);
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

/// The second time, scores are kept for the cold path.
SmallVector<Value> StepBuilder::keepOrExponentiate(ArrayRef<Value> scores, const ScoreBlock &block, Value again,
                                                   Value shifted, ValueRange sums) {
  auto keep = [&] {
    storeScores(scores, block);
    return SmallVector<Value>(sums);
  };
  return e.choose(again, keep, [&] { return emitExponentials(scores, block, shifted, sums); });
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
SmallVector<Value> StepBuilder::unfitRows(const Visit &visit, ValueRange sums) {
  const double limit = sumLimit(e.type);
  Value every = e.compare(arith::CmpIPredicate::slt, visit.fullLower, visit.fullUpper);
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
    if (hasEdges()) // a vector without queries visits nothing
      small = e.both(small, e.broadcast(e.compare(arith::CmpIPredicate::slt, visit.first[i], visit.last[i])));
    unfit.push_back(e.either(large, small));
  }
  return unfit;
}
