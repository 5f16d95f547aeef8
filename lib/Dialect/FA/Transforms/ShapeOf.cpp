// The plain numbers of an attention for the models.
#include "ShapeOf.h"

using namespace mlir;
using ::fa::DType;

static DType dtypeOf(Type type) {
  if (type.isF64())
    return DType::F64;
  if (type.isF16())
    return DType::F16;
  return type.isBF16() ? DType::BF16 : DType::F32;
}

::fa::analysis::AttentionShape mlir::fa::shapeOf(AttentionOp op, int64_t unknown) {
  auto known = [&](ShapedType type, unsigned dim) { return type.isDynamicDim(dim) ? unknown : type.getDimSize(dim); };
  ShapedType q = op.getQueryType(), k = op.getKeyType(), v = op.getValueType();
  ::fa::analysis::AttentionShape shape;
  shape.batch = known(q, 0);
  shape.headsQ = known(q, 1);
  shape.headsKv = known(k, 1);
  shape.seqQ = known(q, 2);
  shape.seqKv = known(k, 2);
  shape.depth = known(q, 3);
  shape.depthV = known(v, 3);
  shape.input = dtypeOf(q.getElementType());
  shape.output = dtypeOf(cast<ShapedType>(op.getOutput().getType()).getElementType());
  shape.lse = static_cast<bool>(op.getLse());
  // Heads that are known on one side only must still divide.
  if (q.isDynamicDim(1) || k.isDynamicDim(1))
    shape.headsQ = shape.headsKv = std::max(shape.headsQ, shape.headsKv);
  return shape;
}

bool mlir::fa::hasStaticShape(AttentionOp op) {
  return op.getQueryType().hasStaticShape() && op.getKeyType().hasStaticShape() && op.getValueType().hasStaticShape();
}
