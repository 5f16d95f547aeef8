// O += P V with depth on lanes: each value is read once and multiplied by the weights of all rows.
#include "DecodeStep.h"

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fa::cpu;

/// x * 0 is 0, or NaN where x is not finite.
Value DecodeStep::zeroTimes(const Values &values, Value row, Value sum) {
  const int64_t lanes = shape.lanes(), piece = values.order.paired ? 2 * lanes : lanes;
  const int64_t depth = values.order.depth, whole = depth - depth % piece;
  auto add = [&](Value sum, Value column, int64_t count, bool paired) {
    for (Value vector : loadPiece(e, values.rows, row, column, count, paired))
      sum = e.addf(sum, e.mulf(vector, e.splat(0.0)));
    return sum;
  };
  if (whole > 0)
    sum = e.loop(e.index(0), e.index(whole), piece, {sum}, [&](Value column, ValueRange carried) {
      return SmallVector<Value>{add(carried[0], column, piece, values.order.paired)};
    })[0];
  for (int64_t column = whole; column < depth; column += lanes)
    sum = add(sum, e.index(column), std::min(lanes, depth - column), false);
  return sum;
}

Value DecodeStep::areFinite(const Values &values, Value count) {
  Value sum = e.loop(e.index(0), count, 1, {e.splat(0.0)}, [&](Value key, ValueRange carried) {
    return SmallVector<Value>{zeroTimes(values, e.add(values.first, key), carried[0])};
  })[0];
  Value bad = arith::CmpFOp::create(e.builder, e.loc, arith::CmpFPredicate::UNO, sum, sum);
  return arith::XOrIOp::create(e.builder, e.loc, e.anyLane(bad), e.boolean(true));
}

void DecodeStep::emitOutput(const Values &values, Value count) {
  const int64_t lanes = shape.lanes(), depth = values.order.depth;
  const int64_t accumulators =
      shape.blockKeys() >= 16 && e.table.lanes * e.type.getIntOrFloatBitWidth() == 512 ? 16 : 8;
  const int64_t columns = lanes * accumulators / shape.rows, whole = depth - depth % columns;
  auto piecesOf = [&](int64_t first, int64_t end) {
    SmallVector<Piece> pieces;
    for (int64_t column = first; column < end; column += pieces.back().count) {
      const bool paired = values.order.paired && column + 2 * lanes <= end;
      pieces.push_back({column - first, paired ? 2 * lanes : std::min(lanes, end - column), paired});
    }
    return pieces;
  };
  e.loop(e.index(0), e.index(shape.rowBlocks), 1, [&](Value rowBlock) {
    if (whole > 0)
      e.loop(e.index(0), e.index(whole), columns,
             [&](Value column) { emitColumns(rowBlock, column, piecesOf(0, columns), values, count); });
    if (whole < depth)
      emitColumns(rowBlock, e.index(whole), piecesOf(whole, depth), values, count);
  });
}

/// acc[row, column] += weight(row) * value[key, column]
void DecodeStep::accumulate(SmallVector<Value> &accumulators, Value column, ArrayRef<Piece> pieces,
                            const Values &values, Value key, function_ref<Value(int64_t row)> weight) {
  SmallVector<Value> vectors, weights;
  Value row = e.add(values.first, key);
  for (const Piece &piece : pieces)
    llvm::append_range(vectors, loadPiece(e, values.rows, row, e.add(column, piece.column), piece.count, piece.paired));
  for (int64_t r = 0; r < shape.rows; ++r) {
    Value p = e.broadcast(weight(r));
    for (auto [n, vector] : llvm::enumerate(vectors)) {
      Value &sum = accumulators[r * vectors.size() + n];
      sum = e.multiplyAdd(vector, p, sum);
    }
  }
}

