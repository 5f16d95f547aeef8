// Views that a host function makes, as derived tensors of a launch descriptor.
#pragma once
#include "fa/Dialect/FA/IR/FA.h"
#include "fa/Support/LaunchDescriptor.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::fa {

/// Whether the runtime can derive the result of `op` from its source: cast, transpose, subview, expand_shape,
/// collapse_shape, reinterpret_cast of a source without an offset.
bool isDerivable(Operation *op);

/// The name of a tensor in a descriptor: an argument's own, or `view<N>` for the result of the N-th such operation of
/// the host function. Fails, with a diagnostic, for any other value.
FailureOr<std::string> tensorName(Value value);

/// All derivable views of the host function, in order.
LogicalResult describeViews(func::FuncOp host, ::fa::LaunchDescriptor &descriptor);

} // namespace mlir::fa
