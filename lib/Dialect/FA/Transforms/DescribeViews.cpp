// Sizes, strides and offset of a view as expressions over those of its source.
#include "DescribeViews.h"
#include "fa/Dialect/FA/Transforms/DescribeLaunch.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::fa;
using ::fa::DerivedTensor;

bool mlir::fa::isDerivable(Operation *op) {
  if (auto cast = dyn_cast_or_null<memref::ReinterpretCastOp>(op)) {
    auto source = dyn_cast<MemRefType>(cast.getSource().getType());
    return source && source.getStridesAndOffset().second == 0;
  }
  if (auto cast = dyn_cast_or_null<memref::CastOp>(op))
    return isa<MemRefType>(cast.getSource().getType()) && isa<MemRefType>(cast.getType());
  return isa_and_nonnull<memref::TransposeOp, memref::SubViewOp, memref::ExpandShapeOp, memref::CollapseShapeOp>(op);
}

/// `view<N>`, made unlike every argument's name.
static std::string viewName(Operation *op, func::FuncOp host) {
  unsigned number = 0;
  for (Operation &other : host.getBody().front()) {
    if (&other == op)
      break;
    number += isDerivable(&other);
  }
  std::string name = "view" + std::to_string(number);
  for (unsigned i = 0; i < host.getNumArguments(); ++i)
    if (argumentName(host, i) == name) {
      name += "_";
      i = 0;
    }
  return name;
}

FailureOr<std::string> mlir::fa::tensorName(Value value) {
  Block *block = value.getParentBlock();
  auto host = block ? dyn_cast<func::FuncOp>(block->getParentOp()) : func::FuncOp();
  if (auto argument = dyn_cast<BlockArgument>(value); host && argument)
    return argumentName(host, argument.getArgNumber());
  if (host && isDerivable(value.getDefiningOp()))
    return viewName(value.getDefiningOp(), host);
  return emitError(value.getLoc(),
                   "expected an argument of the host function, or a view of one, in a launch descriptor"),
         FailureOr<std::string>();
}

namespace {
class ViewDescriber {
public:
  explicit ViewDescriber(std::string of) { view.of = std::move(of); }

  FailureOr<DerivedTensor> describe(Operation *op) {
    LogicalResult result =
        TypeSwitch<Operation *, LogicalResult>(op)
            .Case<memref::CastOp, memref::TransposeOp, memref::SubViewOp, memref::ExpandShapeOp,
                  memref::CollapseShapeOp, memref::ReinterpretCastOp>([&](auto known) { return add(known); })
            .Default([](Operation *) { return failure(); });
    if (failed(result))
      return failure();
    return view;
  }

private:
  DerivedTensor view;

  std::string size(int64_t dim) const { return view.of + ".dim" + std::to_string(dim); }
  std::string stride(int64_t dim) const { return view.of + ".stride" + std::to_string(dim); }
  void keep(int64_t dim) {
    view.sizes.push_back(size(dim));
    view.strides.push_back(stride(dim));
  }

  static FailureOr<std::string> text(OpFoldResult value) {
    if (std::optional<int64_t> constant = getConstantIntValue(value))
      return std::to_string(*constant);
    return describeIndex(cast<Value>(value));
  }
  /// Texts of all values; fails when one has none.
  static FailureOr<SmallVector<std::string>> texts(ArrayRef<OpFoldResult> values) {
    SmallVector<std::string> result;
    for (OpFoldResult value : values) {
      FailureOr<std::string> one = text(value);
      if (failed(one))
        return failure();
      result.push_back(*one);
    }
    return result;
  }

  LogicalResult add(memref::CastOp op) {
    for (int64_t dim = 0; dim < cast<MemRefType>(op.getType()).getRank(); ++dim)
      keep(dim);
    return success();
  }

  LogicalResult add(memref::TransposeOp op) {
    for (AffineExpr dim : op.getPermutation().getResults())
      keep(cast<AffineDimExpr>(dim).getPosition());
    return success();
  }

  LogicalResult add(memref::SubViewOp op) {
    FailureOr<SmallVector<std::string>> offsets = texts(op.getMixedOffsets()), sizes = texts(op.getMixedSizes()),
                                        steps = texts(op.getMixedStrides());
    if (failed(offsets) || failed(sizes) || failed(steps))
      return failure();
    llvm::SmallBitVector dropped = op.getDroppedDims();
    for (auto [dim, offset] : llvm::enumerate(*offsets)) {
      if (offset != "0")
        view.offset = (view.offset == "0" ? "" : view.offset + " + ") + "(" + offset + ") * " + stride(dim);
      if (dropped.test(dim))
        continue;
      view.sizes.push_back((*sizes)[dim]);
      view.strides.push_back((*steps)[dim] == "1" ? stride(dim) : "(" + (*steps)[dim] + ") * " + stride(dim));
    }
    return success();
  }

  LogicalResult add(memref::ExpandShapeOp op) {
    FailureOr<SmallVector<std::string>> sizes = texts(op.getMixedOutputShape());
    if (failed(sizes))
      return failure();
    view.sizes.assign(sizes->begin(), sizes->end());
    view.strides.resize(view.sizes.size());
    for (auto [dim, group] : llvm::enumerate(op.getReassociationIndices())) {
      std::string inner = stride(dim);
      for (int64_t part : llvm::reverse(group)) {
        view.strides[part] = inner;
        inner = "(" + inner + ") * (" + view.sizes[part] + ")";
      }
    }
    return success();
  }

  /// The dimensions of a group lie one after another, so the innermost that is larger than 1 has the stride.
  LogicalResult add(memref::CollapseShapeOp op) {
    auto source = cast<MemRefType>(op.getSrcType());
    for (ArrayRef<int64_t> group : op.getReassociationIndices()) {
      std::string product = "1";
      int64_t innermost = group.back();
      for (int64_t dim : llvm::reverse(group)) {
        product += " * " + size(dim);
        if (source.getDimSize(innermost) == 1)
          innermost = dim;
      }
      view.sizes.push_back(product);
      view.strides.push_back(stride(innermost));
    }
    return success();
  }

  LogicalResult add(memref::ReinterpretCastOp op) {
    FailureOr<SmallVector<std::string>> offsets = texts(op.getMixedOffsets()), sizes = texts(op.getMixedSizes()),
                                        strides = texts(op.getMixedStrides());
    if (failed(offsets) || failed(sizes) || failed(strides))
      return failure();
    view.sizes.assign(sizes->begin(), sizes->end());
    view.strides.assign(strides->begin(), strides->end());
    view.offset = offsets->front();
    return success();
  }
};
} // namespace

LogicalResult mlir::fa::describeViews(func::FuncOp host, ::fa::LaunchDescriptor &descriptor) {
  for (Operation &op : host.getBody().front()) {
    if (!isDerivable(&op))
      continue;
    FailureOr<std::string> of = tensorName(op.getOperand(0));
    if (failed(of))
      return failure();
    FailureOr<DerivedTensor> view = ViewDescriber(*of).describe(&op);
    if (failed(view))
      return failure();
    view->name = viewName(&op, host);
    descriptor.views.push_back(std::move(*view));
  }
  return success();
}