void DecodeStep::emitColumns(Value rowBlock, Value column, ArrayRef<Piece> pieces, const Values &values, Value count) {
  const int64_t group = shape.group(), lanes = shape.lanes();
  Value firstRow = e.mul(rowBlock, shape.rows), firstScore = e.mul(rowBlock, shape.scoreVectors());
  int64_t vectors = 0;
  for (const Piece &piece : pieces)
    vectors += piece.paired ? 2 : 1;
  SmallVector<Value> sums;
  for (int64_t n = 0; n < shape.rows * vectors; ++n)
    sums.push_back(e.load(scratch.output, e.add(firstRow, n / vectors), e.add(column, n % vectors * lanes)));

  const int64_t bytes = cast<MemRefType>(values.rows.getType()).getElementTypeBitWidth() / 8;
  Value ahead = shape.stageValues ? Value() : rowAhead(e.sub(values.first, firstKey));
  auto prefetch = [&](Value key) {
    for (int64_t c = 0; ahead && c < pieces.back().column + pieces.back().count; c += 64 / bytes)
      emitPrefetch(e, values.rows, e.add(ahead, key), e.add(column, c));
  };
  auto weightAt = [&](Value scoreRow, Value lane) {
    return [=, this](int64_t r) -> Value {
      return memref::LoadOp::create(e.builder, e.loc, scratch.scores, ValueRange{scoreRow, e.add(lane, r * group)});
    };
  };
  Value whole = e.roundDown(count, group);
  sums = e.loop(e.index(0), whole, group, sums, [&](Value first, ValueRange carried) {
    SmallVector<Value> next(carried);
    Value scoreRow = e.add(firstScore, e.builder.createOrFold<arith::DivUIOp>(e.loc, first, e.index(group)));
    for (int64_t u = 0; u < group; ++u) {
      Value key = e.add(first, u);
      prefetch(key);
      accumulate(next, column, pieces, values, key, weightAt(scoreRow, e.index(u)));
    }
    return next;
  });
  if (group > 1)
    sums = e.loop(whole, count, 1, sums, [&](Value key, ValueRange carried) {
      SmallVector<Value> next(carried);
      Value scoreRow = e.add(firstScore, arith::DivUIOp::create(e.builder, e.loc, key, e.index(group)));
      Value lane = arith::RemUIOp::create(e.builder, e.loc, key, e.index(group));
      accumulate(next, column, pieces, values, key, weightAt(scoreRow, lane));
      return next;
    });
  for (int64_t n = 0; n < shape.rows * vectors; ++n)
    e.store(sums[n], scratch.output, e.add(firstRow, n / vectors), e.add(column, n % vectors * lanes));
}

/// For values that are not finite: a pair that is hidden (P = -0) adds nothing. Rare, so small rather than fast.
void DecodeStep::emitGuardedOutput(const Values &values, Value count) {
  const int64_t group = shape.group(), lanes = shape.lanes();
  e.loop(e.index(0), count, 1, [&](Value key) {
    e.loop(e.index(0), e.index(shape.rowBlocks * shape.rows), 1, [&](Value row) {
      auto div = [&](Value a, int64_t b) { return e.builder.createOrFold<arith::DivUIOp>(e.loc, a, e.index(b)); };
      auto rem = [&](Value a, int64_t b) { return e.builder.createOrFold<arith::RemUIOp>(e.loc, a, e.index(b)); };
      Value scoreRow = e.add(e.mul(div(row, shape.rows), shape.scoreVectors()), div(key, group));
      Value lane = e.add(e.mul(rem(row, shape.rows), group), rem(key, group));
      Value weight = memref::LoadOp::create(e.builder, e.loc, scratch.scores, ValueRange{scoreRow, lane});
      Value p = e.broadcast(weight), hidden = e.isMinusZero(weight);
      forEachPiece(e, values.order, [&](Value column, int64_t pieceColumns, bool paired) {
        for (auto [n, vector] :
             llvm::enumerate(loadPiece(e, values.rows, e.add(values.first, key), column, pieceColumns, paired))) {
          Value position = e.add(column, n * lanes), old = e.load(scratch.output, row, position);
          e.store(e.select(hidden, old, e.multiplyAdd(vector, p, old)), scratch.output, row, position);
        }
      });
    });
  });
}
