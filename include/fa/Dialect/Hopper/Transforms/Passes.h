// Passes on the hopper dialect.
#pragma once
#include "fa/Dialect/Hopper/IR/Hopper.h"
#include "mlir/Pass/Pass.h"

namespace mlir::fa::hopper {
/// Bytes of shared memory one block can use on sm_90 (227 KB; CUDA C++ Programming Guide, compute capability 9.0).
constexpr int64_t sharedBytesLimit = 232448;
#define GEN_PASS_DECL
#include "fa/Dialect/Hopper/Transforms/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "fa/Dialect/Hopper/Transforms/Passes.h.inc"
} // namespace mlir::fa::hopper
