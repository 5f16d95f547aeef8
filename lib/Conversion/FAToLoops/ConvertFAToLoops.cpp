// convert-fa-to-loops: finds the scratch of every state, lowers the tile operations in place and removes states from
// structured control flow.
#include "TileLoops.h"
#include "fa/Conversion/Passes.h"
#include "fa/Dialect/FA/IR/KernelScratch.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"

namespace mlir::fa {
#define GEN_PASS_DEF_CONVERTFATOLOOPSPASS
#include "fa/Conversion/Passes.h.inc"
} // namespace mlir::fa

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fa::loops;

static bool isState(Type type) { return isa<StateType>(type); }

/// The values whose place in `types` is not that of a state. The values may have been dropped already, hence the types.
static SmallVector<Value> withoutStates(ValueRange values, TypeRange types) {
  SmallVector<Value> kept;
  for (auto [value, type] : llvm::zip(values, types))
    if (!isState(type))
      kept.push_back(value);
  return kept;
}

//===----------------------------------------------------------------------===//
// A state is used exactly once
//===----------------------------------------------------------------------===//

/// True if all uses lie in different branches of one scf.if, so that only one of them runs.
static bool usedInDifferentBranches(Value state) {
  SmallVector<Region *> branches;
  Operation *common = nullptr;
  for (Operation *user : state.getUsers()) {
    Region *region = user->getParentRegion();
    while (region && region->getParentOp()->getParentRegion() != state.getParentRegion())
      region = region->getParentRegion();
    if (!region || !isa<scf::IfOp>(region->getParentOp()) || llvm::is_contained(branches, region) ||
        (common && common != region->getParentOp()))
      return false;
    common = region->getParentOp();
    branches.push_back(region);
  }
  return true;
}

/// True if `user` runs at most once each time the state is made: only scf.if stands between them.
static bool runsOnce(Value state, Operation *user) {
  for (Region *region = user->getParentRegion(); region != state.getParentRegion();
       region = region->getParentOp()->getParentRegion())
    if (!isa<scf::IfOp>(region->getParentOp()))
      return false;
  return true;
}

static LogicalResult verifySingleUse(Value state) {
  for (Operation *user : state.getUsers())
    if (!runsOnce(state, user))
      return user->emitError("expected a state to be used exactly once, but a loop repeats this use; "
                             "carry the state in the iteration arguments of the loop");
  if (state.hasOneUse() || (!state.use_empty() && usedInDifferentBranches(state)))
    return success();
  InFlightDiagnostic diag = mlir::emitError(state.getLoc())
                            << "expected a state to be used exactly once, but got " << state.getNumUses() << " uses";
  for (Operation *user : state.getUsers())
    diag.attachNote(user->getLoc()) << "used here";
  return diag;
}

//===----------------------------------------------------------------------===//
// Lowering
//===----------------------------------------------------------------------===//

namespace {
class TileLowering {
public:
  LogicalResult lower(Region &region) {
    for (Block &block : region)
      for (Operation &op : llvm::make_early_inc_range(block))
        if (failed(lowerOp(op)))
          return failure();
    return success();
  }

private:
  LogicalResult lowerOp(Operation &op) {
    for (Value result : op.getResults())
      if (isState(result.getType()) && failed(verifySingleUse(result)))
        return failure();
    if (auto loop = dyn_cast<scf::ForOp>(op))
      return lowerFor(loop);
    if (auto choice = dyn_cast<scf::IfOp>(op))
      return lowerIf(choice);
    if (auto launch = dyn_cast<LaunchOp>(op))
      return lowerLaunch(launch);
    if (auto combine = dyn_cast<CombineOp>(op))
      return lowerCombine(combine);
    if (isa<InitOp, StepOp, FinishOp, LoadStateOp, StoreStateOp>(op))
      return lowerTileOp(op);
    return lowerOther(op);
  }

