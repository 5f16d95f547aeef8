// Parts of a kernel that are functions of their own.
#pragma once
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::fa::cpu {

/// Adds a private function that LLVM does not inline, `cold` if it is called seldom, and moves the builder to the start
/// of its body.
func::FuncOp beginPartFunction(OpBuilder &builder, Location loc, StringRef name, ArrayRef<Type> arguments,
                               bool cold = false);

} // namespace mlir::fa::cpu
