// Verifiers of products and of the wait for them; op definitions.
#include "fa/Dialect/Hopper/IR/Hopper.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/OpImplementation.h"

using namespace mlir;
using namespace mlir::fa::hopper;

/// (C3) and (C4), the same for both products. `n` are the columns of B as it is multiplied.
static LogicalResult verifyResult(Operation *op, int64_t n, Value result, Value accumulator) {
  VectorType fragment = cast<PendingType>(result.getType()).getFragment();
  if (n % 8 != 0 || n > 256)
    return op->emitOpError("expected n to be a multiple of 8 up to 256, but got ") << n; // (C3)
  if (fragment.getNumElements() != n / 2)
    return op->emitOpError("expected a result of ") << n / 2 << " elements, but got " << fragment.getNumElements();
  if (accumulator && accumulator.getType() != fragment)
    return op->emitOpError("expected an accumulator of type ") << fragment << ", but got " << accumulator.getType();
  for (Operation *user : result.getUsers())
    if (user->getBlock() != op->getBlock()) { // (C4)
      InFlightDiagnostic diagnostic =
          op->emitOpError("expected the product to be waited for in its own block, but got a use in another");
      diagnostic.attachNote(user->getLoc()) << "used here; start and wait inside one iteration";
      return diagnostic;
    }
  return success();
}

LogicalResult GemmSSOp::verify() {
  TileType a = getA().getType(), b = getB().getType();
  if (a.getElementType() != b.getElementType())
    return emitOpError("expected operands of one element type, but got ")
           << a.getElementType() << " and " << b.getElementType(); // (C1)
  int64_t kOfA = getTransposeA() ? a.getRows() : a.getColumns();
  int64_t kOfB = getTransposeB() ? b.getColumns() : b.getRows();
  if (kOfA != kOfB || kOfA % 16 != 0)
    return emitOpError("expected equal k extents that are multiples of 16, but got ")
           << kOfA << " and " << kOfB; // (C2)
  return verifyResult(*this, getTransposeB() ? b.getRows() : b.getColumns(), getResult(), getAccumulator());
}

LogicalResult GemmRSOp::verify() {
  TileType b = getB().getType(); // (C1) holds for every tile
  int64_t k = getTransposeB() ? b.getColumns() : b.getRows();
  int64_t elements = cast<VectorType>(getA().getType()).getNumElements();
  if (k % 16 != 0 || elements != k / 4)
    return emitOpError("expected a to have k / 4 elements for a k extent of ")
           << k << " (a multiple of 16), but got " << elements; // (C2)
  return verifyResult(*this, getTransposeB() ? b.getRows() : b.getColumns(), getResult(), getAccumulator());
}

LogicalResult WaitGemmsOp::verify() {
  if (static_cast<int32_t>(getPending()) < 0)
    return emitOpError("expected pending to be 0 or more, but got ") << static_cast<int32_t>(getPending()); // (C1)
  if (getValues().size() != getResults().size())
    return emitOpError("expected ") << getValues().size() << " results, but got " << getResults().size(); // (C2)
  for (auto [value, result] : llvm::zip_equal(getValues(), getResults()))
    if (cast<PendingType>(value.getType()).getFragment() != result.getType())
      return emitOpError("expected a result of type ")
             << cast<PendingType>(value.getType()).getFragment() << ", but got " << result.getType(); // (C2)
  return success();
}

#define GET_OP_CLASSES
#include "fa/Dialect/Hopper/IR/HopperOps.cpp.inc"
