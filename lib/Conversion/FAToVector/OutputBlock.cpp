// O^T += V^T P^T for one sub-tile.
#include "MicroKernel.h"
#include "QueryTile.h"
#include "StepBuilder.h"
#include "TileRows.h"

using namespace mlir;
using namespace mlir::fa::cpu;

void StepBuilder::emitOutput(Value subTile, const Visit &visit, Value started) {
  const int64_t columns = e.table.keys, whole = shape.depthV - shape.depthV % columns;
  if (whole > 0)
    e.loop(e.index(0), e.index(whole), columns,
           [&](Value column) { emitOutputColumns(subTile, e.opaque(column), columns, visit, started); });
  if (whole < shape.depthV)
    emitOutputColumns(subTile, e.index(whole), shape.depthV - whole, visit, started);
}

/// Accumulators of columns [column, column + columns): nothing in the first step that visits the sub-tile, which asks
/// for the queries of the next one.
SmallVector<Value> StepBuilder::loadOutput(Value subTile, Value column, int64_t columns, Value started) {
  const int64_t vectors = e.table.queryVectors, lanes = e.table.lanes, lanesOfAll = e.table.subTile();
  Value row = e.add(e.mul(subTile, shape.depthV), column);
  auto load = [&] {
    SmallVector<Value> loaded;
    for (int64_t c = 0; c < columns; ++c)
      for (int64_t i = 0; i < vectors; ++i)
        loaded.push_back(e.load(scratch.output, row, c, e.index(0), i * lanes));
    return loaded;
  };
  auto start = [&] {
    const int64_t rows = std::max<int64_t>(lanesOfAll * columns / shape.depthV, 1);
    Value part = e.mul(arith::DivUIOp::create(e.builder, e.loc, column, e.index(e.table.keys)), rows);
    Value firstRow = e.add(e.add(firstQuery, e.mul(e.add(subTile, 1), lanesOfAll)), part);
    prefetchWholeRows(e, {operands.query, operands.batch, operands.head, firstRow, Value()}, rows, shape.depth);
    return SmallVector<Value>(columns * vectors, e.splat(0.0));
  };
  return e.choose(started, load, start);
}

void StepBuilder::emitOutputColumns(Value subTile, Value column, int64_t columns, const Visit &visit, Value started) {
  const int64_t vectors = e.table.queryVectors, lanes = e.table.lanes;
  Value row = e.add(e.mul(subTile, shape.depthV), column), zero = e.index(0);
  SmallVector<Value> accumulators = loadOutput(subTile, column, columns, started);
  MicroKernel product;
  product.rows = columns;
  product.vectors = vectors;
  product.remainder = mayEndInBlock(e.table.unroll);
  product.scalar = {e.flat(values), column, shape.depthV, 1};
  product.vector = {e.flat(scratch.scores), zero, e.table.subTile(), lanes};
  // Vectors start and end in order.
  const bool parted = hasEdges() && vectors == 2;
  if (operands.output) {
    // All products of a tile together ask for the rows of the sub-tile: stores at the end of the query tile would wait
    // for each line to arrive.
    const int64_t rows = e.table.subTile(), share = std::max<int64_t>(rows * e.table.keys / shape.tileKv, 1);
    Value first = e.add(e.mul(subTile, rows * shape.depthV), e.mul(column, rows));
    product.beside = [=, this](Value key) {
      memref::PrefetchOp::create(e.builder, e.loc, e.flat(operands.output), ValueRange{e.add(first, e.mul(key, share))},
                                 /*isWrite=*/true, /*second-level cache*/ 2, /*isDataCache=*/true);
    };
  }
  if (parted)
    emitOneVector(product, 0, visit.first.front(), visit.first.back(), accumulators);
  accumulators = product.emit(e, visit.first.back(), visit.last.front(), accumulators);
  if (parted)
    emitOneVector(product, 1, visit.last.front(), visit.last.back(), accumulators);
  auto store = [&] {
    for (int64_t c = 0; c < columns; ++c)
      for (int64_t i = 0; i < vectors; ++i)
        e.store(accumulators[c * vectors + i], scratch.output, row, c, zero, i * lanes);
  };
  // A hidden key must not reach a row through 0 * infinity.
  e.when(areFinite(accumulators), store,
         [&] { emitSuspectOutput(subTile, column, columns, visit, started, accumulators); });
}

/// Keys that only one vector of queries may see.
void StepBuilder::emitOneVector(const MicroKernel &product, int64_t vector, Value lower, Value upper,
                                SmallVector<Value> &accumulators) {
  const int64_t vectors = product.vectors;
  MicroKernel half = product;
  half.vectors = 1;
  half.vector.start = e.add(half.vector.start, vector * e.table.lanes);
  SmallVector<Value> own;
  for (int64_t c = 0; c < product.rows; ++c)
    own.push_back(accumulators[c * vectors + vector]);
  own = half.emit(e, lower, upper, own);
  for (int64_t c = 0; c < product.rows; ++c)
    accumulators[c * vectors + vector] = own[c];
}

