// Puts the scalar score and mask regions where a lowering needs them: on scalars, vector lanes or fragments.
#pragma once
#include "mlir/IR/Builders.h"
#include "mlir/IR/Region.h"
#include "mlir/IR/ValueRange.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace mlir::fa {

/// Emits the loads of a region for a vector of positions: `indices` hold one value per dimension of `memref`, each
/// either a scalar index or a vector of indices. Returns vector<N x element>.
using GatherFn =
    llvm::function_ref<Value(OpBuilder &builder, Location loc, Value memref, ValueRange indices, VectorType type)>;

/// Clones the body of `region` at the builder's position with its block arguments replaced by `arguments` and returns
/// what the region yields.
///
/// If any argument is a 1-d vector, every operation that depends on it is cloned with vectors of that length (scalar
/// operands are broadcast), loads become calls of `gather` (default: one scalar load per lane), and the result is a
/// vector. Operations that do not depend on a vector stay scalar.
///
/// Fails, with an error on the operation and its name, for an operation with no elementwise form.
FailureOr<Value> cloneScalarRegion(OpBuilder &builder, Region &region, ValueRange arguments, GatherFn gather = {});

/// True if all operations of the region are pure or only read memory. Otherwise returns the offending operation.
Operation *findSideEffect(Region &region);

} // namespace mlir::fa
