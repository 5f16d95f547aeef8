// Strided loads on lanes.
#include "Gather.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

Value mlir::fa::cpu::emitGather(OpBuilder &builder, Location loc, Value memref, ValueRange indices, VectorType type) {
  auto indexVector = type.clone(builder.getIndexType());
  auto metadata = memref::ExtractStridedMetadataOp::create(builder, loc, memref);
  Value scalar = metadata.getOffset();
  Value lanes = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(indexVector));
  for (auto [index, stride] : llvm::zip_equal(indices, metadata.getStrides())) {
    if (!isa<VectorType>(index.getType())) {
      scalar = arith::AddIOp::create(builder, loc, scalar, arith::MulIOp::create(builder, loc, index, stride));
      continue;
    }
    Value strides = vector::BroadcastOp::create(builder, loc, indexVector, stride);
    lanes = arith::AddIOp::create(builder, loc, lanes, arith::MulIOp::create(builder, loc, index, strides));
  }
  // i1 elements are bytes in memory, but a gather of i1 would be a gather of bits: it goes lane by lane.
  auto flatType = MemRefType::get({ShapedType::kDynamic}, type.getElementType(),
                                  StridedLayoutAttr::get(builder.getContext(), ShapedType::kDynamic, {1}));
  Value unbounded = arith::ConstantIndexOp::create(builder, loc, std::numeric_limits<int64_t>::max());
  SmallVector<OpFoldResult> sizes{OpFoldResult(unbounded)}, strides{builder.getIndexAttr(1)};
  Value flat = memref::ReinterpretCastOp::create(builder, loc, flatType, metadata.getBaseBuffer(), OpFoldResult(scalar),
                                                 sizes, strides);
  if (type.getElementType().getIntOrFloatBitWidth() % 8 != 0) {
    SmallVector<Value> elements;
    for (int64_t lane = 0; lane < type.getNumElements(); ++lane) {
      Value position = vector::ExtractOp::create(builder, loc, lanes, lane);
      elements.push_back(memref::LoadOp::create(builder, loc, flat, position));
    }
    return vector::FromElementsOp::create(builder, loc, type, elements);
  }
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
  Value every = arith::ConstantOp::create(
      builder, loc, DenseElementsAttr::get(type.clone(builder.getI1Type()), builder.getBoolAttr(true)));
  Value passThrough = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type));
  return vector::GatherOp::create(builder, loc, type, flat, ValueRange{zero}, lanes, every, passThrough);
}
