// Passes on the fa dialect, from masks to kernels. Reference: docs/Passes/FATransforms.md.
#pragma once
#include "fa/Dialect/FA/IR/FA.h"
#include "mlir/Pass/Pass.h"

namespace mlir::fa {
#define GEN_PASS_DECL
#include "fa/Dialect/FA/Transforms/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "fa/Dialect/FA/Transforms/Passes.h.inc"
} // namespace mlir::fa
