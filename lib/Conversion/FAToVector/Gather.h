// Loads of a score or mask region, for a vector of positions.
#pragma once
#include "mlir/IR/Builders.h"

namespace mlir::fa::cpu {

/// memref[indices] per lane, for any strided memref: one vector.gather from the linearised position. The indices are in
/// range (edge tiles clamp them).
Value emitGather(OpBuilder &builder, Location loc, Value memref, ValueRange indices, VectorType type);

} // namespace mlir::fa::cpu
