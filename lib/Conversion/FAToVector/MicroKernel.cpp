// Unrolled outer products and in-register transposes.
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

namespace {

/// Vectors as arrays of groups of 128 bits: shuffles that move whole groups, or stay inside each, are one instruction
/// without an index operand on x86.
struct GroupShuffle {
  Emitter &e;
  int64_t lanes, group;

  /// The low (or high) halves of every group of a and b, interleaved by runs of `run` elements.
  Value unpack(Value a, Value b, int64_t run, bool high) const {
    SmallVector<int64_t> picked;
    for (int64_t first = 0; first < lanes; first += group)
      for (int64_t n = 0; n < group / 2; n += run)
        for (int64_t source : {int64_t(0), lanes})
          for (int64_t k = 0; k < run; ++k)
            picked.push_back(source + first + (high ? group / 2 : 0) + n + k);
    return vector::ShuffleOp::create(e.builder, e.loc, a, b, picked);
  }

  /// The even (or odd) groups of a, then those of b.
  Value alternate(Value a, Value b, bool odd) const {
    SmallVector<int64_t> picked;
    for (int64_t first = odd ? group : 0; first < 2 * lanes; first += 2 * group)
      for (int64_t k = 0; k < group; ++k)
        picked.push_back(first + k);
    return vector::ShuffleOp::create(e.builder, e.loc, a, b, picked);
  }
};

} // namespace

void mlir::fa::cpu::emitTranspose(Emitter &e, SmallVector<Value> &rows) {
  const int64_t lanes = e.table.lanes, group = std::min<int64_t>(lanes, 128 / e.type.getIntOrFloatBitWidth());
  GroupShuffle shuffle{e, lanes, group};
  // Squares of group x group elements inside each group: afterwards rows[g * group + j] holds columns j, group + j, ...
  for (int64_t run = 1; run < group; run *= 2)
    for (int64_t first = 0; first < lanes; first += 2 * run) {
      SmallVector<Value> next;
      for (int64_t k = 0; k < run; ++k)
        for (bool high : {false, true})
          next.push_back(shuffle.unpack(rows[first + k], rows[first + run + k], run, high));
      llvm::copy(next, rows.begin() + first);
    }
  // Squares of groups: even and odd groups are parted until each vector holds one column.
  for (int64_t distance = group; distance < lanes; distance *= 2) {
    SmallVector<Value> next(lanes);
    for (int64_t row = 0; row < lanes; ++row) {
      if (row / distance % 2)
        continue;
      next[row] = shuffle.alternate(rows[row], rows[row + distance], false);
      next[row + distance] = shuffle.alternate(rows[row], rows[row + distance], true);
    }
    rows = next;
  }
}