  /// Looks into operations that have nothing to do with states.
  LogicalResult lowerOther(Operation &op) {
    bool touchesState = llvm::any_of(op.getOperandTypes(), isState) || llvm::any_of(op.getResultTypes(), isState);
    for (Region &region : op.getRegions())
      for (Block &block : region)
        touchesState |= llvm::any_of(block.getArgumentTypes(), isState);
    // The yields of scf.for and scf.if are checked by their parents, whose scratch they must return.
    bool yields = isa<scf::YieldOp>(op) && isa<scf::ForOp, scf::IfOp>(op.getParentOp());
    if (touchesState && !yields)
      return op.emitError("expected states in fa operations, scf.for and scf.if only, but got one in '")
             << op.getName() << "'";
    for (Region &region : op.getRegions())
      if (failed(lower(region)))
        return failure();
    return success();
  }

  LogicalResult lowerTileOp(Operation &op) {
    ImplicitLocOpBuilder b(op.getLoc(), &op);
    if (auto init = dyn_cast<InitOp>(op)) {
      emitInit(b, begin(b, init.getState()), init.getState().getType());
    } else if (auto load = dyn_cast<LoadStateOp>(op)) {
      emitLoadState(b, load, begin(b, load.getState()));
    } else if (auto step = dyn_cast<StepOp>(op)) {
      StateScratch state = scratch.lookup(step.getState());
      if (failed(emitStep(b, step, state)))
        return failure();
      scratch[step.getResult()] = state;
    } else if (auto finish = dyn_cast<FinishOp>(op)) {
      StateScratch state = scratch.lookup(finish.getState());
      emitFinish(b, finish, state);
      emitFree(b, state);
    } else {
      auto store = cast<StoreStateOp>(op);
      StateScratch state = scratch.lookup(store.getState());
      emitStoreState(b, store, state);
      emitFree(b, state);
    }
    dead.push_back(&op);
    return success();
  }

  StateScratch begin(ImplicitLocOpBuilder &b, TypedValue<StateType> state) {
    return scratch[state] = emitAllocate(b, state.getType());
  }

  /// The yielded states must be those that the operation holds, in the same order: they are updated in place.
  LogicalResult verifyYield(Operation *yield, ArrayRef<StateScratch> expected) {
    SmallVector<StateScratch> yielded;
    for (Value value : yield->getOperands())
      if (isState(value.getType()))
        yielded.push_back(scratch.lookup(value));
    if (ArrayRef<StateScratch>(yielded) == expected)
      return success();
    return yield->emitError("expected every state to be yielded in the position in which it came");
  }

  LogicalResult lowerFor(scf::ForOp loop) {
    SmallVector<StateScratch> carried;
    for (auto [init, argument, result] : llvm::zip(loop.getInitArgs(), loop.getRegionIterArgs(), loop.getResults())) {
      if (!isState(init.getType()))
        continue;
      if (failed(verifySingleUse(argument)))
        return failure();
      carried.push_back(scratch.lookup(init));
      scratch[argument] = carried.back();
      scratch[result] = carried.back();
    }
    if (failed(lower(loop.getRegion())))
      return failure();
    if (carried.empty())
      return success();
    if (failed(verifyYield(loop.getBody()->getTerminator(), carried)))
      return failure();
    structured.push_back(loop);
    return success();
  }

  LogicalResult lowerIf(scf::IfOp choice) {
    for (Region &region : choice->getRegions())
      if (failed(lower(region)))
        return failure();
    SmallVector<StateScratch> held;
    for (auto [value, result] :
         llvm::zip(choice.elseBlock() ? choice.elseYield()->getOperands() : ValueRange(), choice.getResults()))
      if (isState(result.getType()))
        held.push_back(scratch[result] = scratch.lookup(value));
    if (held.empty())
      return success();
    if (failed(verifyYield(choice.thenYield(), held)))
      return failure();
    structured.push_back(choice);
    return success();
  }

  LogicalResult lowerCombine(CombineOp combine) {
    ImplicitLocOpBuilder b(combine.getLoc(), combine);
    emitCombine(b, combine);
    combine.erase();
    return success();
  }

