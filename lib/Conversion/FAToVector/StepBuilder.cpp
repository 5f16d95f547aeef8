// One key tile against every sub-tile of queries: bounds, and the order of the parts.
#include "StepBuilder.h"
#include "QueryTile.h"
#include "TileMemory.h"

using namespace mlir;
using namespace mlir::fa::cpu;

StepBuilder::StepBuilder(Emitter &e, const KernelShape &shape, const StepOperands &operands, Region *score,
                         Region *mask, StepFunctions functions, const SubTileBounds *bounds)
    : e(e), shape(shape), operands(operands), score(score), mask(mask), functions(functions), bounds(bounds),
      scratch(e, operands.arena, operands.copies, shape) {}

static int64_t lengthOf(Value tensor) { return cast<MemRefType>(tensor.getType()).getDimSize(2); }

LogicalResult StepBuilder::emit() {
  seqQ = memref::DimOp::create(e.builder, e.loc, operands.query, 2);
  seqKv = memref::DimOp::create(e.builder, e.loc, operands.key, 2);
  firstKey = e.mul(operands.keyTile, shape.tileKv);
  numKeys = e.min(e.sub(seqKv, firstKey), e.index(shape.tileKv));
  firstQuery = e.mul(operands.queryTile, shape.tileQ);
  if (!score)
    laneMask = LaneMask::of(mask, lengthOf(operands.query), lengthOf(operands.key), e);
  TileRows keyTile{operands.key, operands.keyBatch, operands.keyHead, firstKey, numKeys};
  TileRows valueTile{operands.value, operands.keyBatch, operands.keyHead, firstKey, numKeys};
  keys = emitTileView(e, keyTile, shape.depth, shape.table.keys, scratch.keys, operands.copyOffset);
  values = emitTileView(e, valueTile, shape.depthV, /*readRows=*/1, scratch.values, operands.copyOffset);

  if (hasEdges())
    edges = edgeFunction();
  Value numQueries = e.min(e.sub(seqQ, firstQuery), e.index(shape.tileQ));
  LogicalResult result = success();
  e.loop(e.index(0), e.ceilDiv(numQueries, shape.table.subTile()), 1, [&](Value counter) {
    Value subTile = e.opaque(counter);
    Visit visit = visitOf(subTile);
    auto work = [&] {
      if (failed(emitVisit(subTile, visit)))
        result = failure();
    };
    if (!mask)
      return work();
    Value any = e.boolean(false);
    for (auto [first, last] : llvm::zip_equal(visit.first, visit.last))
      any = e.either(any, e.compare(arith::CmpIPredicate::slt, first, last));
    e.when(any, work);
  });
  return result;
}

/// A sub-tile that sees something of the tile. Its queries are packed at its first visit: their lines arrive while
/// other sub-tiles are at work, and nothing is done for tiles that it does not see.
LogicalResult StepBuilder::emitVisit(Value subTile, const Visit &visit) {
  Value started = e.isSet(scratch.started, subTile);
  e.when(e.negate(started), [&] {
    SmallVector<Value> arguments{operands.arena, operands.query,     operands.batch,
                                 operands.head,  operands.queryTile, subTile};
    func::CallOp::create(e.builder, e.loc, functions.pack, arguments);
    e.set(scratch.started, subTile, true);
  });
  e.set(scratch.marked, e.index(0), false);
  LogicalResult result = emitScores(subTile, visit);
  emitOutput(subTile, visit, started);
  return result;
}

/// Some tile has a number of keys that is no multiple of `keys`, which divides tiles.
bool StepBuilder::mayEndInBlock(int64_t keys) const {
  const int64_t length = lengthOf(operands.key);
  return ShapedType::isDynamic(length) || length % keys != 0 || shape.tileKv % keys != 0;
}

/// Some pairs are hidden, and masks of registers hide them.
bool StepBuilder::hasEdges() const { return laneMask && (mask || mayEndInBlock(e.table.keys)); }

/// What the vectors of queries of a sub-tile may see.
SmallVector<KeyRange> StepBuilder::rangesOfVectors(Value subTile) {
  const int64_t vectors = e.table.queryVectors;
  Value zero = e.index(0), wholeBlocks = e.roundDown(numKeys, e.table.keys);
  KeyRange full{zero, numKeys, zero, wholeBlocks};
  if (!mask)
    return SmallVector<KeyRange>(vectors, full);
  SmallVector<KeyRange> ranges(vectors, KeyRange{zero, numKeys, zero, zero});
  if (bounds) {
    SubTileBounds::Position position{operands.batch, operands.head, operands.queryTile, subTile, firstKey, numKeys};
    ranges = bounds->emit(e, position, seqQ, seqKv);
  }
  auto pick = [&](Value a, Value b) { return e.select(operands.full, a, b); };
  for (KeyRange &range : ranges)
    range = {pick(full.lower, range.lower), pick(full.upper, range.upper), pick(full.fullLower, range.fullLower),
             pick(full.fullUpper, e.min(range.fullUpper, wholeBlocks))};
  return ranges;
}

StepBuilder::Visit StepBuilder::visitOf(Value subTile) {
  SmallVector<KeyRange> ranges = rangesOfVectors(subTile);
  KeyRange all = ranges.front();
  Visit visit;
  if (ranges.size() == 2) {
    const KeyRange &a = ranges[0], &b = ranges[1];
    auto isEmpty = [&](const KeyRange &range) {
      return e.compare(arith::CmpIPredicate::sge, range.lower, range.upper);
    };
    Value noA = isEmpty(a), noB = isEmpty(b);
    all.lower = e.select(noA, b.lower, e.select(noB, a.lower, e.min(a.lower, b.lower)));
    all.upper = e.select(noA, b.upper, e.select(noB, a.upper, e.max(a.upper, b.upper)));
    all.fullLower = e.max(a.fullLower, b.fullLower);
    all.fullUpper = e.min(a.fullUpper, b.fullUpper);
    // As causal masks and windows have it: a starts and ends first, and they meet. Else both visit all.
    auto ordered = [&](Value x, Value y) { return e.compare(arith::CmpIPredicate::sle, x, y); };
    Value meet = e.both(e.both(ordered(all.lower, b.lower), ordered(b.lower, a.upper)), ordered(a.upper, all.upper));
    visit.first = {all.lower, e.select(meet, b.lower, all.lower)};
    visit.last = {e.select(meet, a.upper, all.upper), all.upper};
  }
  visit.fullLower = all.fullLower;
  visit.fullUpper = all.fullUpper;
  if (ranges.size() != 2 || !hasEdges()) {
    visit.first.assign(ranges.size(), all.lower);
    visit.last.assign(ranges.size(), all.upper);
  }
  visit.lower = all.lower;
  visit.upper = all.upper;
  if (hasEdges()) {
    if (ranges.size() == 2) {
      // The last rows of all may leave the second vector without queries.
      Value rows = e.sub(e.sub(seqQ, firstQuery), e.mul(subTile, e.table.subTile()));
      Value alone = e.compare(arith::CmpIPredicate::sle, rows, e.index(e.table.lanes));
      visit.first[1] = e.select(alone, all.upper, visit.first[1]);
      visit.last[0] = e.select(alone, all.upper, visit.last[0]);
      all.fullLower = e.select(alone, all.upper, all.fullLower);
      visit.fullLower = all.fullLower;
    }
    visit.lower = e.min(e.max(all.fullLower, all.lower), all.upper);
    visit.upper = e.max(e.min(all.fullUpper, all.upper), visit.lower);
  }
  return visit;
}
