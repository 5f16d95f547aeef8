// The loop over blocks of keys, and the dot products of a block.
#include "DecodeStep.h"

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fa::cpu;

namespace {
constexpr int64_t cacheLine = 64;

/// Memory is asked for what is this far ahead: the time of a miss, several times over.
constexpr int64_t prefetchBytes = 4096;

int64_t elementBytes(Value rows) { return cast<MemRefType>(rows.getType()).getElementTypeBitWidth() / 8; }
bool hasUnitStride(Value rows) { return cast<MemRefType>(rows.getType()).getStridesAndOffset().first.back() == 1; }
} // namespace

DecodeStep::DecodeStep(Emitter &e, const DecodeShape &shape, const StepOperands &operands, Region *score, Region *mask,
                       func::FuncOp raise, const SubTileBounds *bounds)
    : e(e), shape(shape), operands(operands), score(score), mask(mask), raise(raise), bounds(bounds),
      scratch(e, operands.arena, shape) {}

LogicalResult DecodeStep::emit() {
  seqQ = memref::DimOp::create(e.builder, e.loc, operands.query, 2);
  seqKv = memref::DimOp::create(e.builder, e.loc, operands.key, 2);
  firstKey = e.mul(operands.keyTile, shape.kernel.tileKv);
  numKeys = e.min(e.sub(seqKv, firstKey), e.index(shape.kernel.tileKv));
  firstQuery = e.mul(operands.queryTile, shape.kernel.tileQ);
  keyRows = emitSequenceView(e, operands.key, operands.keyBatch, operands.keyHead);
  valueRows = emitSequenceView(e, operands.value, operands.keyBatch, operands.keyHead);
  KeyRange range = keyRange();
  LogicalResult result = success();
  e.loop(range.lower, range.upper, shape.blockKeys(), [&](Value block) {
    if (failed(emitBlock(block, range)))
      result = failure();
  });
  return result;
}

KeyRange DecodeStep::keyRange() {
  Value zero = e.index(0);
  KeyRange whole{zero, numKeys, zero, numKeys};
  if (!mask)
    return whole;
  KeyRange masked{zero, numKeys, zero, zero};
  if (bounds) {
    SubTileBounds::Position position{operands.batch, operands.head, operands.queryTile, zero, firstKey, numKeys};
    masked = bounds->emit(e, position, seqQ, seqKv)[0];
  }
  auto pick = [&](Value full, Value partial) { return e.select(operands.full, full, partial); };
  return {pick(whole.lower, masked.lower), pick(whole.upper, masked.upper), pick(whole.fullLower, masked.fullLower),
          pick(whole.fullUpper, masked.fullUpper)};
}

