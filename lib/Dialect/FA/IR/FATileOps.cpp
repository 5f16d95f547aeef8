// fa.step, fa.finish, fa.load_state, fa.store_state, fa.combine: verifiers and effects.
#include "FAAssembly.h"
#include "fa/Dialect/FA/IR/FA.h"

using namespace mlir;
using namespace mlir::fa;

//===----------------------------------------------------------------------===//
// fa.step
//===----------------------------------------------------------------------===//

LogicalResult StepOp::verify() {
  MemRefType q = getQuery().getType(), k = getKey().getType(), v = getValue().getType();
  Type element = q.getElementType();
  if (k.getElementType() != element || v.getElementType() != element)
    return emitOpError("(C1) expected query, key and value to have one element type, but got ")
           << element << ", " << k.getElementType() << " and " << v.getElementType();
  if (getAccumulatorType() != detail::accumulatorTypeFor(element))
    return emitOpError("(C1) expected a state of ") << detail::accumulatorTypeFor(element) << " for inputs of "
                                                    << element << ", but got " << getAccumulatorType();
  if (v.getDimSize(3) != getState().getType().getDepth())
    return emitOpError("(C2) expected value to have the depth of the state, ")
           << getState().getType().getDepth() << ", but got " << v;
  if (q.isDynamicDim(3) || q.getDimSize(3) != k.getDimSize(3))
    return emitOpError("(C3) expected query and key to have the same static depth, but got ") << q << " and " << k;
  if (getTileKv() < 1)
    return emitOpError("(C4) expected a positive tile_kv, but got ") << getTileKv();
  if (getFull() && !getMask().empty())
    return emitOpError("(C5) expected no mask region in a full step");
  return detail::verifyScale(*this, getScaleAttr(), getDynamicScale(), getAccumulatorType());
}

LogicalResult StepOp::verifyRegions() {
  return detail::verifyScalarRegions(*this, getScore(), getMask(), getAccumulatorType());
}

void StepOp::getAsmBlockArgumentNames(Region &region, OpAsmSetValueNameFn setName) {
  detail::nameScalarRegionArguments(region, &region == &getScore(), setName);
}

void StepOp::getEffects(SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &effects) {
  for (OpOperand *operand : {&getQueryMutable(), &getKeyMutable(), &getValueMutable()})
    effects.emplace_back(MemoryEffects::Read::get(), operand);
  for (Region *region : {&getScore(), &getMask()})
    region->walk([&](MemoryEffectOpInterface nested) {
      if (nested.hasEffect<MemoryEffects::Read>())
        effects.emplace_back(MemoryEffects::Read::get());
    });
}

//===----------------------------------------------------------------------===//
// fa.finish, fa.load_state, fa.store_state
//===----------------------------------------------------------------------===//

LogicalResult FinishOp::verify() {
  StateType state = getState().getType();
  if (getOutput().getType().getDimSize(3) != state.getDepth())
    return emitOpError("(C1) expected the output to have the depth of the state, ")
           << state.getDepth() << ", but got " << getOutput().getType();
  if (getLse() && cast<MemRefType>(getLse().getType()).getElementType() != state.getElementType())
    return emitOpError("(C2) expected a log-sum-exp of ")
           << state.getElementType() << ", but got " << getLse().getType();
  return success();
}

static LogicalResult verifyStateMemory(Operation *op, StateType state, MemRefType accumulator, MemRefType reference,
                                       MemRefType sum) {
  for (MemRefType type : {accumulator, reference, sum})
    if (type.getElementType() != state.getElementType())
      return op->emitOpError("(C1) expected memory of ") << state.getElementType() << ", but got " << type;
  if (accumulator.getDimSize(3) != state.getDepth())
    return op->emitOpError("(C1) expected an accumulator of depth ") << state.getDepth() << ", but got " << accumulator;
  return success();
}

LogicalResult LoadStateOp::verify() {
  return verifyStateMemory(*this, getState().getType(), getAccumulator().getType(), getReference().getType(),
                           getSum().getType());
}

LogicalResult StoreStateOp::verify() {
  return verifyStateMemory(*this, getState().getType(), getAccumulator().getType(), getReference().getType(),
                           getSum().getType());
}

//===----------------------------------------------------------------------===//
// fa.combine
//===----------------------------------------------------------------------===//

/// True unless two static sizes differ.
static bool shapesAgree(ArrayRef<int64_t> a, ArrayRef<int64_t> b) {
  return llvm::all_of(llvm::zip_equal(a, b), [](auto pair) {
    auto [x, y] = pair;
    return x == y || ShapedType::isDynamic(x) || ShapedType::isDynamic(y);
  });
}

LogicalResult CombineOp::verify() {
  MemRefType partial = getPartialOutputs().getType(), partialLse = getPartialLses().getType();
  MemRefType output = getOutput().getType();
  Type expected = detail::accumulatorTypeFor(output.getElementType());
  SmallVector<MemRefType> wide{partial, partialLse};
  if (getLse())
    wide.push_back(cast<MemRefType>(getLse().getType()));
  for (MemRefType type : wide)
    if (type.getElementType() != expected)
      return emitOpError("(C1) expected elements of ")
             << expected << " for an output of " << output.getElementType() << ", but got " << type;
  if (!shapesAgree(partial.getShape().drop_front(), output.getShape()))
    return emitOpError("(C2) expected partial outputs of splits x the shape of the output, but got ")
           << partial << " for " << output;
  ArrayRef<int64_t> rows = output.getShape().drop_back();
  if (!shapesAgree(partialLse.getShape().drop_front(), rows) ||
      !shapesAgree(partialLse.getShape().take_front(), partial.getShape().take_front()))
    return emitOpError("(C3) expected partial log-sum-exps of splits x batch x heads x seq_q, but got ")
           << partialLse << " for " << partial;
  if (getLse() && !shapesAgree(wide.back().getShape(), rows))
    return emitOpError("(C3) expected a log-sum-exp of batch x heads x seq_q, but got ")
           << wide.back() << " for " << output;
  return success();
}

void CombineOp::getEffects(SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &effects) {
  for (OpOperand *operand : {&getPartialOutputsMutable(), &getPartialLsesMutable()})
    effects.emplace_back(MemoryEffects::Read::get(), operand);
  effects.emplace_back(MemoryEffects::Write::get(), &getOutputMutable());
  for (OpOperand &lse : getLseMutable())
    effects.emplace_back(MemoryEffects::Write::get(), &lse);
}
