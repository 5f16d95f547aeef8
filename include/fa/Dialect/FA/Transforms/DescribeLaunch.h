// From an outlined kernel to the launch descriptor that the runtime executes.
#pragma once
#include "fa/Dialect/FA/IR/FA.h"
#include "fa/Support/LaunchDescriptor.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::fa {

/// Name of argument `index` of `function`: its `fa.name`, or `arg<index>`.
std::string argumentName(func::FuncOp function, unsigned index);

/// An index value as an expression over `<tensor>.dim<N>` of the host function's arguments, as launch descriptors spell
/// it. Fails, with a note on the operation, when the value depends on anything else.
FailureOr<std::string> describeIndex(Value value);

/// The descriptor (abi `so`, entry = the kernel's name) of a launch whose kernel still holds fa operations. Arguments
/// are memrefs and scalars of the host function; grid sizes are expressions. Guards: every static size and stride, and
/// the agreement of query, key, value and outputs that the verifier could not see in dynamic shapes. Fails when the
/// host function holds more than constants, dims, views and launches.
FailureOr<::fa::LaunchDescriptor> describeLaunch(LaunchOp launch);

} // namespace mlir::fa