LogicalResult DecodeStep::emitBlock(Value block, const KeyRange &range) {
  auto atMost = [&](Value a, Value b) { return e.compare(arith::CmpIPredicate::sle, a, b); };
  Value end = e.add(block, shape.blockKeys());
  Value whole = atMost(end, numKeys);
  Value visible = e.both(whole, e.both(atMost(range.fullLower, block), atMost(end, range.fullUpper)));
  Value masked = arith::XOrIOp::create(e.builder, e.loc, visible, e.boolean(true));
  Value count = e.min(e.sub(numKeys, block), e.index(shape.blockKeys()));
  Keys keys = emitKeys(block);
  LogicalResult result = success();
  Value none = e.boolean(false);
  Value hidden = e.loop(e.index(0), e.index(shape.rowBlocks), 1, {none}, [&](Value rowBlock, ValueRange carried) {
    FailureOr<Value> some = emitScores(rowBlock, block, keys, masked);
    result = some;
    return SmallVector<Value>{succeeded(some) ? e.either(carried[0], *some) : none};
  })[0];
  Values values = emitValues(block, count);
  // A hidden key must not reach a row through 0 * NaN.
  Value finite = e.choose(
      hidden, [&] { return SmallVector<Value>{areFinite(values, count)}; },
      [&] { return SmallVector<Value>{e.boolean(true)}; })[0];
  e.when(finite, [&] { emitOutput(values, count); }, [&] { emitGuardedOutput(values, count); });
  return result;
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

/// The row that is asked for while `block` is at work: the same one of a block further on.
Value DecodeStep::rowAhead(Value block) {
  const int64_t bytes = std::max(shape.order.depth, shape.orderV.depth) * elementBytes(keyRows);
  const int64_t ahead = llvm::divideCeil(prefetchBytes, bytes);
  Value last = e.max(e.sub(seqKv, e.index(shape.blockKeys())), e.index(0));
  return e.min(e.add(e.add(firstKey, block), ahead), last);
}

void DecodeStep::prefetchRow(Value rows, Value row) {
  if (!hasUnitStride(rows))
    return;
  const int64_t step = cacheLine / elementBytes(rows), depth = cast<MemRefType>(rows.getType()).getDimSize(1);
  for (int64_t column = 0; column < depth && column < 8 * step; column += step)
    emitPrefetch(e, rows, row, e.index(column));
}

DecodeStep::Keys DecodeStep::emitKeys(Value block) {
  Value first = e.add(firstKey, block), last = e.sub(e.add(firstKey, numKeys), e.index(1));
  if (!shape.stageKeys)
    return {keyRows, first, last, shape.order};
  e.loop(e.index(0), e.index(shape.blockKeys()), 1,
         [&](Value key) { emitStageRow(e, keyRows, e.min(e.add(first, key), last), shape.order, scratch.keys, key); });
  return {scratch.keys, e.index(0), e.index(shape.blockKeys() - 1), {shape.paddedDepth(), false}};
}

DecodeStep::Values DecodeStep::emitValues(Value block, Value count) {
  Value first = e.add(firstKey, block);
  if (!shape.stageValues)
    return {valueRows, first, shape.orderV};
  Value ahead = rowAhead(block);
  e.loop(e.index(0), count, 1, [&](Value key) {
    prefetchRow(valueRows, e.add(ahead, key));
    emitStageRow(e, valueRows, e.add(first, key), shape.orderV, scratch.values, key);
  });
  return {scratch.values, e.index(0), {shape.paddedDepthV(), false}};
}

//===----------------------------------------------------------------------===//
// Dot products
//===----------------------------------------------------------------------===//

/// The scores of `rows` x `group` pairs. Keys past the last one repeat it; their scores are hidden.
Value DecodeStep::emitDotProducts(Value rowBlock, Value firstOfVector, const Keys &keys, Value ahead) {
  const int64_t group = shape.group(), rows = shape.rows, depth = keys.order.depth;
  const int64_t lanes = shape.lanes(), piece = keys.order.paired ? 2 * lanes : lanes;
  const int64_t line = std::max(cacheLine / elementBytes(keys.rows), piece), main = depth - depth % line;
  Value firstQuery = e.mul(rowBlock, rows);
  SmallVector<Value> keyOf;
  for (int64_t key = 0; key < group; ++key)
    keyOf.push_back(e.min(e.add(keys.first, e.add(firstOfVector, key)), keys.last));
  auto step = [&](Value column, SmallVector<Value> &sums, int64_t count, bool paired) {
    SmallVector<SmallVector<Value>> vectors;
    for (int64_t key = 0; key < group; ++key) {
      vectors.push_back(loadPiece(e, keys.rows, keyOf[key], column, count, paired));
    }
    for (size_t n = 0; n < vectors[0].size(); ++n)
      for (int64_t row = 0; row < rows; ++row) {
        Value query = e.load(scratch.queries, e.add(firstQuery, row), e.add(column, n * lanes));
        for (int64_t key = 0; key < group; ++key)
          sums[row * group + key] = e.multiplyAdd(vectors[key][n], query, sums[row * group + key]);
      }
  };
  SmallVector<Value> products(rows * group, e.splat(0.0));
  if (main > 0)
    products = e.loop(e.index(0), e.index(main), line, products, [&](Value column, ValueRange carried) {
      SmallVector<Value> sums(carried);
      for (int64_t key = 0; ahead && key < group; ++key)
        emitPrefetch(e, keys.rows, e.add(ahead, e.add(firstOfVector, key)), column);
      for (int64_t c = 0; c < line; c += piece)
        step(e.add(column, c), sums, piece, keys.order.paired);
      return sums;
    });
  for (int64_t column = main, count; column < depth; column += count) {
    const bool paired = keys.order.paired && column + piece <= depth;
    count = paired ? piece : std::min(lanes, depth - column);
    step(e.index(column), products, count, paired);
  }
  return emitSums(products);
}

/// Lane l of the result is the sum of all lanes of products[l]: a transpose that adds.
Value DecodeStep::emitSums(SmallVector<Value> products) {
  const int64_t lanes = shape.lanes();
  for (int64_t distance = 1; distance < lanes; distance *= 2) {
    SmallVector<int64_t> own, other;
    for (int64_t lane = 0; lane < lanes; ++lane) {
      const bool upper = lane & distance;
      own.push_back(upper ? lanes + lane : lane);
      other.push_back(upper ? lanes + lane - distance : lane + distance);
    }
    SmallVector<Value> next;
    for (size_t n = 0; n < products.size(); n += 2) {
      Value a = products[n], b = products[n + 1];
      next.push_back(e.addf(vector::ShuffleOp::create(e.builder, e.loc, a, b, own),
                            vector::ShuffleOp::create(e.builder, e.loc, a, b, other)));
    }
    products = next;
  }
  return products[0];
}
