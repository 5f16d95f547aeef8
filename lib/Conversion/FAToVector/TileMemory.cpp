// Queries and outputs are transposed in registers, lanes x lanes elements at a time; what does not fill a square moves
// element by element.
#include "TileMemory.h"
#include "MicroKernel.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mlir::fa::cpu;

namespace {

bool hasUnitStride(MemRefType type) {
  auto [strides, offset] = type.getStridesAndOffset();
  return strides.back() == 1;
}

/// An element, or a vector of them, in the computing type.
Value widen(Emitter &e, Value value) {
  if (getElementTypeOrSelf(value.getType()) == e.type)
    return value;
  Type wide = e.type;
  if (auto vector = dyn_cast<VectorType>(value.getType()))
    wide = vector.clone(e.type);
  return arith::ExtFOp::create(e.builder, e.loc, wide, value);
}

Value narrow(Emitter &e, Value value, Type element) {
  if (element == e.type)
    return value;
  Type type = element;
  if (auto vector = dyn_cast<VectorType>(value.getType()))
    type = vector.clone(element);
  return arith::TruncFOp::create(e.builder, e.loc, type, value);
}

Value loadElement(Emitter &e, const TileRows &tile, Value row, Value column) {
  return widen(e,
               memref::LoadOp::create(e.builder, e.loc, tile.tensor, ValueRange{tile.batch, tile.head, row, column}));
}

Value loadVector(Emitter &e, const TileRows &tile, Value row, Value column) {
  auto type = VectorType::get({e.table.lanes}, cast<MemRefType>(tile.tensor.getType()).getElementType());
  return widen(
      e, vector::LoadOp::create(e.builder, e.loc, type, tile.tensor, ValueRange{tile.batch, tile.head, row, column}));
}

void storeVector(Emitter &e, const TileRows &tile, Value vector, ValueRange indices) {
  vector::StoreOp::create(e.builder, e.loc, vector, tile.tensor, indices);
}

/// Columns that are worked on as whole vectors.
int64_t vectorColumns(Emitter &e, Value tensor, int64_t depth) {
  return hasUnitStride(cast<MemRefType>(tensor.getType())) ? depth - depth % e.table.lanes : 0;
}

void copyTile(Emitter &e, const TileRows &tile, int64_t depth, Value copy) {
  Value zero = e.index(0);
  int64_t columns = vectorColumns(e, tile.tensor, depth);
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

} // namespace

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
  bool known = !ShapedType::isDynamic(strides[3]) && !ShapedType::isDynamic(strides[2]) && hasWholeRows(tensor, readRows);
  return known ? TileAccess::InPlace : TileAccess::Runtime;
}

