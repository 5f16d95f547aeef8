// fa-fold-query-groups: the query heads that share keys become the rows of one query tile, for decoding.
#include "fa/Dialect/FA/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace mlir::fa {
#define GEN_PASS_DEF_FOLDQUERYGROUPSPASS
#include "fa/Dialect/FA/Transforms/Passes.h.inc"
} // namespace mlir::fa

using namespace mlir;
using namespace mlir::fa;

namespace {

/// Query heads for each kv head; nothing when it is not static or there is nothing to fold.
std::optional<int64_t> groupOf(AttentionOp op) {
  int64_t heads = op.getQueryType().getDimSize(1), kvHeads = op.getKeyType().getDimSize(1);
  if (op.hasTensorSemantics() || op.getQueryType().getDimSize(2) != 1 || ShapedType::isDynamic(heads) ||
      ShapedType::isDynamic(kvHeads) || kvHeads == 0 || heads / kvHeads < 2)
    return std::nullopt;
  return heads / kvHeads;
}

/// [B, Hkv * G, 1, ...] as [B, Hkv, G, ...].
Value foldHeads(OpBuilder &builder, Location loc, Value memref, int64_t group) {
  auto type = cast<MemRefType>(memref.getType());
  SmallVector<int64_t> shape(type.getShape());
  shape[1] /= group;
  shape.insert(shape.begin() + 2, group);
  SmallVector<ReassociationIndices> reassociation{{0}, {1, 2}};
  for (int64_t dim = 3; dim < static_cast<int64_t>(shape.size()); ++dim)
    reassociation.push_back({dim});
  SmallVector<OpFoldResult> sizes;
  for (auto [dim, size] : llvm::enumerate(shape))
    sizes.push_back(ShapedType::isDynamic(size)
                        ? OpFoldResult(memref::DimOp::create(builder, loc, memref, dim < 2 ? dim : dim - 1).getResult())
                        : OpFoldResult(builder.getIndexAttr(size)));
  auto expanded = memref::ExpandShapeOp::create(builder, loc, shape, memref, reassociation, sizes);
  // The query's own dimension joins the group. (A subview that drops it would be ambiguous where strides are equal.)
  SmallVector<ReassociationIndices> joined{{0}, {1}, {2, 3}};
  for (int64_t dim = 4; dim < static_cast<int64_t>(shape.size()); ++dim)
    joined.push_back({dim});
  return memref::CollapseShapeOp::create(builder, loc, expanded, joined);
}

/// Regions keep seeing the head and query of the original: h = h' * G + i', i = 0.
void adaptRegion(Region &region, unsigned headArgument, int64_t group) {
  if (region.empty())
    return;
  Block &block = region.front();
  OpBuilder builder = OpBuilder::atBlockBegin(&block);
  Location loc = region.getLoc();
  Value head = block.getArgument(headArgument), row = block.getArgument(headArgument + 1);
  Value size = arith::ConstantIndexOp::create(builder, loc, group);
  auto product = arith::MulIOp::create(builder, loc, head, size);
  auto original = arith::AddIOp::create(builder, loc, product, row);
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
  head.replaceAllUsesExcept(original, product);
  row.replaceAllUsesExcept(zero, original);
}

struct FoldQueryGroupsPass : fa::impl::FoldQueryGroupsPassBase<FoldQueryGroupsPass> {
  void runOnOperation() override {
    WalkResult result = getOperation()->walk([](AttentionOp op) {
      std::optional<int64_t> group = groupOf(op);
      if (!group)
        return WalkResult::advance();
      if (op.getMasksAttr() && !op.getMasksAttr().empty()) {
        op.emitOpError("expected no named masks; run fa-expand-masks first");
        return WalkResult::interrupt();
      }
      OpBuilder builder(op);
      // The default scale depends on the depth alone, so it needs no care.
      op.getQueryMutable().assign(foldHeads(builder, op.getLoc(), op.getQuery(), *group));
      for (OpOperand &output : op.getOutputsMutable())
        output.set(foldHeads(builder, op.getLoc(), output.get(), *group));
      adaptRegion(op.getScore(), 2, *group);
      adaptRegion(op.getMask(), 1, *group);
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};

} // namespace
