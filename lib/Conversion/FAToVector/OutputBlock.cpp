// O^T += V^T P^T for one sub-tile.
#include "MicroKernel.h"
#include "StepBuilder.h"

using namespace mlir;
using namespace mlir::fa::cpu;

void StepBuilder::emitOutput(Value subTile, const KeyRange &range) {
  const int64_t columns = e.table.keys, whole = shape.depthV - shape.depthV % columns;
  KeyRange used = range;
  used.upper = e.min(range.upper, numKeys);
  if (whole > 0)
    e.loop(e.index(0), e.index(whole), columns,
           [&](Value column) { emitOutputColumns(subTile, column, columns, used); });
  if (whole < shape.depthV)
    emitOutputColumns(subTile, e.index(whole), shape.depthV - whole, used);
}

void StepBuilder::emitOutputColumns(Value subTile, Value column, int64_t columns, const KeyRange &range) {
  const int64_t vectors = e.table.queryVectors, lanes = e.table.lanes;
  Value row = e.add(e.mul(subTile, shape.depthV), column);
  SmallVector<Value> accumulators;
  for (int64_t c = 0; c < columns; ++c)
    for (int64_t i = 0; i < vectors; ++i)
      accumulators.push_back(e.load(scratch.output, row, c, i * lanes));
  MicroKernel product{columns,
                      [&](Value key, int64_t c) -> Value {
                        return memref::LoadOp::create(e.builder, e.loc, values, ValueRange{key, e.add(column, c)});
                      },
                      [&](Value key, int64_t i) { return e.load(scratch.scores, key, e.index(i * lanes)); }};
  accumulators = product.emit(e, range.lower, range.upper, accumulators);
  for (int64_t c = 0; c < columns; ++c)
    for (int64_t i = 0; i < vectors; ++i)
      e.store(accumulators[c * vectors + i], scratch.output, row, c, i * lanes);
}

/// For values that are not finite: a pair that is hidden (P = 0) adds nothing. Rare, so small rather than fast.
void StepBuilder::emitGuardedOutput(Value subTile, const KeyRange &range) {
  const int64_t vectors = e.table.queryVectors, lanes = e.table.lanes;
  Value base = e.mul(subTile, shape.depthV);
  e.loop(range.lower, e.min(range.upper, numKeys), 1, [&](Value key) {
    e.loop(e.index(0), e.index(shape.depthV), 1, [&](Value c) {
      Value value = e.broadcast(memref::LoadOp::create(e.builder, e.loc, values, ValueRange{key, c}));
      for (int64_t i = 0; i < vectors; ++i) {
        Value p = e.load(scratch.scores, key, e.index(i * lanes));
        Value old = e.load(scratch.output, e.add(base, c), e.index(i * lanes));
        Value hidden = arith::CmpFOp::create(e.builder, e.loc, arith::CmpFPredicate::OEQ, p, e.splat(0.0));
        e.store(e.select(hidden, old, e.multiplyAdd(value, p, old)), scratch.output, e.add(base, c),
                e.index(i * lanes));
      }
    });
  });
}