Value mlir::fa::cpu::emitTileView(Emitter &e, const TileRows &tile, int64_t depth, int64_t readRows, Value copy,
                                    Value copyOffset) {
  auto layout = StridedLayoutAttr::get(e.builder.getContext(), ShapedType::kDynamic, {depth, 1});
  auto viewType = MemRefType::get({ShapedType::kDynamic, depth}, e.type, layout);
  auto metadata = memref::ExtractStridedMetadataOp::create(e.builder, e.loc, tile.tensor);
  ValueRange strides = metadata.getStrides();
  auto view = [&](Value base, Value offset) -> SmallVector<Value> {
    SmallVector<OpFoldResult> sizes{tile.count, e.builder.getIndexAttr(depth)};
    SmallVector<OpFoldResult> rowStrides{e.builder.getIndexAttr(depth), e.builder.getIndexAttr(1)};
    return {
        memref::ReinterpretCastOp::create(e.builder, e.loc, viewType, base, OpFoldResult(offset), sizes, rowStrides)};
  };
  auto inPlace = [&]() {
    Value offset = e.add(metadata.getOffset(), e.mul(tile.batch, strides[0]));
    offset = e.add(offset, e.add(e.mul(tile.head, strides[1]), e.mul(tile.row, strides[2])));
    return view(metadata.getBaseBuffer(), offset);
  };
  auto copied = [&]() {
    copyTile(e, tile, depth, copy);
    return view(copy, copyOffset);
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
  Value fits = e.both(e.compare(arith::CmpIPredicate::eq, strides[2], e.index(depth)),
                      e.compare(arith::CmpIPredicate::eq, strides[3], e.index(1)));
  if (!hasWholeRows(type, readRows))
    fits = e.both(fits, e.compare(arith::CmpIPredicate::eq, e.roundDown(tile.count, readRows), tile.count));
  return e.choose(fits, inPlace, copied)[0];
}

void mlir::fa::cpu::emitPackQueries(Emitter &e, const Scratch &scratch, const KernelShape &shape,
                                    const TileRows &queries, Value seqQ, Value factor) {
  const int64_t lanes = e.table.lanes, vectors = e.table.queryVectors;
  int64_t columns = vectorColumns(e, queries.tensor, shape.depth);
  Value zero = e.index(0), last = e.sub(seqQ, e.index(1)), scale = e.broadcast(factor);
  // One iteration packs one vector of queries.
  e.loop(zero, e.index(shape.numSubTiles() * vectors), 1, [&](Value v) {
    Value subTile = arith::DivUIOp::create(e.builder, e.loc, v, e.index(vectors));
    Value column = e.mul(arith::RemUIOp::create(e.builder, e.loc, v, e.index(vectors)), lanes);
    Value base = e.mul(subTile, shape.depth), firstRow = e.add(queries.row, e.mul(v, lanes));
    auto rowOf = [&](Value lane) { return e.min(e.add(firstRow, lane), last); };
    if (columns > 0)
      e.loop(zero, e.index(columns), lanes, [&](Value c) {
        SmallVector<Value> square;
        for (int64_t lane = 0; lane < lanes; ++lane)
          square.push_back(loadVector(e, queries, rowOf(e.index(lane)), c));
        emitTranspose(e, square);
        Value to = e.add(base, c);
        for (int64_t d = 0; d < lanes; ++d)
          e.store(e.mulf(square[d], scale), scratch.queries, e.add(to, d), column);
      });
    if (columns < shape.depth)
      e.loop(e.index(columns), e.index(shape.depth), 1, [&](Value c) {
        e.loop(zero, e.index(lanes), 1, [&](Value lane) {
          Value element = e.mulf(loadElement(e, queries, rowOf(lane), c), factor);
          memref::StoreOp::create(e.builder, e.loc, element, scratch.queries,
                                  ValueRange{e.add(base, c), e.add(column, lane)});
        });
      });
  });
}

namespace {

/// LSE of one vector of queries; `valid` lanes of it exist.
void storeLse(Emitter &e, const Scratch &scratch, double exponentScale, Value lse, const TileRows &queries,
              Value firstLane, Value valid) {
  Value log = math::Log2Op::create(e.builder, e.loc, e.load(scratch.sum, firstLane));
  constexpr double ln2 = 0.693147180559945309417;
  Value exponent = e.mulf(e.load(scratch.reference, firstLane), e.splat(exponentScale));
  // What P was computed with.
  Value shift = e.load(scratch.shift, firstLane);
  Value none = e.compare(arith::CmpFPredicate::UNO, shift, shift);
  exponent = e.select(none, exponent, e.subf(e.splat(0.0), shift));
  Value natural = e.mulf(e.addf(exponent, log), e.splat(ln2));
  // The reference is not needed any more: its place holds the results, so that a loop can store those that exist.
  e.store(natural, scratch.reference, firstLane);
  e.loop(e.index(0), valid, 1, [&](Value lane) {
    Value position = e.add(firstLane, lane);
    Value element = memref::LoadOp::create(e.builder, e.loc, scratch.reference, ValueRange{position});
    memref::StoreOp::create(e.builder, e.loc, element, lse,
                            ValueRange{queries.batch, queries.head, e.add(queries.row, position)});
  });
}

} // namespace

void mlir::fa::cpu::emitStoreOutput(Emitter &e, const Scratch &scratch, const KernelShape &shape,
                                    const TileRows &queries, Value lse) {
  const int64_t lanes = e.table.lanes, vectors = e.table.queryVectors;
  Type element = cast<MemRefType>(queries.tensor.getType()).getElementType();
  int64_t columns = vectorColumns(e, queries.tensor, shape.depthV);
  Value zero = e.index(0);
  e.loop(zero, e.ceilDiv(queries.count, lanes), 1, [&](Value v) {
    Value subTile = arith::DivUIOp::create(e.builder, e.loc, v, e.index(vectors));
    Value column = e.mul(arith::RemUIOp::create(e.builder, e.loc, v, e.index(vectors)), lanes);
    Value base = e.mul(subTile, shape.depthV), firstLane = e.mul(v, lanes);
    Value valid = e.min(e.sub(queries.count, firstLane), e.index(lanes));
    Value sum = e.load(scratch.sum, firstLane);
    Value empty = arith::CmpFOp::create(e.builder, e.loc, arith::CmpFPredicate::OEQ, sum, e.splat(0.0));
    Value inverse = arith::DivFOp::create(e.builder, e.loc, e.splat(1.0), e.select(empty, e.splat(1.0), sum));
    auto rowOf = [&](Value lane) { return e.add(queries.row, e.add(firstLane, lane)); };
    auto indices = [&](Value lane, Value c) { return SmallVector<Value>{queries.batch, queries.head, rowOf(lane), c}; };
    if (columns > 0)
      e.loop(zero, e.index(columns), lanes, [&](Value c) {
        SmallVector<Value> square;
        Value from = e.add(base, c);
        for (int64_t d = 0; d < lanes; ++d)
          square.push_back(e.mulf(e.load(scratch.output, e.add(from, d), column), inverse));
        emitTranspose(e, square);
        auto whole = [&] {
          for (int64_t lane = 0; lane < lanes; ++lane)
            storeVector(e, queries, narrow(e, square[lane], element), indices(e.index(lane), c));
        };
        // The last rows of a tensor go through scratch memory, one by one.
        auto part = [&] {
          for (int64_t lane = 0; lane < lanes; ++lane)
            e.store(square[lane], scratch.staging, e.index(lane), e.index(0));
          e.loop(zero, valid, 1, [&](Value lane) {
            storeVector(e, queries, narrow(e, e.load(scratch.staging, lane, e.index(0)), element), indices(lane, c));
          });
        };
        e.when(e.compare(arith::CmpIPredicate::eq, valid, e.index(lanes)), whole, part);
      });
    if (columns < shape.depthV)
      e.loop(e.index(columns), e.index(shape.depthV), 1, [&](Value c) {
        Value row = e.add(base, c);
        e.store(e.mulf(e.load(scratch.output, row, column), inverse), scratch.output, row, column);
        e.loop(zero, valid, 1, [&](Value lane) {
          Value value = memref::LoadOp::create(e.builder, e.loc, scratch.output, ValueRange{row, e.add(column, lane)});
          memref::StoreOp::create(e.builder, e.loc, narrow(e, value, element), queries.tensor, indices(lane, c));
        });
      });
    if (lse)
      storeLse(e, scratch, shape.exponentScale, lse, queries, firstLane, valid);
  });
}
