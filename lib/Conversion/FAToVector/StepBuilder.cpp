// One key tile against every sub-tile of queries: bounds, and the order of the parts.
#include "StepBuilder.h"
#include "TileMemory.h"

using namespace mlir;
using namespace mlir::fa::cpu;

StepBuilder::StepBuilder(Emitter &e, const KernelShape &shape, const StepOperands &operands, Region *score,
                         Region *mask, func::FuncOp rebase, const SubTileBounds *bounds)
    : e(e), shape(shape), operands(operands), score(score), mask(mask), rebase(rebase), bounds(bounds),
      scratch(e, operands.arena, operands.copies, shape) {}

LogicalResult StepBuilder::emit() {
  seqQ = memref::DimOp::create(e.builder, e.loc, operands.query, 2);
  seqKv = memref::DimOp::create(e.builder, e.loc, operands.key, 2);
  firstKey = e.mul(operands.keyTile, shape.tileKv);
  numKeys = e.min(e.sub(seqKv, firstKey), e.index(shape.tileKv));
  firstQuery = e.mul(operands.queryTile, shape.tileQ);
  TileRows keyTile{operands.key, operands.keyBatch, operands.keyHead, firstKey, numKeys};
  TileRows valueTile{operands.value, operands.keyBatch, operands.keyHead, firstKey, numKeys};
  keys = emitTileView(e, keyTile, shape.depth, scratch.keys, operands.copyOffset);
  values = emitTileView(e, valueTile, shape.depthV, scratch.values, operands.copyOffset);
  Value finite = mask || score ? valuesAreFinite() : Value();

  Value numQueries = e.min(e.sub(seqQ, firstQuery), e.index(shape.tileQ));
  LogicalResult result = success();
  e.loop(e.index(0), e.ceilDiv(numQueries, shape.table.subTile()), 1, [&](Value subTile) {
    KeyRange range = rangeOfSubTile(subTile);
    if (failed(emitScores(subTile, range)))
      result = failure();
    if (!finite)
      return emitOutput(subTile, range);
    e.when(finite, [&] { emitOutput(subTile, range); }, [&] { emitGuardedOutput(subTile, range); });
  });
  return result;
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
  auto pick = [&](Value full, Value partial) { return e.select(operands.full, full, partial); };
  return {pick(whole.lower, masked.lower), pick(whole.upper, masked.upper), pick(whole.fullLower, masked.fullLower),
          pick(whole.fullUpper, masked.fullUpper)};
}

/// A hidden key must not reach a row through 0 * NaN. Only tiles that may hide a key are read for this: masked ones,
/// and all under a score function (it may yield -inf).
Value StepBuilder::valuesAreFinite() {
  const int64_t lanes = e.table.lanes, columns = shape.depthV - shape.depthV % lanes;
  Value scalarZero = arith::ConstantOp::create(e.builder, e.loc, e.builder.getFloatAttr(e.type, 0.0));
  // Chains of additions that do not wait for each other.
  const int64_t chains = columns % (4 * lanes) == 0 ? 4 : columns % (2 * lanes) == 0 ? 2 : 1;
  auto check = [&]() -> SmallVector<Value> {
    // x * 0 is 0, or NaN where x is not finite.
    SmallVector<Value> inits(chains, e.splat(0.0));
    inits.push_back(scalarZero);
    SmallVector<Value> sums = e.loop(e.index(0), numKeys, 1, inits, [&](Value row, ValueRange outer) {
      SmallVector<Value> carried(outer.drop_back());
      Value rest = outer.back();
      if (columns > 0)
        carried = e.loop(e.index(0), e.index(columns), chains * lanes, carried, [&](Value c, ValueRange inner) {
          SmallVector<Value> next;
          for (int64_t n = 0; n < chains; ++n)
            next.push_back(e.multiplyAdd(e.load(values, row, e.add(c, n * lanes)), e.splat(0.0), inner[n]));
          return next;
        });
      if (columns < shape.depthV)
        rest = e.loop(e.index(columns), e.index(shape.depthV), 1, {rest}, [&](Value c, ValueRange inner) {
          Value element = memref::LoadOp::create(e.builder, e.loc, values, ValueRange{row, c});
          return SmallVector<Value>{e.addf(inner[0], e.mulf(element, scalarZero))};
        })[0];
      carried.push_back(rest);
      return carried;
    });
    Value total = e.broadcast(sums.back());
    for (int64_t n = 0; n < chains; ++n)
      total = e.addf(total, sums[n]);
    Value bad = arith::CmpFOp::create(e.builder, e.loc, arith::CmpFPredicate::UNO, total, total);
    Value one = e.boolean(true);
    return {arith::XOrIOp::create(e.builder, e.loc, e.anyLane(bad), one)};
  };
  if (score)
    return check()[0];
  return e.choose(operands.full, [&] { return SmallVector<Value>{e.boolean(true)}; }, check)[0];
}
