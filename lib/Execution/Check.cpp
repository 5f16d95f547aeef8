// From an fa.attention and bound tensors to the reference's problem.
#include "fa/Execution/Check.h"
#include <cmath>

namespace fa::execution {
namespace {

reference::TensorView viewOf(const runtime::Tensor &tensor) {
  return {tensor.type, reinterpret_cast<const void *>(tensor.address()), tensor.sizes, tensor.strides};
}

} // namespace

Status AttentionProblem::setScale(mlir::fa::AttentionOp op, const HostValues &values) {
  if (op.getScaleAttr()) {
    stated.scale = op.getScaleAttr().getValueAsDouble();
  } else if (op.getDynamicScale()) {
    Expected<Slot> scale = values.scalar(op.getDynamicScale());
    if (!scale)
      return scale.error();
    stated.scale = scale->f;
  } else {
    stated.scale = 1.0 / std::sqrt(static_cast<double>(stated.query.sizes[3]));
  }
  return Status::success();
}

Status AttentionProblem::setRegions(mlir::fa::AttentionOp op, const HostValues &values) {
  if (!op.getScore().empty()) {
    Expected<ScalarCode> code = compileRegion(op.getScore(), values);
    if (!code)
      return code.error();
    score = std::make_shared<RegionFunction>(std::move(*code));
    stated.score = [f = score.get()](double s, int64_t b, int64_t h, int64_t i, int64_t j) {
      return f->score(s, b, h, i, j);
    };
  }
  if (!op.getMask().empty()) {
    Expected<ScalarCode> code = compileRegion(op.getMask(), values);
    if (!code)
      return code.error();
    mask = std::make_shared<RegionFunction>(std::move(*code));
  }
  std::vector<mlir::fa::MaskAttrInterface> named;
  if (mlir::ArrayAttr masks = op.getMasksAttr())
    for (mlir::Attribute attribute : masks)
      named.push_back(llvm::cast<mlir::fa::MaskAttrInterface>(attribute));
  if (named.empty() && !mask)
    return Status::success();
  const int64_t queries = stated.query.sizes[2], keys = stated.key.sizes[2];
  stated.visible = [named, queries, keys, f = mask.get()](int64_t b, int64_t h, int64_t i, int64_t j) {
    for (mlir::fa::MaskAttrInterface attribute : named)
      if (!attribute.visible(i, j, queries, keys))
        return false;
    return !f || f->visible(b, h, i, j);
  };
  return Status::success();
}

Expected<AttentionProblem> AttentionProblem::create(const Program &program, const runtime::Bindings &bindings) {
  mlir::fa::AttentionOp op = program.attention();
  if (!op)
    return makeError("expected exactly one fa.attention in @" + program.function().getName().str() +
                     " to check against the reference; use --no-check to run the function without it");
  HostValues values;
  for (auto [n, argument] : llvm::enumerate(program.arguments())) {
    mlir::Value value = program.function().getArgument(static_cast<unsigned>(n));
    if (argument.isTensor)
      values.bind(value, bindings.tensors.at(argument.name));
    else
      values.bind(value, bindings.scalars.at(argument.name));
  }
  AttentionProblem result;
  std::pair<mlir::Value, reference::TensorView *> operands[] = {{op.getQuery(), &result.stated.query},
                                                                {op.getKey(), &result.stated.key},
                                                                {op.getValue(), &result.stated.value},
                                                                {op.getOutput(), &result.outputView}};
  for (const auto &[value, view] : operands) {
    Expected<runtime::Tensor> tensor = values.tensor(value);
    if (!tensor)
      return tensor.error();
    *view = viewOf(*tensor);
  }
  if (op.getLse()) {
    Expected<runtime::Tensor> tensor = values.tensor(op.getLse());
    if (!tensor)
      return tensor.error();
    result.lseView = viewOf(*tensor);
  }
  if (Status status = result.setScale(op, values); !status)
    return status.error();
  if (Status status = result.setRegions(op, values); !status)
    return status.error();
  if (Status status = reference::validate(result.stated); !status)
    return status.error();
  return result;
}

Status AttentionProblem::status() const {
  for (const auto &function : {score, mask})
    if (function)
      if (Status status = function->status(); !status)
        return status;
  return Status::success();
}

int64_t AttentionProblem::countVisiblePairs() const {
  const int64_t heads = stated.batch() * stated.heads(), queries = stated.queries(), keys = stated.keys();
  if (!stated.visible)
    return heads * queries * keys;
  // Named masks are the same for all heads.
  const int64_t distinct = mask ? heads : std::min<int64_t>(heads, 1);
  int64_t pairs = 0;
  for (int64_t n = 0; n < distinct; ++n)
    for (int64_t i = 0; i < queries; ++i)
      for (int64_t j = 0; j < keys; ++j)
        pairs += stated.visible(n / stated.heads(), n % stated.heads(), i, j);
  return mask ? pairs : pairs * heads;
}

} // namespace fa::execution
