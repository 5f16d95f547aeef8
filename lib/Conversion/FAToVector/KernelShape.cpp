// Layout of the scratch arena: every view starts on a cache line, and views start at different distances from a page.
#include "KernelShape.h"

using namespace mlir;
using namespace mlir::fa::cpu;

namespace {
constexpr int64_t cacheLine = 64;
/// Most views are whole pages: without a gap, loads from one would wait for stores to another at the same distance from
/// a page (4K aliasing).
constexpr int64_t stagger = 13 * cacheLine;

/// Hands out offsets; with an emitter also the views.
struct Layout {
  int64_t elementBytes;
  int64_t offset = 0;

  int64_t place(ArrayRef<int64_t> sizes) {
    int64_t bytes = elementBytes;
    for (int64_t size : sizes)
      bytes *= size;
    int64_t at = offset;
    offset += llvm::alignTo(bytes, cacheLine) + stagger;
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
  place(&Scratch::shift, {shape.numLanes()});
  place(&Scratch::sum, {shape.numLanes()});
  place(&Scratch::seen, {lanes});
  place(&Scratch::unfit, {lanes});
  place(&Scratch::partial, {lanes});
  place(&Scratch::inverse, {shape.table.lanes});
  place(&Scratch::candidate, {shape.table.keys, lanes});
  place(&Scratch::marked, {1});
  place(&Scratch::factor, {1});
  place(&Scratch::started, {shape.numSubTiles()});
}

template <typename Place> void forEachCopy(const KernelShape &shape, Place place) {
  if (shape.copyKeys)
    place(&Scratch::keys, {shape.tileKv, shape.depth});
  if (shape.copyValues)
    place(&Scratch::values, {shape.tileKv, shape.depthV});
}

MemRefType bytesType(OpBuilder &builder, const Layout &layout) {
  return MemRefType::get({layout.offset}, builder.getI8Type());
}
} // namespace

MemRefType Scratch::arenaType(OpBuilder &builder, const KernelShape &shape) {
  Layout layout{shape.type.getIntOrFloatBitWidth() / 8};
  forEachView(shape, [&](Value Scratch::*, std::initializer_list<int64_t> sizes) { layout.place(sizes); });
  return bytesType(builder, layout);
}

MemRefType Scratch::copiesType(OpBuilder &builder, const KernelShape &shape) {
  Layout layout{shape.type.getIntOrFloatBitWidth() / 8};
  forEachCopy(shape, [&](Value Scratch::*, std::initializer_list<int64_t> sizes) { layout.place(sizes); });
  return bytesType(builder, layout);
}

Scratch::Scratch(Emitter &e, Value arena, Value copies, const KernelShape &shape) {
  auto view = [&](Layout &layout, Value memory) {
    return [&, memory](Value Scratch::*member, std::initializer_list<int64_t> sizes) {
      Value offset = e.index(layout.place(sizes));
      this->*member =
          memref::ViewOp::create(e.builder, e.loc, MemRefType::get(sizes, shape.type), memory, offset, ValueRange{});
    };
  };
  Layout arenaLayout{shape.type.getIntOrFloatBitWidth() / 8}, copiesLayout = arenaLayout;
  forEachView(shape, view(arenaLayout, arena));
  if (copies)
    forEachCopy(shape, view(copiesLayout, copies));
}
