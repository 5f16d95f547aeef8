// Assembly and checks that fa.attention and fa.step share.
#pragma once
#include "fa/Dialect/FA/IR/FA.h"

namespace mlir::fa::detail {
/// Checks scale (C9) and the regions (C10, C11) against the type of scores. `labels` are the labels in the op's text.
LogicalResult verifyScale(Operation *op, FloatAttr scale, Value dynamicScale, Type scoreType);
LogicalResult verifyScalarRegions(Operation *op, Region &score, Region &mask, Type scoreType);
/// Names the arguments of score and mask regions: s, b, h, i, j.
void nameScalarRegionArguments(Region &region, bool isScore, OpAsmSetValueNameFn setName);
/// f64 for f64, else f32.
Type accumulatorTypeFor(Type elementType);
} // namespace mlir::fa::detail
