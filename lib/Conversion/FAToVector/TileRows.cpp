// Elements and vectors of tensors of any element type and stride.
#include "TileRows.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mlir::fa::cpu;

Value mlir::fa::cpu::widen(Emitter &e, Value value) {
  if (getElementTypeOrSelf(value.getType()) == e.type)
    return value;
  Type wide = e.type;
  if (auto vector = dyn_cast<VectorType>(value.getType()))
    wide = vector.clone(e.type);
  return arith::ExtFOp::create(e.builder, e.loc, wide, value);
}

Value mlir::fa::cpu::narrow(Emitter &e, Value value, Type element) {
  if (element == e.type)
    return value;
  Type type = element;
  if (auto vector = dyn_cast<VectorType>(value.getType()))
    type = vector.clone(element);
  return arith::TruncFOp::create(e.builder, e.loc, type, value);
}

Value mlir::fa::cpu::loadElement(Emitter &e, const TileRows &tile, Value row, Value column) {
  return widen(e,
               memref::LoadOp::create(e.builder, e.loc, tile.tensor, ValueRange{tile.batch, tile.head, row, column}));
}

Value mlir::fa::cpu::loadPiece(Emitter &e, const TileRows &tile, Value row, Value column, int64_t elements) {
  auto type = VectorType::get({elements}, cast<MemRefType>(tile.tensor.getType()).getElementType());
  return vector::LoadOp::create(e.builder, e.loc, type, tile.tensor, ValueRange{tile.batch, tile.head, row, column});
}

void mlir::fa::cpu::prefetchRows(Emitter &e, const TileRows &tile, Value row, int64_t count, Value column,
                                 bool isWrite) {
  for (int64_t n = 0; n < count; ++n)
    memref::PrefetchOp::create(e.builder, e.loc, tile.tensor, ValueRange{tile.batch, tile.head, e.add(row, n), column},
                               isWrite,
                               /*localityHint=*/3, /*isDataCache=*/true);
}

void mlir::fa::cpu::prefetchWholeRows(Emitter &e, const TileRows &tile, int64_t count, int64_t depth) {
  const int64_t lineElements = 64 * 8 / cast<MemRefType>(tile.tensor.getType()).getElementTypeBitWidth();
  e.loop(e.index(0), e.index(depth), lineElements,
         [&](Value c) { prefetchRows(e, tile, tile.row, count, e.opaque(c), /*isWrite=*/false); });
}

static bool hasUnitStride(MemRefType type) {
  auto [strides, offset] = type.getStridesAndOffset();
  return strides.back() == 1;
}

int64_t mlir::fa::cpu::vectorColumns(Value tensor, int64_t depth, int64_t width) {
  return hasUnitStride(cast<MemRefType>(tensor.getType())) ? depth - depth % width : 0;
}
