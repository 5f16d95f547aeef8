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

/// More rows than this fill a query tile by themselves.
constexpr int64_t maxQueries = 16;

/// [B, Hkv * G, Sq, ...] as [B, Hkv, G, Sq, ...], and that as [B, Hkv, G * Sq, ...].
class FoldedView {
public:
  FoldedView(MemRefType type, int64_t group) {
    shape.assign(type.getShape().begin(), type.getShape().end());
    shape[1] /= group;
    shape.insert(shape.begin() + 2, group);
    expansion = {{0}, {1, 2}}, collapse = {{0}, {1}, {2, 3}};
    for (int64_t dim = 4; dim < static_cast<int64_t>(shape.size()); ++dim)
      collapse.push_back({dim});
    for (int64_t dim = 3; dim < static_cast<int64_t>(shape.size()); ++dim)
      expansion.push_back({dim});
    FailureOr<MemRefType> expanded = memref::ExpandShapeOp::computeExpandedType(type, shape, expansion);
    exists = succeeded(expanded) && memref::CollapseShapeOp::isGuaranteedCollapsible(*expanded, collapse);
  }

  /// False where query heads and queries have no common stride.
  explicit operator bool() const { return exists; }

  Value create(OpBuilder &builder, Location loc, Value memref) const {
    SmallVector<OpFoldResult> sizes;
    for (auto [dim, size] : llvm::enumerate(shape))
      sizes.push_back(
          ShapedType::isDynamic(size)
              ? OpFoldResult(memref::DimOp::create(builder, loc, memref, dim < 2 ? dim : dim - 1).getResult())
              : OpFoldResult(builder.getIndexAttr(size)));
    auto expanded = memref::ExpandShapeOp::create(builder, loc, shape, memref, expansion, sizes);
    return memref::CollapseShapeOp::create(builder, loc, expanded, collapse);
  }

private:
  SmallVector<int64_t> shape;
  SmallVector<ReassociationIndices> expansion, collapse;
  bool exists = false;
};

/// Query heads for each kv head; nothing when it is not static or there is nothing to fold.
std::optional<int64_t> groupOf(AttentionOp op) {
  int64_t heads = op.getQueryType().getDimSize(1), kvHeads = op.getKeyType().getDimSize(1);
  int64_t queries = op.getQueryType().getDimSize(2);
  if (op.hasTensorSemantics() || ShapedType::isDynamic(queries) || queries < 1 || queries > maxQueries ||
      ShapedType::isDynamic(heads) || ShapedType::isDynamic(kvHeads) || kvHeads == 0 || heads / kvHeads < 2)
    return std::nullopt;
  const int64_t group = heads / kvHeads;
  if (!FoldedView(cast<MemRefType>(op.getQueryType()), group))
    return std::nullopt;
  for (Value output : op.getOutputs())
    if (!FoldedView(cast<MemRefType>(output.getType()), group))
      return std::nullopt;
  return group;
}

/// Regions keep seeing the head and query of the original: h = h' * G + i' / Sq, i = i' mod Sq.
void adaptRegion(Region &region, unsigned headArgument, int64_t group, int64_t queries) {
  if (region.empty())
    return;
  Block &block = region.front();
  OpBuilder builder = OpBuilder::atBlockBegin(&block);
  Location loc = region.getLoc();
  Value head = block.getArgument(headArgument), row = block.getArgument(headArgument + 1);
  llvm::SmallPtrSet<Operation *, 4> own;
  auto constant = [&](int64_t value) -> Value { return arith::ConstantIndexOp::create(builder, loc, value); };
  auto emit = [&](Operation *op) -> Value {
    own.insert(op);
    return op->getResult(0);
  };
  Value member = row, query;
  if (queries == 1) {
    query = constant(0);
  } else {
    Value count = constant(queries);
    member = emit(arith::DivUIOp::create(builder, loc, row, count));
    query = emit(arith::RemUIOp::create(builder, loc, row, count));
  }
  Value product = emit(arith::MulIOp::create(builder, loc, head, constant(group)));
  Value original = emit(arith::AddIOp::create(builder, loc, product, member));
  auto isTheirs = [&](OpOperand &use) { return !own.contains(use.getOwner()); };
  head.replaceUsesWithIf(original, isTheirs);
  row.replaceUsesWithIf(query, isTheirs);
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
      const int64_t queries = op.getQueryType().getDimSize(2);
      auto fold = [&](Value memref) {
        return FoldedView(cast<MemRefType>(memref.getType()), *group).create(builder, op.getLoc(), memref);
      };
      op.getQueryMutable().assign(fold(op.getQuery()));
      for (OpOperand &output : op.getOutputsMutable())
        output.set(fold(output.get()));
      adaptRegion(op.getScore(), 2, *group, queries);
      adaptRegion(op.getMask(), 1, *group, queries);
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};

} // namespace
