// Loads and stores through memref arguments: offsets in 64 bits, since a bias can exceed 2^31 elements.
#include "KernelLowering.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::fa::hopper;

const MemRefArgument *KernelLowering::argumentOf(Operation *op, Value memref) {
  auto found = memrefs.find(memref);
  if (found != memrefs.end())
    return &found->second;
  op->emitError("expected the memref to be an argument of the kernel, but got the result of '")
      << memref.getDefiningOp()->getName() << "'";
  return nullptr;
}

Value KernelLowering::elementPointer(LocBuilder &b, const MemRefArgument &argument, MemRefType type,
                                     ValueRange indices) {
  Value offset;
  for (auto [index, stride] : llvm::zip_equal(indices, argument.strides)) {
    Value wide = arith::IndexCastOp::create(b, b.getI64Type(), index);
    Value term = arith::MulIOp::create(b, wide, stride);
    offset = offset ? add(b, offset, term) : term;
  }
  if (!offset)
    return argument.pointer;
  Type element = type.getElementType().isInteger(1) ? b.getI8Type() : type.getElementType();
  return LLVM::GEPOp::create(b, LLVM::LLVMPointerType::get(b.getContext(), 1), element, argument.pointer,
                             ArrayRef<LLVM::GEPArg>{offset});
}

Value KernelLowering::loadElement(LocBuilder &b, Value pointer, Type type) {
  if (!type.isInteger(1))
    return LLVM::LoadOp::create(b, type, pointer);
  // An i1 takes one byte in memory.
  Value byte = LLVM::LoadOp::create(b, b.getI8Type(), pointer);
  Value zero = arith::ConstantOp::create(b, b.getI8IntegerAttr(0));
  return arith::CmpIOp::create(b, arith::CmpIPredicate::ne, byte, zero);
}

LogicalResult KernelLowering::lowerLoad(LocBuilder &b, memref::LoadOp op) {
  const MemRefArgument *argument = argumentOf(op, op.getMemref());
  if (!argument)
    return failure();
  MemRefType type = op.getMemRefType();
  Value pointer = elementPointer(b, *argument, type, op.getIndices());
  op.getResult().replaceAllUsesWith(loadElement(b, pointer, type.getElementType()));
  return success();
}

LogicalResult KernelLowering::lowerGather(LocBuilder &b, GatherOp op) {
  const MemRefArgument *argument = argumentOf(op, op.getMemref());
  if (!argument)
    return failure();
  auto type = cast<MemRefType>(op.getMemref().getType());
  SmallVector<SmallVector<Value>> indices;
  int64_t length = cast<VectorType>(op.getResult().getType()).getNumElements();
  for (Value index : op.getIndices())
    indices.push_back(isa<VectorType>(index.getType()) ? elementsOf(index) : SmallVector<Value>(length, index));
  SmallVector<Value> values;
  for (int64_t v = 0; v < length; ++v) {
    SmallVector<Value> position;
    for (SmallVector<Value> &index : indices)
      position.push_back(index[v]);
    values.push_back(loadElement(b, elementPointer(b, *argument, type, position), type.getElementType()));
  }
  setElements(b, op.getResult(), values);
  return success();
}

LogicalResult KernelLowering::lowerStoreRows(LocBuilder &b, StoreRowsOp op) {
  const MemRefArgument *argument = argumentOf(op, op.getMemref());
  if (!argument)
    return failure();
  SmallVector<Value> rows = elementsOf(op.getRows()), values = elementsOf(op.getValue());
  Value quadLane = arith::AndIOp::create(b, thread.lane, constant(b, 3));
  Value isFirst = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, quadLane, constant(b, 0));
  Value zero = arith::ConstantOp::create(b, b.getIndexAttr(0));
  auto type = cast<MemRefType>(op.getMemref().getType());
  MemRefArgument row0{elementPointer(b, *argument, type, {op.getBatch(), op.getHead(), zero}), {argument->strides[2]}};
  auto rowType = MemRefType::get({ShapedType::kDynamic}, type.getElementType());
  for (auto [row, value] : llvm::zip_equal(rows, values)) {
    Value exists = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, row, op.getLimit());
    auto ifStore = scf::IfOp::create(b, arith::AndIOp::create(b, exists, isFirst));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(ifStore.thenBlock());
    LLVM::StoreOp::create(b, value, elementPointer(b, row0, rowType, {row}));
  }
  return success();
}
