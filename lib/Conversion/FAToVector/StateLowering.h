// Replaces the operations of one state by vector code.
#pragma once
#include "KernelShape.h"
#include "StateChain.h"
#include "StepBuilder.h"

namespace mlir::fa::cpu {

struct VectorUnit {
  int64_t bits = 128;
  bool avx512 = false;
};

/// Lowers `chain`, which lies in a function of a module. States become constants of type index, which carry nothing.
LogicalResult lowerState(StateChain &chain, const VectorUnit &unit);

} // namespace mlir::fa::cpu
