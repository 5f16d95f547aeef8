// Passes that convert between dialects. Reference: docs/Passes/ConversionPasses.md.
#pragma once
#include "mlir/Pass/Pass.h"

namespace mlir::fa {
#define GEN_PASS_DECL
#include "fa/Conversion/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "fa/Conversion/Passes.h.inc"
} // namespace mlir::fa
