// One key tile against every sub-tile of queries: bounds, and the order of the parts.
#include "StepBuilder.h"
#include "TileMemory.h"

using namespace mlir;
using namespace mlir::fa::cpu;

StepBuilder::StepBuilder(Emitter &e, const KernelShape &shape, const StepOperands &operands, Region *score,
                         Region *mask, func::FuncOp rebase, const SubTileBounds *bounds)
    : e(e), shape(shape), operands(operands), score(score), mask(mask), rebase(rebase), bounds(bounds),
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

  Value numQueries = e.min(e.sub(seqQ, firstQuery), e.index(shape.tileQ));
  LogicalResult result = success();
  e.loop(e.index(0), e.ceilDiv(numQueries, shape.table.subTile()), 1, [&](Value counter) {
    Value subTile = e.opaque(counter);
    KeyRange range = rangeOfSubTile(subTile);
    if (failed(emitScores(subTile, range)))
      result = failure();
    emitOutput(subTile, range);
  });
  return result;
}

/// Where bounds are known, keys that only some queries of a sub-tile may see are not computed for the others.
bool StepBuilder::hasHalfBlocks() const { return mask && bounds && laneMask && e.table.queryVectors == 2; }

/// Some tile has a number of keys that is no multiple of `keys`, which divides tiles.
bool StepBuilder::mayEndInBlock(int64_t keys) const {
  const int64_t length = lengthOf(operands.key);
  return ShapedType::isDynamic(length) || length % keys != 0 || shape.tileKv % keys != 0;
}

KeyRange StepBuilder::rangeOfSubTile(Value subTile) {
  Value zero = e.index(0);
  KeyRange whole{zero, numKeys, zero, e.roundDown(numKeys, shape.table.keys)};
  if (!mask)
    return whole;
  KeyRange masked{zero, numKeys, zero, zero};
  if (bounds) {
    SubTileBounds::Position position{operands.batch, operands.head, operands.queryTile, subTile, firstKey, numKeys};
    masked = bounds->emit(e, position, seqQ, seqKv);
  }
  if (!hasHalfBlocks()) {
    masked.bothLower = masked.lower;
    masked.bothUpper = masked.upper;
  }
  auto pick = [&](Value full, Value partial) { return e.select(operands.full, full, partial); };
  return {pick(whole.lower, masked.lower), pick(whole.upper, masked.upper), pick(whole.fullLower, masked.fullLower),
          pick(whole.fullUpper, masked.fullUpper), pick(whole.bothLower, masked.bothLower),
          pick(whole.bothUpper, masked.bothUpper)};
}
