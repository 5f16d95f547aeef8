// fa-outline-kernels: scf.forall -> kernel function over a grid + fa.launch.
#include "fa/Dialect/FA/Transforms/Passes.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::fa {
#define GEN_PASS_DEF_OUTLINEKERNELSPASS
#include "fa/Dialect/FA/Transforms/Passes.h.inc"
} // namespace mlir::fa

using namespace mlir;
using namespace mlir::fa;

/// Cheap operations that a kernel repeats instead of taking their result as an argument.
static bool isSinkable(Operation *op) {
  if (op->getNumRegions() != 0 || !isMemoryEffectFree(op))
    return false;
  if (op->hasTrait<OpTrait::ConstantLike>() || isa<memref::DimOp, affine::AffineApplyOp, affine::AffineMinOp,
                                                   affine::AffineMaxOp, ViewLikeOpInterface, memref::TransposeOp>(op))
    return true;
  return isa_and_nonnull<arith::ArithDialect>(op->getDialect());
}

namespace {
/// What a kernel needs from outside: operations to clone, in order, and values to take as arguments.
struct Captures {
  bool viewsOutside = false;
  SetVector<Operation *> cloned;
  SetVector<Value> arguments;

  void add(Value value) {
    Operation *def = value.getDefiningOp();
    if (!def || !isSinkable(def) || (viewsOutside && isa<MemRefType>(value.getType()))) {
      arguments.insert(value);
      return;
    }
    if (cloned.contains(def))
      return;
    for (Value operand : def->getOperands())
      add(operand);
    cloned.insert(def);
  }

  /// Arguments of the host function first, in its order.
  void sortArguments() {
    auto rank = [](Value value) {
      auto argument = dyn_cast<BlockArgument>(value);
      return argument ? argument.getArgNumber() : std::numeric_limits<unsigned>::max();
    };
    SmallVector<Value> sorted = arguments.takeVector();
    llvm::stable_sort(sorted, [&](Value a, Value b) { return rank(a) < rank(b); });
    arguments.insert(sorted.begin(), sorted.end());
  }
};

class Outliner {
public:
  Outliner(scf::ForallOp loop, StringRef name, bool viewsOutside) : loop(loop), loc(loop.getLoc()), name(name) {
    captures.viewsOutside = viewsOutside;
    SetVector<Value> used;
    getUsedValuesDefinedAbove(loop.getRegion(), used);
    for (Value value : loop.getDynamicUpperBound())
      used.insert(value);
    for (Value value : used)
      captures.add(value);
    captures.sortArguments();
  }

  func::FuncOp outline(SymbolTable &symbols) {
    func::FuncOp kernel = createKernel();
    symbols.insert(kernel, loop->getParentOfType<func::FuncOp>()->getIterator());
    OpBuilder builder(loop);
    Value grid = arith::ConstantIndexOp::create(builder, loc, 1);
    for (OpFoldResult bound : loop.getMixedUpperBound())
      grid = builder.createOrFold<arith::MulIOp>(loc, grid, getValueOrCreateConstantIndexOp(builder, loc, bound));
    bool masked = false;
    loop.walk([&](StepOp step) { masked |= !step.getMask().empty(); });
    LaunchOp::create(builder, loc, FlatSymbolRefAttr::get(kernel.getSymNameAttr()), grid,
                     captures.arguments.getArrayRef(), masked ? builder.getUnitAttr() : UnitAttr());
    loop.erase();
    return kernel;
  }

private:
  func::FuncOp createKernel() {
    OpBuilder builder(loop.getContext());
    SmallVector<Type> types{builder.getIndexType()};
    for (Value argument : captures.arguments)
      types.push_back(argument.getType());
    auto kernel = func::FuncOp::create(loc, name, builder.getFunctionType(types, {}));
    kernel->setAttr(kernelAttrName, builder.getUnitAttr());
    if (Attribute schedule = loop->getAttr(scheduleAttrName))
      kernel->setAttr(scheduleAttrName, schedule);
    nameArguments(kernel);
    Block *entry = kernel.addEntryBlock();
    builder.setInsertionPointToStart(entry);
    IRMapping mapping;
    mapping.map(captures.arguments.getArrayRef(), entry->getArguments().drop_front());
    for (Operation *op : captures.cloned)
      builder.clone(*op, mapping);
    mapInductionVariables(builder, entry->getArgument(0), mapping);
    for (Operation &op : loop.getBody()->without_terminator())
      builder.clone(op, mapping);
    func::ReturnOp::create(builder, loc);
    return kernel;
  }

  /// Kernel arguments keep the names of the host function's.
  void nameArguments(func::FuncOp kernel) {
    auto host = loop->getParentOfType<func::FuncOp>();
    for (auto [position, value] : llvm::enumerate(captures.arguments)) {
      auto argument = dyn_cast<BlockArgument>(value);
      if (!argument || argument.getOwner() != &host.getBody().front())
        continue;
      if (Attribute argName = host.getArgAttr(argument.getArgNumber(), nameAttrName))
        kernel.setArgAttr(position + 1, nameAttrName, argName);
    }
  }

  void mapInductionVariables(OpBuilder &builder, Value block, IRMapping &mapping) {
    SmallVector<OpFoldResult> sizes;
    for (OpFoldResult bound : loop.getMixedUpperBound()) {
      if (auto value = dyn_cast<Value>(bound))
        bound = mapping.lookupOrDefault(value);
      // An empty dim launches no block; the op that splits block numbers wants a positive size all the same.
      if (getConstantIntValue(bound) == 0)
        bound = builder.getIndexAttr(1);
      sizes.push_back(bound);
    }
    auto delinearize = affine::AffineDelinearizeIndexOp::create(builder, loc, block, sizes);
    mapping.map(loop.getInductionVars(), delinearize.getResults());
  }

  scf::ForallOp loop;
  Location loc;
  StringRef name;
  Captures captures;
};

struct OutlineKernelsPass : fa::impl::OutlineKernelsPassBase<OutlineKernelsPass> {
  using OutlineKernelsPassBase::OutlineKernelsPassBase;

  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    SmallVector<scf::ForallOp> loops;
    getOperation().walk<WalkOrder::PreOrder>([&](scf::ForallOp loop) {
      loops.push_back(loop);
      return WalkResult::skip();
    });
    for (scf::ForallOp loop : loops) {
      auto host = loop->getParentOfType<func::FuncOp>();
      if (!host) {
        loop.emitOpError("expected an enclosing func.func");
        return signalPassFailure();
      }
      if (!loop.isNormalized() || !loop.getOutputs().empty()) {
        loop.emitOpError("expected a loop from 0 with step 1 and no shared outputs");
        return signalPassFailure();
      }
      Outliner(loop, (host.getName() + "_kernel").str(), viewsOutside).outline(symbols);
    }
  }
};
} // namespace
