// Evaluation by folding, with sizes and loads from the caller.
#include "fa/Analysis/ScalarEvaluator.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::fa;

void ScalarEvaluator::bind(Value value, Attribute constant) {
  for (Value stale : computed)
    constants.erase(stale);
  computed.clear();
  constants[value] = constant;
}

void ScalarEvaluator::bind(Value value, int64_t constant) {
  bind(value, Builder(value.getContext()).getIndexAttr(constant));
}

FailureOr<Attribute> ScalarEvaluator::evaluate(Value value) {
  if (Attribute known = constants.lookup(value))
    return known;
  FailureOr<Attribute> result = failure();
  if (Operation *op = value.getDefiningOp()) {
    result = compute(op, cast<OpResult>(value).getResultNumber());
  } else if (argument) {
    result = argument(value);
    if (failed(result))
      emitError(value.getLoc()) << "expected the value of an argument of type " << value.getType()
                                << ", but it is not known here";
  }
  if (succeeded(result)) {
    constants[value] = *result;
    computed.push_back(value);
  }
  return result;
}

FailureOr<Attribute> ScalarEvaluator::compute(Operation *op, unsigned result) {
  Builder builder(op->getContext());
  Attribute constant;
  if (matchPattern(op->getResult(result), m_Constant(&constant)))
    return constant;
  if (auto dim = dyn_cast<memref::DimOp>(op)) {
    FailureOr<int64_t> position = evaluateInteger(dim.getIndex());
    if (failed(position))
      return failure();
    auto type = cast<MemRefType>(dim.getSource().getType());
    FailureOr<int64_t> size = failure();
    if (*position >= 0 && *position < type.getRank())
      size = !type.isDynamicDim(*position) ? FailureOr<int64_t>(type.getDimSize(*position))
             : sizeOf                      ? sizeOf(dim.getSource(), *position)
                                           : FailureOr<int64_t>(failure());
    if (failed(size))
      return op->emitError("expected a known size, but dimension ")
             << *position << " of " << type << " is not known here";
    return Attribute(builder.getIndexAttr(*size));
  }
  SmallVector<Attribute> operands;
  if (auto memory = dyn_cast<memref::LoadOp>(op)) {
    SmallVector<int64_t> indices;
    for (Value index : memory.getIndices()) {
      FailureOr<int64_t> position = evaluateInteger(index);
      if (failed(position))
        return failure();
      indices.push_back(*position);
    }
    FailureOr<Attribute> element = load ? load(memory.getMemRef(), indices) : FailureOr<Attribute>(failure());
    if (failed(element))
      op->emitError("expected a known element, but the contents of ")
          << memory.getMemRefType() << " are not known here";
    return element;
  }
  for (Value operand : op->getOperands()) {
    FailureOr<Attribute> value = evaluate(operand);
    if (failed(value))
      return failure();
    operands.push_back(*value);
  }
  SmallVector<OpFoldResult> results;
  if (op->getNumRegions() != 0 || failed(op->fold(operands, results)) || results.size() <= result)
    return op->emitError("expected an operation that folds to a constant, but got '") << op->getName() << "'";
  if (auto attribute = dyn_cast<Attribute>(results[result]))
    return attribute;
  return evaluate(cast<Value>(results[result]));
}

FailureOr<int64_t> ScalarEvaluator::evaluateInteger(Value value) {
  FailureOr<Attribute> constant = evaluate(value);
  if (failed(constant))
    return failure();
  auto integer = dyn_cast<IntegerAttr>(*constant);
  if (!integer)
    return emitError(value.getLoc()) << "expected an integer, but got " << *constant;
  return value.getType().isInteger(1) ? int64_t(!integer.getValue().isZero()) : integer.getValue().getSExtValue();
}

FailureOr<bool> ScalarEvaluator::evaluateMask(Region &region, ArrayRef<int64_t> arguments) {
  for (auto [argument, value] : llvm::zip_equal(region.getArguments(), arguments))
    bind(argument, value);
  FailureOr<int64_t> visible = evaluateInteger(region.front().getTerminator()->getOperand(0));
  if (failed(visible))
    return failure();
  return *visible != 0;
}
