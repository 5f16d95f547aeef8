// Loads, conversions and copies of rows.
#include "DecodeRows.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mlir::fa::cpu;

namespace {

Value widen(Emitter &e, Value value) {
  Type type = value.getType();
  if (getElementTypeOrSelf(type) == e.type)
    return value;
  auto vector = dyn_cast<VectorType>(type);
  return arith::ExtFOp::create(e.builder, e.loc, vector ? Type(vector.clone(e.type)) : e.type, value);
}

/// Even and odd elements of 2 * lanes bf16: the upper halves of words, little endian.
SmallVector<Value> splitPairs(Emitter &e, Value elements) {
  const int64_t lanes = e.table.lanes;
  auto words = VectorType::get({lanes}, e.builder.getI32Type());
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantOp::create(
        e.builder, e.loc, DenseElementsAttr::get(words, e.builder.getIntegerAttr(words.getElementType(), value)));
  };
  Value word = vector::BitCastOp::create(e.builder, e.loc, words, elements);
  Value even = arith::ShLIOp::create(e.builder, e.loc, word, constant(16));
  Value odd = arith::AndIOp::create(e.builder, e.loc, word, constant(int32_t(0xffff0000)));
  return {arith::BitcastOp::create(e.builder, e.loc, e.vectorType, even),
          arith::BitcastOp::create(e.builder, e.loc, e.vectorType, odd)};
}

Value loadMasked(Emitter &e, VectorType type, Value rows, Value row, Value column, int64_t count) {
  SmallVector<bool> exist;
  for (int64_t lane = 0; lane < e.table.lanes; ++lane)
    exist.push_back(lane < count);
  Value mask = arith::ConstantOp::create(e.builder, e.loc, e.builder.getBoolVectorAttr(exist));
  Value zeros = arith::ConstantOp::create(e.builder, e.loc, e.builder.getZeroAttr(type));
  return vector::MaskedLoadOp::create(e.builder, e.loc, type, rows, ValueRange{row, column}, mask, zeros);
}

/// For rows whose elements are apart, or that are not worth more.
void stageElements(Emitter &e, Value rows, Value row, const ColumnOrder &order, Value scratch, Value to, Value factor) {
  e.loop(e.index(0), e.index(order.depth), 1, [&](Value column) {
    Value element = widen(e, memref::LoadOp::create(e.builder, e.loc, rows, ValueRange{row, column}));
    if (factor)
      element = e.mulf(element, factor);
    memref::StoreOp::create(e.builder, e.loc, element, scratch, ValueRange{to, column});
  });
  const int64_t padded = llvm::alignTo(order.depth, e.table.lanes);
  Value zero = arith::ConstantOp::create(e.builder, e.loc, e.builder.getFloatAttr(e.type, 0.0));
  e.loop(e.index(order.depth), e.index(padded), 1,
         [&](Value column) { memref::StoreOp::create(e.builder, e.loc, zero, scratch, ValueRange{to, column}); });
}

} // namespace

Value mlir::fa::cpu::emitSequenceView(Emitter &e, Value tensor, Value batch, Value head) {
  auto type = cast<MemRefType>(tensor.getType());
  auto metadata = memref::ExtractStridedMetadataOp::create(e.builder, e.loc, tensor);
  ValueRange strides = metadata.getStrides();
  Value offset = e.add(metadata.getOffset(), e.add(e.mul(batch, strides[0]), e.mul(head, strides[1])));
  Value length = memref::DimOp::create(e.builder, e.loc, tensor, 2);
  SmallVector<int64_t> known = type.getStridesAndOffset().first;
  auto stride = [&](unsigned dim) -> OpFoldResult {
    if (ShapedType::isDynamic(known[dim]))
      return Value(strides[dim]);
    return e.builder.getIndexAttr(known[dim]);
  };
  const int64_t depth = type.getDimSize(3);
  auto layout = StridedLayoutAttr::get(e.builder.getContext(), ShapedType::kDynamic, {known[2], known[3]});
  auto viewType = MemRefType::get({ShapedType::kDynamic, depth}, type.getElementType(), layout);
  return memref::ReinterpretCastOp::create(e.builder, e.loc, viewType, metadata.getBaseBuffer(), OpFoldResult(offset),
                                           SmallVector<OpFoldResult>{length, e.builder.getIndexAttr(depth)},
                                           SmallVector<OpFoldResult>{stride(2), stride(3)});
}

void mlir::fa::cpu::forEachPiece(Emitter &e, const ColumnOrder &order,
                                 llvm::function_ref<void(Value, int64_t, bool)> body) {
  const int64_t lanes = e.table.lanes, piece = order.paired ? 2 * lanes : lanes;
  const int64_t whole = order.depth - order.depth % piece;
  if (whole > 0)
    e.loop(e.index(0), e.index(whole), piece, [&](Value column) { body(column, piece, order.paired); });
  for (int64_t column = whole; column < order.depth; column += lanes)
    body(e.index(column), std::min(lanes, order.depth - column), false);
}

SmallVector<Value> mlir::fa::cpu::loadPiece(Emitter &e, Value rows, Value row, Value column, int64_t count,
                                            bool paired) {
  const int64_t lanes = e.table.lanes;
  Type element = cast<MemRefType>(rows.getType()).getElementType();
  auto type = VectorType::get({paired ? 2 * lanes : lanes}, element);
  if (!paired && count < lanes)
    return {widen(e, loadMasked(e, type, rows, row, column, count))};
  Value elements = vector::LoadOp::create(e.builder, e.loc, type, rows, ValueRange{row, column});
  return paired ? splitPairs(e, elements) : SmallVector<Value>{widen(e, elements)};
}

void mlir::fa::cpu::emitStageRow(Emitter &e, Value rows, Value row, const ColumnOrder &order, Value scratch, Value to,
                                 Value factor) {
  auto [strides, offset] = cast<MemRefType>(rows.getType()).getStridesAndOffset();
  if (strides.back() != 1)
    return stageElements(e, rows, row, order, scratch, to, factor);
  Value factors = factor ? e.broadcast(factor) : Value();
  forEachPiece(e, order, [&](Value column, int64_t count, bool paired) {
    for (auto [n, vector] : llvm::enumerate(loadPiece(e, rows, row, column, count, paired)))
      e.store(factor ? e.mulf(vector, factors) : vector, scratch, to, e.add(column, n * e.table.lanes));
  });
}

void mlir::fa::cpu::emitPrefetch(Emitter &e, Value rows, Value row, Value column) {
  memref::PrefetchOp::create(e.builder, e.loc, rows, ValueRange{row, column}, /*isWrite=*/false, /*localityHint=*/3,
                             /*isDataCache=*/true);
}
