// !fa.state: assembly and verification.
#include "fa/Dialect/FA/IR/FA.h"
#include "mlir/IR/DialectImplementation.h"

using namespace mlir;
using namespace mlir::fa;

Type StateType::parse(AsmParser &parser) {
  SmallVector<int64_t, 2> dims;
  Type elementType;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseLess() || parser.parseDimensionList(dims, /*allowDynamic=*/false) || parser.parseType(elementType) ||
      parser.parseGreater())
    return {};
  if (dims.size() != 2) {
    parser.emitError(loc, "expected a state of the form <tile_q x depth_v x type>");
    return {};
  }
  return parser.getChecked<StateType>(loc, parser.getContext(), dims[0], dims[1], elementType);
}

void StateType::print(AsmPrinter &printer) const {
  printer << "<" << getRows() << "x" << getDepth() << "x" << getElementType() << ">";
}

LogicalResult StateType::verify(function_ref<InFlightDiagnostic()> emitError, int64_t rows, int64_t depth,
                                Type elementType) {
  if (rows < 1 || depth < 1)
    return emitError() << "expected positive sizes, but got " << rows << "x" << depth;
  if (!elementType.isF32() && !elementType.isF64())
    return emitError() << "expected element type f32 or f64, but got " << elementType;
  return success();
}
