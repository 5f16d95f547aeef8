// Cloning of scalar regions onto scalars or 1-d vectors.
#include "fa/Dialect/FA/IR/ScalarRegion.h"
#include "fa/Dialect/FA/IR/FA.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace mlir::fa;

Operation *fa::findSideEffect(Region &region) {
  Operation *found = nullptr;
  region.walk([&](Operation *op) {
    if (isa<YieldOp>(op) || isMemoryEffectFree(op))
      return WalkResult::advance();
    // Ops with regions (scf.if) are judged by what they contain.
    if (op->hasTrait<OpTrait::HasRecursiveMemoryEffects>() || op->hasTrait<OpTrait::IsTerminator>())
      return WalkResult::advance();
    auto effects = dyn_cast<MemoryEffectOpInterface>(op);
    if (effects && effects.onlyHasEffect<MemoryEffects::Read>())
      return WalkResult::advance();
    found = op;
    return WalkResult::interrupt();
  });
  return found;
}

namespace {
/// Clones one region; `length` is 0 for scalars, else the number of lanes.
class RegionCloner {
public:
  RegionCloner(OpBuilder &builder, GatherFn gather, int64_t length)
      : builder(builder), gather(gather), length(length) {}

  FailureOr<Value> clone(Region &region, ValueRange arguments) {
    mapping.map(region.getArguments(), arguments);
    for (Operation &op : region.front().without_terminator())
      if (failed(cloneOp(op)))
        return failure();
    Value yielded = cast<YieldOp>(region.front().getTerminator()).getValue();
    Value result = mapping.lookupOrDefault(yielded);
    return length ? broadcast(yielded.getLoc(), result) : result;
  }

private:
  bool isVector(Value value) { return isa<VectorType>(mapping.lookupOrDefault(value).getType()); }

  Value broadcast(Location loc, Value value) {
    if (isa<VectorType>(value.getType()))
      return value;
    return vector::BroadcastOp::create(builder, loc, VectorType::get({length}, value.getType()), value);
  }

  LogicalResult cloneOp(Operation &op) {
    if (llvm::none_of(op.getOperands(), [&](Value v) { return isVector(v); }) && op.getNumRegions() == 0) {
      builder.clone(op, mapping);
      return success();
    }
    if (auto load = dyn_cast<memref::LoadOp>(op))
      return cloneLoad(load);
    if (length == 0) {
      builder.clone(op, mapping);
      return success();
    }
    return cloneElementwise(op);
  }

  LogicalResult cloneElementwise(Operation &op) {
    if (!OpTrait::hasElementwiseMappableTraits(&op) || op.getNumRegions() != 0)
      return op.emitError() << "expected an elementwise operation in a score or mask region, but '" << op.getName()
                            << "' has no form on vector lanes";
    OperationState state(op.getLoc(), op.getName());
    for (Value operand : op.getOperands())
      state.operands.push_back(broadcast(op.getLoc(), mapping.lookupOrDefault(operand)));
    for (Type type : op.getResultTypes())
      state.types.push_back(VectorType::get({length}, type));
    state.addAttributes(op.getDiscardableAttrDictionary().getValue());
    state.propertiesAttr = op.getPropertiesAsAttribute();
    mapping.map(op.getResults(), builder.create(state)->getResults());
    return success();
  }

  LogicalResult cloneLoad(memref::LoadOp load) {
    SmallVector<Value> indices;
    for (Value index : load.getIndices())
      indices.push_back(mapping.lookupOrDefault(index));
    auto type = VectorType::get({length}, load.getResult().getType());
    Value memref = mapping.lookupOrDefault(load.getMemref());
    Value result = gather ? gather(builder, load.getLoc(), memref, indices, type)
                          : gatherByLane(load.getLoc(), memref, indices, type);
    mapping.map(load.getResult(), result);
    return success();
  }

  Value gatherByLane(Location loc, Value memref, ValueRange indices, VectorType type) {
    SmallVector<Value> lanes;
    for (int64_t lane = 0; lane < length; ++lane) {
      SmallVector<Value> scalars;
      for (Value index : indices)
        scalars.push_back(isa<VectorType>(index.getType())
                              ? vector::ExtractOp::create(builder, loc, index, lane).getResult()
                              : index);
      lanes.push_back(memref::LoadOp::create(builder, loc, memref, scalars));
    }
    return vector::FromElementsOp::create(builder, loc, type, lanes);
  }

  OpBuilder &builder;
  GatherFn gather;
  int64_t length;
  IRMapping mapping;
};
} // namespace

FailureOr<Value> fa::cloneScalarRegion(OpBuilder &builder, Region &region, ValueRange arguments, GatherFn gather) {
  int64_t length = 0;
  for (Value argument : arguments)
    if (auto type = dyn_cast<VectorType>(argument.getType()))
      length = type.getNumElements();
  return RegionCloner(builder, gather, length).clone(region, arguments);
}
