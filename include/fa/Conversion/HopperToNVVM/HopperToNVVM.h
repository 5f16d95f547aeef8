// Conversion of hopper kernels to nvvm and llvm.
#pragma once
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Pass/Pass.h"

namespace mlir::fa {
#define GEN_PASS_DECL
#include "fa/Conversion/HopperToNVVM/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "fa/Conversion/HopperToNVVM/Passes.h.inc"
} // namespace mlir::fa
