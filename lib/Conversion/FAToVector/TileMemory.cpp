// Key and value tiles: which can be read where they are, views of them, copies of the others.
#include "TileMemory.h"

using namespace mlir;
using namespace mlir::fa::cpu;

static Value loadVector(Emitter &e, const TileRows &tile, Value row, Value column) {
  return widen(e, loadPiece(e, tile, row, column, e.table.lanes));
}

static void copyTile(Emitter &e, const TileRows &tile, int64_t depth, Value copy) {
  Value zero = e.index(0);
  int64_t columns = vectorColumns(tile.tensor, depth, e.table.lanes);
  e.loop(zero, tile.count, 1, [&](Value r) {
    Value row = e.add(tile.row, r);
    if (columns > 0)
      e.loop(zero, e.index(columns), e.table.lanes, [&](Value c) { e.store(loadVector(e, tile, row, c), copy, r, c); });
    if (columns < depth)
      e.loop(e.index(columns), e.index(depth), 1, [&](Value c) {
        memref::StoreOp::create(e.builder, e.loc, loadElement(e, tile, row, c), copy, ValueRange{r, c});
      });
  });
}

static bool hasWholeRows(MemRefType tensor, int64_t readRows) {
  return readRows == 1 || (!tensor.isDynamicDim(2) && tensor.getDimSize(2) % readRows == 0);
}

TileAccess mlir::fa::cpu::classifyTile(MemRefType tensor, Type computeType, int64_t readRows) {
  if (tensor.getElementType() != computeType)
    return TileAccess::Copy;
  auto [strides, offset] = tensor.getStridesAndOffset();
  int64_t depth = tensor.getDimSize(3);
  auto fits = [](int64_t stride, int64_t wanted) { return ShapedType::isDynamic(stride) || stride == wanted; };
  if (!fits(strides[3], 1) || !fits(strides[2], depth))
    return TileAccess::Copy;
  bool known =
      !ShapedType::isDynamic(strides[3]) && !ShapedType::isDynamic(strides[2]) && hasWholeRows(tensor, readRows);
  return known ? TileAccess::InPlace : TileAccess::Runtime;
}

static Value viewRows(Emitter &e, MemRefType tensor, Value base, Value offset, Value count, int64_t depth) {
  auto layout = StridedLayoutAttr::get(e.builder.getContext(), ShapedType::kDynamic, {depth, 1});
  auto viewType = MemRefType::get({ShapedType::kDynamic, depth}, tensor.getElementType(), layout);
  SmallVector<OpFoldResult> sizes{count, e.builder.getIndexAttr(depth)};
  SmallVector<OpFoldResult> rowStrides{e.builder.getIndexAttr(depth), e.builder.getIndexAttr(1)};
  return memref::ReinterpretCastOp::create(e.builder, e.loc, viewType, base, OpFoldResult(offset), sizes, rowStrides);
}

Value mlir::fa::cpu::emitTileInPlace(Emitter &e, const TileRows &tile, int64_t depth) {
  auto metadata = memref::ExtractStridedMetadataOp::create(e.builder, e.loc, tile.tensor);
  ValueRange strides = metadata.getStrides();
  Value offset = e.add(metadata.getOffset(), e.mul(tile.batch, strides[0]));
  offset = e.add(offset, e.add(e.mul(tile.head, strides[1]), e.mul(tile.row, strides[2])));
  return viewRows(e, cast<MemRefType>(tile.tensor.getType()), metadata.getBaseBuffer(), offset, tile.count, depth);
}

Value mlir::fa::cpu::emitTileView(Emitter &e, const TileRows &tile, int64_t depth, int64_t readRows, Value copy,
                                  Value copyOffset) {
  auto inPlace = [&]() { return SmallVector<Value>{emitTileInPlace(e, tile, depth)}; };
  auto copied = [&]() {
    copyTile(e, tile, depth, copy);
    return SmallVector<Value>{viewRows(e, cast<MemRefType>(copy.getType()), copy, copyOffset, tile.count, depth)};
  };
  auto type = cast<MemRefType>(tile.tensor.getType());
  switch (classifyTile(type, e.type, readRows)) {
  case TileAccess::InPlace:
    return inPlace()[0];
  case TileAccess::Copy:
    return copied()[0];
  case TileAccess::Runtime:
    break;
  }
  auto metadata = memref::ExtractStridedMetadataOp::create(e.builder, e.loc, tile.tensor);
  ValueRange strides = metadata.getStrides();
  Value fits = e.both(e.compare(arith::CmpIPredicate::eq, strides[2], e.index(depth)),
                      e.compare(arith::CmpIPredicate::eq, strides[3], e.index(1)));
  if (!hasWholeRows(type, readRows))
    fits = e.both(fits, e.compare(arith::CmpIPredicate::eq, e.roundDown(tile.count, readRows), tile.count));
  return e.choose(fits, inPlace, copied)[0];
}
