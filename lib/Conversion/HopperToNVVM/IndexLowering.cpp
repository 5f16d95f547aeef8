// The last step: index becomes i32, and the vectors that loops carry become LLVM vectors.
#include "KernelLowering.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::fa::hopper;

static Type withoutIndex(Type type) {
  Type i32 = IntegerType::get(type.getContext(), 32);
  if (type.isIndex())
    return i32;
  if (auto vector = dyn_cast<VectorType>(type); vector && vector.getElementType().isIndex())
    return vector.clone(i32);
  return type;
}

/// arith.index_cast and index_castui, once index is an i32: an extension, a truncation or nothing.
static void lowerIndexCast(Operation *op, bool isSigned) {
  OpBuilder b(op);
  Value from = op->getOperand(0);
  Type to = op->getResult(0).getType();
  unsigned fromBits = from.getType().getIntOrFloatBitWidth(), toBits = to.getIntOrFloatBitWidth();
  Value result = from;
  if (toBits < fromBits)
    result = arith::TruncIOp::create(b, op->getLoc(), to, from);
  else if (toBits > fromBits && isSigned)
    result = arith::ExtSIOp::create(b, op->getLoc(), to, from);
  else if (toBits > fromBits)
    result = arith::ExtUIOp::create(b, op->getLoc(), to, from);
  op->getResult(0).replaceAllUsesWith(result);
  op->erase();
}

LogicalResult KernelLowering::lowerIndexTypes() {
  SmallVector<Operation *> casts;
  WalkResult result = kernel.getBody().walk([&](Operation *op) {
    if (!isa<arith::ArithDialect, scf::SCFDialect, cf::ControlFlowDialect, LLVM::LLVMDialect, NVVM::NVVMDialect>(
            op->getDialect())) {
      op->emitError("expected an operation with a lowering to sm_90a, but got '") << op->getName() << "'";
      return WalkResult::interrupt();
    }
    for (Value value : op->getResults())
      value.setType(withoutIndex(value.getType()));
    for (Region &region : op->getRegions())
      for (BlockArgument argument : region.getArguments())
        argument.setType(withoutIndex(argument.getType()));
    if (auto constantOp = dyn_cast<arith::ConstantOp>(op))
      if (auto integer = dyn_cast<IntegerAttr>(constantOp.getValue()); integer && integer.getType().isIndex())
        constantOp.setValueAttr(IntegerAttr::get(op->getResult(0).getType(), integer.getValue().trunc(32)));
    if (isa<arith::IndexCastOp, arith::IndexCastUIOp>(op))
      casts.push_back(op);
    return WalkResult::advance();
  });
  if (result.wasInterrupted())
    return failure();
  for (Operation *op : casts)
    lowerIndexCast(op, isa<arith::IndexCastOp>(op));
  return success();
}

static void lowerToElements(vector::ToElementsOp op) {
  LocBuilder b(op.getLoc(), op);
  for (auto [i, element] : llvm::enumerate(op.getElements())) {
    if (element.use_empty())
      continue;
    Value position = arith::ConstantOp::create(b, b.getI32IntegerAttr(i));
    element.replaceAllUsesWith(LLVM::ExtractElementOp::create(b, op.getSource(), position));
  }
}

static void lowerFromElements(vector::FromElementsOp op) {
  LocBuilder b(op.getLoc(), op);
  Value result = LLVM::PoisonOp::create(b, op.getType());
  for (auto [i, element] : llvm::enumerate(op.getElements())) {
    Value position = arith::ConstantOp::create(b, b.getI32IntegerAttr(i));
    result = LLVM::InsertElementOp::create(b, result, element, position);
  }
  op.getResult().replaceAllUsesWith(result);
}

void KernelLowering::lowerVectorPlumbing() {
  SmallVector<Operation *> plumbing;
  kernel.getBody().walk([&](Operation *op) {
    if (isa<vector::ToElementsOp, vector::FromElementsOp>(op))
      plumbing.push_back(op);
  });
  // Users first, so that what only dead plumbing used is dead as well.
  for (Operation *op : llvm::reverse(plumbing)) {
    if (!op->use_empty()) {
      if (auto to = dyn_cast<vector::ToElementsOp>(op))
        lowerToElements(to);
      else
        lowerFromElements(cast<vector::FromElementsOp>(op));
    }
    op->erase();
  }
}