  LogicalResult lowerLaunch(LaunchOp launch) {
    ImplicitLocOpBuilder b(launch.getLoc(), launch);
    auto kernel = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(launch, launch.getKernelAttr());
    if (!kernel)
      return launch.emitError("expected the kernel to be a func.func");
    // Blocks run one after the other: one piece of scratch memory serves all.
    Value scratch;
    if (kernel->hasAttr(scratchBytesAttrName)) {
      auto type = MemRefType::get({ShapedType::kDynamic}, b.getI8Type());
      Value bytes = arith::ConstantIndexOp::create(b, getScratchBytes(kernel));
      scratch = memref::AllocOp::create(b, type, ValueRange{bytes}, b.getI64IntegerAttr(64));
    }
    emitLoop(b, launch.getGrid(), [&](Value block) {
      SmallVector<Value> arguments{block};
      llvm::append_range(arguments, launch.getArgs());
      if (scratch)
        arguments.push_back(scratch);
      func::CallOp::create(b, kernel, arguments);
    });
    if (scratch)
      memref::DeallocOp::create(b, scratch);
    launch.erase();
    return success();
  }

public:
  /// Removes lowered operations and the states of structured operations, inner ones first.
  void cleanUp() {
    for (Operation *op : structured)
      if (auto loop = dyn_cast<scf::ForOp>(op))
        rebuildFor(loop);
      else
        rebuildIf(cast<scf::IfOp>(op));
    for (Operation *op : llvm::reverse(dead)) {
      op->dropAllUses();
      op->erase();
    }
  }

private:
  static void dropStatesFromYield(Block *block) {
    Operation *yield = block->getTerminator();
    yield->setOperands(withoutStates(yield->getOperands(), block->getParentOp()->getResultTypes()));
  }

  static void replaceResults(Operation *from, Operation *to) {
    unsigned next = 0;
    for (Value result : from->getResults()) {
      if (isState(result.getType()))
        result.dropAllUses();
      else
        result.replaceAllUsesWith(to->getResult(next++));
    }
    from->erase();
  }

  static void rebuildFor(scf::ForOp loop) {
    OpBuilder builder(loop);
    dropStatesFromYield(loop.getBody());
    auto lowered = scf::ForOp::create(builder, loop.getLoc(), loop.getLowerBound(), loop.getUpperBound(),
                                      loop.getStep(), withoutStates(loop.getInitArgs(), loop.getResultTypes()));
    lowered->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
    Block *body = lowered.getBody();
    if (!body->empty())
      body->back().erase(); // the implicit yield of a loop that carries nothing
    unsigned next = 0;
    for (BlockArgument argument : loop.getBody()->getArguments()) {
      if (isState(argument.getType()))
        argument.dropAllUses();
      else
        argument.replaceAllUsesWith(body->getArgument(next++));
    }
    body->getOperations().splice(body->end(), loop.getBody()->getOperations());
    replaceResults(loop, lowered);
  }

  static void rebuildIf(scf::IfOp choice) {
    OpBuilder builder(choice);
    SmallVector<Type> types;
    for (Type type : choice.getResultTypes())
      if (!isState(type))
        types.push_back(type);
    for (Block *block : {choice.thenBlock(), choice.elseBlock()})
      dropStatesFromYield(block);
    auto lowered = scf::IfOp::create(builder, choice.getLoc(), types, choice.getCondition());
    lowered.getThenRegion().takeBody(choice.getThenRegion());
    lowered.getElseRegion().takeBody(choice.getElseRegion());
    replaceResults(choice, lowered);
  }

  llvm::DenseMap<Value, StateScratch> scratch;
  SmallVector<Operation *> dead;
  SmallVector<Operation *> structured;
};

struct ConvertFAToLoops : fa::impl::ConvertFAToLoopsPassBase<ConvertFAToLoops> {
  void runOnOperation() override {
    TileLowering lowering;
    for (Region &region : getOperation()->getRegions())
      if (failed(lowering.lower(region)))
        return signalPassFailure();
    lowering.cleanUp();
    // A schedule on a kernel has done its work; without it, tools that do not know this dialect can read the result.
    getOperation()->walk([](func::FuncOp function) {
      for (NamedAttribute attribute : llvm::to_vector(function->getDiscardableAttrs()))
        if (isa<FADialect>(attribute.getValue().getDialect()))
          function->removeDiscardableAttr(attribute.getName());
    });
  }
};
} // namespace
