// Layout of the scratch arena: every view starts on a cache line.
#include "KernelShape.h"

using namespace mlir;
using namespace mlir::fa::cpu;

namespace {
constexpr int64_t cacheLine = 64;

/// Hands out offsets; with an emitter also the views.
struct Layout {
  int64_t elementBytes;
  int64_t offset = 0;

  int64_t place(ArrayRef<int64_t> sizes) {
    int64_t bytes = elementBytes;
    for (int64_t size : sizes)
      bytes *= size;
    int64_t at = offset;
    offset += llvm::alignTo(bytes, cacheLine);
    return at;
  }
};

/// Calls `place(member, sizes)` for every view in order.
template <typename Place> void forEachView(const KernelShape &shape, Place place) {
  const int64_t lanes = shape.table.subTile();
  place(&Scratch::queries, {shape.numSubTiles() * shape.depth, lanes});
  place(&Scratch::output, {shape.numSubTiles() * shape.depthV, lanes});
  place(&Scratch::scores, {shape.tileKv, lanes});
  place(&Scratch::reference, {shape.numLanes()});
  place(&Scratch::threshold, {shape.numLanes()});
  place(&Scratch::sum, {shape.numLanes()});
  if (shape.copyKeys)
    place(&Scratch::keys, {shape.tileKv, shape.depth});
  if (shape.copyValues)
    place(&Scratch::values, {shape.tileKv, shape.depthV});
}
} // namespace

int64_t Scratch::bytes(const KernelShape &shape) {
  Layout layout{shape.type.getIntOrFloatBitWidth() / 8};
  forEachView(shape, [&](Value Scratch::*, std::initializer_list<int64_t> sizes) { layout.place(sizes); });
  return layout.offset;
}

MemRefType Scratch::arenaType(OpBuilder &builder, const KernelShape &shape) {
  return MemRefType::get({bytes(shape)}, builder.getI8Type());
}

Scratch::Scratch(Emitter &e, Value arena, const KernelShape &shape) {
  Layout layout{shape.type.getIntOrFloatBitWidth() / 8};
  forEachView(shape, [&](Value Scratch::*member, std::initializer_list<int64_t> sizes) {
    Value offset = e.index(layout.place(sizes));
    this->*member =
        memref::ViewOp::create(e.builder, e.loc, MemRefType::get(sizes, shape.type), arena, offset, ValueRange{});
  });
}
