// All operations on one state, from its fa.init to its fa.finish.
#pragma once
#include "fa/Dialect/FA/IR/FA.h"

namespace mlir::fa::cpu {

struct StateChain {
  InitOp init;
  SmallVector<StepOp> steps; ///< in the order in which the state reaches them
  SmallVector<FinishOp> finishes;
};

/// Follows a state through steps and the iteration arguments of scf.for. Fails, with an error on the operation, where
/// the state goes anywhere else.
FailureOr<StateChain> traceState(InitOp init);

} // namespace mlir::fa::cpu
