// Forward walk over the uses of a state.
#include "StateChain.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fa::cpu;

namespace {

LogicalResult follow(OpOperand &use, StateChain &chain, SetVector<Value> &states) {
  Operation *user = use.getOwner();
  if (auto step = dyn_cast<StepOp>(user)) {
    chain.steps.push_back(step);
    states.insert(step.getResult());
    return success();
  }
  if (auto finish = dyn_cast<FinishOp>(user)) {
    chain.finishes.push_back(finish);
    return success();
  }
  if (auto loop = dyn_cast<scf::ForOp>(user)) {
    states.insert(loop.getTiedLoopRegionIterArg(&use));
    states.insert(loop.getTiedLoopResult(&use));
    return success();
  }
  if (isa<scf::YieldOp>(user) && isa<scf::ForOp, scf::IfOp>(user->getParentOp())) {
    states.insert(user->getParentOp()->getResult(use.getOperandNumber()));
    return success();
  }
  return user->emitOpError("expected a state to be used by fa.step, fa.finish, scf.for or scf.if, but got this "
                           "operation; use convert-fa-to-loops for kernels that keep states in memory");
}

} // namespace

FailureOr<StateChain> mlir::fa::cpu::traceState(InitOp init) {
  StateChain chain{init, {}, {}};
  SetVector<Value> states;
  states.insert(init.getState());
  for (size_t i = 0; i < states.size(); ++i)
    for (OpOperand &use : states[i].getUses())
      if (failed(follow(use, chain, states)))
        return failure();
  return chain;
}
