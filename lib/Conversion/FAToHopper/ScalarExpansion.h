// Coordinates and bounds of a block as few instructions: shifts and unsigned divisions where the affine dialect's own
// expansion guards against signs.
#pragma once
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::fa {

/// The results of an affine op of a fa kernel, built on the mapped operands; empty if `op` has no short form and is to
/// be cloned. Block numbers and the sizes that split them are not negative.
SmallVector<Value> expandScalar(ImplicitLocOpBuilder &b, Operation *op, IRMapping &mapping);

} // namespace mlir::fa