/// x * 0 is 0, or NaN where x is not finite. Chains of additions that do not wait for each other.
Value StepBuilder::areFinite(ValueRange accumulators) {
  constexpr size_t chains = 4;
  SmallVector<Value> sums(std::min(chains, accumulators.size()), e.splat(0.0));
  for (auto [n, accumulator] : llvm::enumerate(accumulators))
    sums[n % chains] = e.multiplyAdd(accumulator, e.splat(0.0), sums[n % chains]);
  Value total = sums[0];
  for (Value sum : llvm::drop_begin(sums))
    total = e.addf(total, sum);
  Value bad = e.anyLane(e.compare(arith::CmpFPredicate::UNO, total, total));
  return e.negate(bad);
}

/// Accumulators that are not finite: where an element was finite before this tile, its sum is done again with care.
/// What was not finite stays so. Rare, so small rather than fast.
void StepBuilder::emitSuspectOutput(Value subTile, Value column, int64_t columns, const Visit &visit, Value started,
                                    ArrayRef<Value> accumulators) {
  const int64_t vectors = e.table.queryVectors, lanes = e.table.lanes;
  Value row = e.add(e.mul(subTile, shape.depthV), column), zero = e.index(0);
  e.when(e.negate(started), [&] { emitClearOutput(e, scratch, row, columns); });
  for (auto [n, accumulator] : llvm::enumerate(accumulators))
    e.store(accumulator, scratch.candidate, e.index(int64_t(n) / vectors), e.index(int64_t(n) % vectors * lanes));
  auto isNan = [&](Value x) { return e.compare(arith::CmpFPredicate::UNO, x, x); };
  auto isSpoilt = [&](Value c, Value lane) {
    Value before = e.mulf(e.load(scratch.output, e.add(row, c), lane), e.splat(0.0));
    Value now = e.mulf(e.load(scratch.candidate, c, lane), e.splat(0.0));
    return e.anyLane(e.both(isNan(now), e.compare(arith::CmpFPredicate::ORD, before, before)));
  };
  Value spoilt = e.loop(zero, e.index(columns), 1, {e.boolean(false)}, [&](Value c, ValueRange outer) {
    return e.loop(zero, e.index(vectors * lanes), lanes, outer, [&](Value lane, ValueRange inner) {
      return SmallVector<Value>{e.either(inner[0], isSpoilt(e.opaque(c), e.opaque(lane)))};
    });
  })[0];
  auto again = [&] {
    if (laneMask) // else all blocks have the weights of hidden pairs
      e.when(e.negate(e.isSet(scratch.marked, zero)), [&] {
        markHiddenPairs(subTile, visit);
        e.set(scratch.marked, zero, true);
      });
    emitGuardedOutput(row, column, columns, visit);
  };
  auto keep = [&] {
    e.loop(zero, e.index(columns), 1, [&](Value c) {
      e.loop(zero, e.index(vectors * lanes), lanes,
             [&](Value lane) { e.store(e.load(scratch.candidate, c, lane), scratch.output, e.add(row, c), lane); });
    });
  };
  e.when(spoilt, again, keep);
}

/// Blocks without a mask give a pair whose logit is -inf, because of an infinity in its query or key, the weight 0. The
/// same dot products again tell it from one that underflowed.
void StepBuilder::markHiddenPairs(Value subTile, const Visit &visit) {
  Value firstRow = e.mul(subTile, shape.depth);
  for (int64_t i = 0; i < e.table.queryVectors; ++i)
    e.loop(visit.first[i], visit.last[i], 1, [&](Value counter) {
      Value key = e.opaque(counter), lane = e.index(i * e.table.lanes);
      Value logit = e.loop(e.index(0), e.index(shape.depth), 1, {e.splat(0.0)}, [&](Value d, ValueRange carried) {
        Value factor = e.broadcast(memref::LoadOp::create(e.builder, e.loc, keys, ValueRange{key, d}));
        Value query = e.load(scratch.queries, e.add(firstRow, d), lane);
        return SmallVector<Value>{e.multiplyAdd(factor, query, carried[0])};
      })[0];
      e.store(emitHiddenWeight(e, logit, e.load(scratch.scores, key, lane)), scratch.scores, key, lane);
    });
}

/// From the output as it was before this tile: a pair that is hidden (P = -0) adds nothing. Elements that are finite
/// either way get the same bits: the order of keys is the same.
void StepBuilder::emitGuardedOutput(Value firstRow, Value column, int64_t columns, const Visit &visit) {
  for (int64_t i = 0; i < e.table.queryVectors; ++i)
    e.loop(visit.first[i], visit.last[i], 1, [&](Value key) {
      e.loop(e.index(0), e.index(columns), 1, [&](Value counter) {
        Value c = e.opaque(counter), lane = e.index(i * e.table.lanes), row = e.add(firstRow, c);
        Value value = e.broadcast(memref::LoadOp::create(e.builder, e.loc, values, ValueRange{key, e.add(column, c)}));
        Value p = e.load(scratch.scores, key, lane), old = e.load(scratch.output, row, lane);
        Value hidden = e.isMinusZero(p);
        e.store(e.select(hidden, old, e.multiplyAdd(value, p, old)), scratch.output, row, lane);
      });
    });
}
