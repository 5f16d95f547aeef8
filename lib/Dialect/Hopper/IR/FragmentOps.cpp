// Verifiers of the ops on fragments.
#include "fa/Dialect/Hopper/IR/Hopper.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace mlir::fa::hopper;

static LogicalResult verifyLength(Operation *op, VectorType type) {
  if (type.getNumElements() % 4 != 0 || type.getNumElements() > 128)
    return op->emitOpError("expected a length that is a multiple of 4 up to 128, but got ")
           << type.getNumElements(); // (C1)
  return success();
}

LogicalResult FragmentColumnsOp::verify() { return verifyLength(*this, cast<VectorType>(getResult().getType())); }

LogicalResult RowBroadcastOp::verify() {
  auto from = cast<VectorType>(getValue().getType()), to = cast<VectorType>(getResult().getType());
  if (from.getElementType() != to.getElementType())
    return emitOpError("expected elements of ") << from.getElementType() << ", but got " << to.getElementType(); // (C1)
  return verifyLength(*this, to);
}

LogicalResult PackOp::verify() {
  if (!isSixteenBitFloat(getElementType()))
    return emitOpError("expected elements of bf16 or f16, but got ") << getElementType(); // (C1)
  int64_t from = cast<VectorType>(getValue().getType()).getNumElements();
  int64_t to = cast<VectorType>(getPacked().getType()).getNumElements();
  if (from != 2 * to)
    return emitOpError("expected ") << from / 2 << " packed elements, but got " << to; // (C2)
  return success();
}

LogicalResult StoreFragmentOp::verify() {
  int64_t columns = 4 * cast<VectorType>(getValue().getType()).getNumElements();
  TileType tile = getTile().getType();
  if (tile.getPanels() * tile.getPanelColumns() < columns)
    return emitOpError("expected a tile of at least ") << columns << " columns, but got " << tile.getColumns(); // (C1)
  return success();
}

LogicalResult GatherOp::verify() {
  auto memref = cast<MemRefType>(getMemref().getType());
  auto result = cast<VectorType>(getResult().getType());
  if (static_cast<int64_t>(getIndices().size()) != memref.getRank())
    return emitOpError("expected ") << memref.getRank() << " indices, but got " << getIndices().size(); // (C1)
  bool anyVector = false;
  for (Value index : getIndices())
    if (auto vector = dyn_cast<VectorType>(index.getType())) {
      anyVector = true;
      if (vector.getNumElements() != result.getNumElements())
        return emitOpError("expected index vectors of length ")
               << result.getNumElements() << ", but got " << vector.getNumElements(); // (C1)
    }
  if (!anyVector)
    return emitOpError("expected at least one index to be a vector, but got none"); // (C1)
  if (result.getElementType() != memref.getElementType())
    return emitOpError("expected elements of ")
           << memref.getElementType() << ", but got " << result.getElementType(); // (C2)
  return success();
}
