// fa-expand-masks: named masks become part of the mask region.
#include "fa/Dialect/FA/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace mlir::fa {
#define GEN_PASS_DEF_EXPANDMASKSPASS
#include "fa/Dialect/FA/Transforms/Passes.h.inc"
} // namespace mlir::fa

using namespace mlir;
using namespace mlir::fa;

/// A size as a constant where it is static, else as a dim op.
static Value sizeOf(OpBuilder &builder, Location loc, Value shaped, int64_t dim) {
  auto type = cast<ShapedType>(shaped.getType());
  if (!type.isDynamicDim(dim))
    return arith::ConstantIndexOp::create(builder, loc, type.getDimSize(dim));
  if (isa<RankedTensorType>(type))
    return tensor::DimOp::create(builder, loc, shaped, dim);
  return memref::DimOp::create(builder, loc, shaped, dim);
}

/// Gives the op a mask region that yields true, if it has none.
static Block &getOrCreateMask(OpBuilder &builder, AttentionOp op) {
  if (!op.getMask().empty())
    return op.getMask().front();
  OpBuilder::InsertionGuard guard(builder);
  SmallVector<Type> types(4, builder.getIndexType());
  SmallVector<Location> locs(4, op.getLoc());
  Block *block = builder.createBlock(&op.getMask(), op.getMask().end(), types, locs);
  Value yes = arith::ConstantIntOp::create(builder, op.getLoc(), 1, 1);
  YieldOp::create(builder, op.getLoc(), yes);
  return *block;
}

static void expandMasks(AttentionOp op) {
  OpBuilder builder(op);
  Value seqQ = sizeOf(builder, op.getLoc(), op.getQuery(), 2);
  Value seqKv = sizeOf(builder, op.getLoc(), op.getKey(), 2);
  bool hadMask = !op.getMask().empty();
  Block &mask = getOrCreateMask(builder, op);
  auto yield = cast<YieldOp>(mask.getTerminator());
  builder.setInsertionPoint(yield);
  Value keep = hadMask ? yield.getValue() : Value();
  for (auto named : op.getMasksAttr().getAsRange<MaskAttrInterface>()) {
    Value visible = named.buildPredicate(builder, op.getLoc(), mask.getArgument(2), mask.getArgument(3), seqQ, seqKv);
    keep = keep ? arith::AndIOp::create(builder, op.getLoc(), keep, visible).getResult() : visible;
  }
  Operation *always = yield.getValue().getDefiningOp();
  yield.getValueMutable().assign(keep);
  if (!hadMask && always->use_empty())
    always->erase();
  op.removeMasksAttr();
}

namespace {
struct ExpandMasksPass : fa::impl::ExpandMasksPassBase<ExpandMasksPass> {
  void runOnOperation() override {
    getOperation()->walk([](AttentionOp op) {
      if (op.getMasksAttr() && !op.getMasksAttr().empty())
        expandMasks(op);
      else
        op.removeMasksAttr();
    });
  }
};
} // namespace
