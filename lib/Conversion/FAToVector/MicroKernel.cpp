// Unrolled outer products and in-register transposes.
#include "MicroKernel.h"

using namespace mlir;
using namespace mlir::fa::cpu;

SmallVector<Value> MicroKernel::emit(Emitter &e, Value lower, Value upper, SmallVector<Value> accumulators) const {
  const int64_t vectors = e.table.queryVectors;
  auto step = [&](Value t, SmallVector<Value> &acc) {
    SmallVector<Value> operands;
    for (int64_t i = 0; i < vectors; ++i)
      operands.push_back(vector(t, i));
    for (int64_t r = 0; r < rows; ++r) {
      Value factor = e.broadcast(scalar(t, r));
      for (int64_t i = 0; i < vectors; ++i)
        acc[r * vectors + i] = e.multiplyAdd(factor, operands[i], acc[r * vectors + i]);
    }
  };
  auto unrolled = [&](int64_t count) {
    return [&, count](Value t, ValueRange carried) {
      SmallVector<Value> acc(carried);
      for (int64_t u = 0; u < count; ++u)
        step(e.add(t, u), acc);
      return acc;
    };
  };
  Value main = e.add(lower, e.roundDown(e.sub(upper, lower), e.table.unroll));
  accumulators = e.loop(lower, main, e.table.unroll, accumulators, unrolled(e.table.unroll));
  std::optional<int64_t> first = getConstantIntValue(main), last = getConstantIntValue(upper);
  if (first && last && *first == *last)
    return accumulators;
  return e.loop(main, upper, 1, accumulators, unrolled(1));
}

void mlir::fa::cpu::emitTranspose(Emitter &e, SmallVector<Value> &rows) {
  const int64_t lanes = e.table.lanes;
  for (int64_t distance = 1; distance < lanes; distance *= 2) {
    SmallVector<int64_t> low, high;
    for (int64_t lane = 0; lane < lanes; ++lane) {
      bool upper = lane & distance;
      low.push_back(upper ? lanes + lane - distance : lane);
      high.push_back(upper ? lanes + lane : lane + distance);
    }
    for (int64_t row = 0; row < lanes; ++row) {
      if (row & distance)
        continue;
      Value a = rows[row], b = rows[row + distance];
      rows[row] = vector::ShuffleOp::create(e.builder, e.loc, a, b, low);
      rows[row + distance] = vector::ShuffleOp::create(e.builder, e.loc, a, b, high);
    }
  }
}
