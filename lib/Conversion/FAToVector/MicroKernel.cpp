// Unrolled outer products.
#include "MicroKernel.h"

using namespace mlir;
using namespace mlir::fa::cpu;

SmallVector<Value> MicroKernel::emit(Emitter &e, Value lower, Value upper, SmallVector<Value> accumulators) const {
  auto unrolled = [&](int64_t count) {
    return [&, count](Value counter, ValueRange carried) {
      SmallVector<Value> acc(carried);
      Value t = e.opaque(counter);
      if (beside)
        beside(t);
      Value scalars = e.add(scalar.start, e.mul(t, scalar.stride));
      Value operands = e.add(vector.start, e.mul(t, vector.stride));
      for (int64_t u = 0; u < count; ++u) {
        SmallVector<Value> loaded;
        for (int64_t i = 0; i < vectors; ++i)
          loaded.push_back(e.load(vector.memory, e.add(operands, u * vector.stride + i * vector.next)));
        for (int64_t r = 0; r < rows; ++r) {
          Value position = e.add(scalars, u * scalar.stride + r * scalar.next);
          Value factor = e.broadcast(memref::LoadOp::create(e.builder, e.loc, scalar.memory, position));
          for (int64_t i = 0; i < vectors; ++i)
            acc[r * vectors + i] = e.multiplyAdd(factor, loaded[i], acc[r * vectors + i]);
        }
      }
      return acc;
    };
  };
  const int64_t unroll = e.table.unroll;
  if (!remainder)
    return e.loop(lower, upper, unroll, accumulators, unrolled(unroll));
  Value main = e.add(lower, e.roundDown(e.sub(upper, lower), unroll));
  accumulators = e.loop(lower, main, unroll, accumulators, unrolled(unroll));
  return e.loop(main, upper, 1, accumulators, unrolled(1));
}
