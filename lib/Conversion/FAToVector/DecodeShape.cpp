// Blocks of a kernel for few query rows, and the layout of its scratch arena.
#include "DecodeShape.h"

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fa::cpu;

namespace {

bool hasUnitStride(MemRefType type) { return type.getStridesAndOffset().first.back() == 1; }

/// Calls `place(member, sizes)` for every view in order.
template <typename Place> void forEachView(const DecodeShape &shape, Place place) {
  const int64_t lanes = shape.lanes(), blocks = shape.rowBlocks;
  place(&DecodeScratch::queries, {blocks * shape.rows, shape.paddedDepth()});
  place(&DecodeScratch::output, {blocks * shape.rows, shape.paddedDepthV()});
  place(&DecodeScratch::scores, {blocks * shape.scoreVectors(), lanes});
  place(&DecodeScratch::reference, {blocks * lanes});
  place(&DecodeScratch::threshold, {blocks * lanes});
  place(&DecodeScratch::sum, {blocks * lanes});
  place(&DecodeScratch::keys, {shape.stageKeys ? shape.blockKeys() : 0, shape.paddedDepth()});
  place(&DecodeScratch::values, {shape.blockKeys(), shape.paddedDepthV()});
}

int64_t bytesOf(const DecodeShape &shape, std::initializer_list<int64_t> sizes) {
  int64_t bytes = shape.kernel.type.getIntOrFloatBitWidth() / 8;
  for (int64_t size : sizes)
    bytes *= size;
  return llvm::alignTo(bytes, 64); // a cache line
}

} // namespace

DecodeShape mlir::fa::cpu::decodeShape(const KernelShape &kernel, ArrayRef<StepOp> steps) {
  DecodeShape shape;
  shape.kernel = kernel;
  StepOp first = steps.front();
  shape.element = first.getKey().getType().getElementType();
  BlockTable &table = shape.kernel.table;
  table.queryVectors = 1;
  // Two pages of memory at a time, or less: what is asked for ahead of its use fits the first-level cache.
  table.keys = std::max<int64_t>(
      kernel.table.avx512 || table.lanes * kernel.type.getIntOrFloatBitWidth() == 512 ? 16 : 8, table.lanes);
  // Four rows share each load of a key; more would pad uneven numbers of rows.
  while (shape.rows < 4 && shape.rows < kernel.tileQ && shape.rows < table.lanes)
    shape.rows *= 2;
  shape.rowBlocks = llvm::divideCeil(kernel.tileQ, shape.rows);
  const bool mayPair = shape.element.isBF16();
  shape.order = {kernel.depth, mayPair && hasUnitStride(first.getQuery().getType())};
  shape.orderV = {kernel.depthV, mayPair};
  for (StepOp step : steps) {
    MemRefType key = step.getKey().getType(), value = step.getValue().getType();
    shape.order.paired &= hasUnitStride(key);
    shape.orderV.paired &= hasUnitStride(value);
    shape.stageKeys |= !hasUnitStride(key);
    // Conversions pay once for each row block.
    shape.stageValues |= !hasUnitStride(value) || (shape.rowBlocks > 1 && shape.element != kernel.type);
  }
  return shape;
}

MemRefType DecodeScratch::arenaType(OpBuilder &builder, const DecodeShape &shape) {
  int64_t bytes = 0;
  forEachView(shape,
              [&](Value DecodeScratch::*, std::initializer_list<int64_t> sizes) { bytes += bytesOf(shape, sizes); });
  return MemRefType::get({bytes}, builder.getI8Type());
}

DecodeScratch::DecodeScratch(Emitter &e, Value arena, const DecodeShape &shape) {
  int64_t offset = 0;
  forEachView(shape, [&](Value DecodeScratch::*member, std::initializer_list<int64_t> sizes) {
    this->*member = memref::ViewOp::create(e.builder, e.loc, MemRefType::get(sizes, shape.kernel.type), arena,
                                           e.index(offset), ValueRange{});
    offset += bytesOf(shape, sizes);
  });
}
