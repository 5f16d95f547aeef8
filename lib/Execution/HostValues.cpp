// View operations on host memrefs, as sizes, strides and offsets.
#include "fa/Execution/HostValues.h"
#include "fa/Execution/RegionInterpreter.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/BuiltinTypes.h"

namespace fa::execution {
namespace {
namespace memref = mlir::memref;
using Numbers = std::vector<int64_t>;

Expected<Numbers> resolve(const HostValues &values, llvm::ArrayRef<mlir::OpFoldResult> mixed) {
  Numbers numbers;
  for (mlir::OpFoldResult item : mixed) {
    if (std::optional<int64_t> constant = mlir::getConstantIntValue(item)) {
      numbers.push_back(*constant);
      continue;
    }
    Expected<int64_t> number = values.index(llvm::cast<mlir::Value>(item));
    if (!number)
      return number.error();
    numbers.push_back(*number);
  }
  return numbers;
}

/// Keeps the dims of `tensor` that the result type of a rank-reducing subview keeps.
void dropDims(runtime::Tensor &tensor, const llvm::SmallBitVector &dropped) {
  Numbers sizes, strides;
  for (size_t d = 0; d < tensor.sizes.size(); ++d)
    if (!dropped.test(static_cast<unsigned>(d))) {
      sizes.push_back(tensor.sizes[d]);
      strides.push_back(tensor.strides[d]);
    }
  tensor.sizes = std::move(sizes);
  tensor.strides = std::move(strides);
}

Expected<runtime::Tensor> applySubview(const HostValues &values, memref::SubViewOp op, runtime::Tensor tensor) {
  Expected<Numbers> offsets = resolve(values, op.getMixedOffsets());
  Expected<Numbers> sizes = resolve(values, op.getMixedSizes());
  Expected<Numbers> strides = resolve(values, op.getMixedStrides());
  for (const auto *list : {&offsets, &sizes, &strides})
    if (!*list)
      return list->error();
  for (size_t d = 0; d < sizes->size(); ++d) {
    const int64_t last = (*offsets)[d] + ((*sizes)[d] - 1) * (*strides)[d];
    if ((*sizes)[d] > 0 && ((*offsets)[d] < 0 || last < 0 || last >= tensor.sizes[d]))
      return makeError(describeLocation(op.getLoc()) + ": expected a view inside dimension " + std::to_string(d) +
                       " of size " + std::to_string(tensor.sizes[d]) + ", but got offset " +
                       std::to_string((*offsets)[d]) + " and size " + std::to_string((*sizes)[d]));
    tensor.offset += (*offsets)[d] * tensor.strides[d];
    tensor.sizes[d] = (*sizes)[d];
    tensor.strides[d] *= (*strides)[d];
  }
  dropDims(tensor, op.getDroppedDims());
  return tensor;
}

Expected<runtime::Tensor> applyReinterpretCast(const HostValues &values, memref::ReinterpretCastOp op,
                                               runtime::Tensor tensor) {
  Expected<Numbers> offsets = resolve(values, op.getMixedOffsets());
  Expected<Numbers> sizes = resolve(values, op.getMixedSizes());
  Expected<Numbers> strides = resolve(values, op.getMixedStrides());
  for (const auto *list : {&offsets, &sizes, &strides})
    if (!*list)
      return list->error();
  tensor.offset = (*offsets)[0];
  tensor.sizes = *sizes;
  tensor.strides = *strides;
  return tensor;
}

Expected<runtime::Tensor> applyExpand(const HostValues &values, memref::ExpandShapeOp op, runtime::Tensor tensor) {
  Expected<Numbers> sizes = resolve(values, op.getMixedOutputShape());
  if (!sizes)
    return sizes.error();
  Numbers strides(sizes->size());
  for (auto [source, group] : llvm::enumerate(op.getReassociationIndices())) {
    int64_t stride = tensor.strides[source];
    for (int64_t d : llvm::reverse(group)) {
      strides[static_cast<size_t>(d)] = stride;
      stride *= (*sizes)[static_cast<size_t>(d)];
    }
  }
  tensor.sizes = *sizes;
  tensor.strides = std::move(strides);
  return tensor;
}

runtime::Tensor applyCollapse(memref::CollapseShapeOp op, runtime::Tensor tensor) {
  Numbers sizes, strides;
  for (const auto &group : op.getReassociationIndices()) {
    int64_t size = 1, stride = 1;
    for (int64_t d : group) {
      size *= tensor.sizes[static_cast<size_t>(d)];
      if (tensor.sizes[static_cast<size_t>(d)] != 1)
        stride = tensor.strides[static_cast<size_t>(d)];
    }
    sizes.push_back(size);
    strides.push_back(stride);
  }
  tensor.sizes = std::move(sizes);
  tensor.strides = std::move(strides);
  return tensor;
}

runtime::Tensor applyTranspose(memref::TransposeOp op, const runtime::Tensor &source) {
  runtime::Tensor tensor = source;
  for (auto [d, expr] : llvm::enumerate(op.getPermutation().getResults())) {
    const unsigned from = llvm::cast<mlir::AffineDimExpr>(expr).getPosition();
    tensor.sizes[d] = source.sizes[from];
    tensor.strides[d] = source.strides[from];
  }
  return tensor;
}
} // namespace

std::string describeLocation(mlir::Location loc) {
  std::string text;
  if (auto file = loc->findInstanceOf<mlir::FileLineColLoc>())
    return file.getFilename().str() + ":" + std::to_string(file.getLine()) + ":" + std::to_string(file.getColumn());
  return "input";
}

void HostValues::bind(mlir::Value argument, double scalar) {
  Slot slot;
  if (llvm::isa<mlir::FloatType>(argument.getType()))
    slot.f = scalar;
  else
    slot.i = static_cast<int64_t>(scalar);
  scalars[argument] = slot;
}

Expected<runtime::Tensor> HostValues::tensor(mlir::Value value) const {
  if (auto found = tensors.find(value); found != tensors.end())
    return found->second;
  mlir::Operation *op = value.getDefiningOp();
  if (!op)
    return makeError(describeLocation(value.getLoc()) + ": expected data for an argument of the function");
  const auto source = [&](mlir::Value from) { return tensor(from); };
  if (auto cast = llvm::dyn_cast<memref::CastOp>(op))
    return source(cast.getSource());
  if (!llvm::isa<memref::SubViewOp, memref::ReinterpretCastOp, memref::ExpandShapeOp, memref::CollapseShapeOp,
                 memref::TransposeOp>(op))
    return makeError(describeLocation(op->getLoc()) +
                     ": expected an argument of the function or a view of one (cast, subview, transpose, "
                     "reinterpret_cast, expand_shape, collapse_shape) where the reference reads memory, but got '" +
                     op->getName().getStringRef().str() + "'; use --no-check to run without the reference");
  Expected<runtime::Tensor> base = source(op->getOperand(0));
  if (!base)
    return base.error();
  if (auto subview = llvm::dyn_cast<memref::SubViewOp>(op))
    return applySubview(*this, subview, std::move(*base));
  if (auto reinterpret = llvm::dyn_cast<memref::ReinterpretCastOp>(op))
    return applyReinterpretCast(*this, reinterpret, std::move(*base));
  if (auto expand = llvm::dyn_cast<memref::ExpandShapeOp>(op))
    return applyExpand(*this, expand, std::move(*base));
  if (auto collapse = llvm::dyn_cast<memref::CollapseShapeOp>(op))
    return applyCollapse(collapse, std::move(*base));
  return applyTranspose(llvm::cast<memref::TransposeOp>(op), *base);
}

Expected<Slot> HostValues::scalar(mlir::Value value) const {
  if (auto found = scalars.find(value); found != scalars.end())
    return found->second;
  Expected<ScalarCode> code = compileValue(value, *this);
  if (!code)
    return code.error();
  ScalarMachine machine(*code);
  const Slot result = machine.evaluate(0, 0, 0, 0, 0);
  if (!machine.error().empty())
    return makeError(machine.error());
  return result;
}

Expected<int64_t> HostValues::index(mlir::Value value) const {
  Expected<Slot> slot = scalar(value);
  if (!slot)
    return slot.error();
  return slot->i;
}

} // namespace fa::execution
