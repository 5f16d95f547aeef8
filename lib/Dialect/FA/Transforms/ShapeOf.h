// The plain numbers of an attention for the machine model and the traffic model.
#pragma once
#include "fa/Analysis/AttentionShape.h"
#include "fa/Dialect/FA/IR/FA.h"

namespace mlir::fa {

/// Sizes and types of `op`. A dynamic batch, head count or length becomes `unknown`.
::fa::analysis::AttentionShape shapeOf(AttentionOp op, int64_t unknown);

/// True if batch, heads, lengths and depths are static.
bool hasStaticShape(AttentionOp op);

} // namespace mlir::fa
