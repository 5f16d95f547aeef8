// Text forms and verifiers of the hopper types, and the fragment predicates.
#include "fa/Dialect/Hopper/IR/Hopper.h"

using namespace mlir;
using namespace mlir::fa::hopper;

bool fa::hopper::isSixteenBitFloat(Type type) { return type.isF16() || type.isBF16(); }

bool fa::hopper::isFragment(Type type) {
  auto vector = dyn_cast<VectorType>(type);
  return vector && vector.getRank() == 1 && !vector.isScalable() && vector.getElementType().isF32() &&
         vector.getNumElements() % 4 == 0 && vector.getNumElements() <= 128;
}

bool fa::hopper::isPackedFragment(Type type) {
  auto vector = dyn_cast<VectorType>(type);
  return vector && vector.getRank() == 1 && !vector.isScalable() && vector.getElementType().isInteger(32) &&
         vector.getNumElements() % 2 == 0 && vector.getNumElements() <= 64;
}

/// Rows x columns x element type, as tile and tensor_map share it.
static ParseResult parseShape(AsmParser &parser, int64_t &rows, int64_t &columns, Type &elementType) {
  SmallVector<int64_t> sizes;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseDimensionList(sizes, /*allowDynamic=*/false) || parser.parseType(elementType))
    return failure();
  if (sizes.size() != 2)
    return parser.emitError(loc) << "expected rows x columns x element type, but got " << sizes.size() << " sizes";
  rows = sizes[0];
  columns = sizes[1];
  return success();
}

static void printShape(AsmPrinter &printer, int64_t rows, int64_t columns, Type elementType) {
  printer << rows << 'x' << columns << 'x' << elementType;
}

template <typename T> static Type parseShapedType(AsmParser &parser) {
  int64_t rows, columns;
  Type elementType;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseLess() || parseShape(parser, rows, columns, elementType) || parser.parseGreater())
    return {};
  return parser.getChecked<T>(loc, parser.getContext(), rows, columns, elementType);
}

//===- tile ------------------------------------------------------------------===//

Type TileType::parse(AsmParser &parser) { return parseShapedType<TileType>(parser); }
void TileType::print(AsmPrinter &printer) const {
  printer << '<';
  printShape(printer, getRows(), getColumns(), getElementType());
  printer << '>';
}

LogicalResult TileType::verify(function_ref<InFlightDiagnostic()> emitError, int64_t rows, int64_t columns,
                               Type elementType) {
  if (!isSixteenBitFloat(elementType))
    return emitError() << "expected elements of bf16 or f16, but got " << elementType;
  if (rows <= 0 || rows % 8 != 0 || rows > 256)
    return emitError() << "expected rows to be a multiple of 8 up to 256, but got " << rows;
  if (columns <= 0 || columns % 8 != 0 || columns > 256)
    return emitError() << "expected columns to be a multiple of 8 up to 256, but got " << columns;
  return success();
}

//===- tensor_map ------------------------------------------------------------===//

Type TensorMapType::parse(AsmParser &parser) { return parseShapedType<TensorMapType>(parser); }
void TensorMapType::print(AsmPrinter &printer) const {
  printer << '<';
  printShape(printer, getRows(), getColumns(), getElementType());
  printer << '>';
}

LogicalResult TensorMapType::verify(function_ref<InFlightDiagnostic()> emitError, int64_t rows, int64_t columns,
                                    Type elementType) {
  if (!isSixteenBitFloat(elementType))
    return emitError() << "expected elements of bf16 or f16, but got " << elementType;
  if (rows <= 0 || rows > 256)
    return emitError() << "expected a box of 1 to 256 rows, but got " << rows;
  if (columns * elementType.getIntOrFloatBitWidth() != TileType::panelRowBytes * 8)
    return emitError() << "expected box rows of 128 bytes, but got " << columns << " elements of " << elementType;
  return success();
}

//===- ring ------------------------------------------------------------------===//

Type RingType::parse(AsmParser &parser) {
  int64_t stages;
  SmallVector<TileType> tiles;
  SMLoc loc = parser.getCurrentLocation();
  auto parseTile = [&]() -> ParseResult {
    int64_t rows, columns;
    Type elementType;
    SMLoc tileLoc = parser.getCurrentLocation();
    if (parseShape(parser, rows, columns, elementType))
      return failure();
    auto tile = parser.getChecked<TileType>(tileLoc, parser.getContext(), rows, columns, elementType);
    if (!tile)
      return failure();
    tiles.push_back(tile);
    return success();
  };
  if (parser.parseLess() || parser.parseInteger(stages) || parser.parseKeyword("x") ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseTile) || parser.parseGreater())
    return {};
  return parser.getChecked<RingType>(loc, parser.getContext(), stages, ArrayRef<TileType>(tiles));
}

void RingType::print(AsmPrinter &printer) const {
  printer << '<' << getStages() << " x [";
  llvm::interleaveComma(getTiles(), printer, [&](TileType tile) {
    printShape(printer, tile.getRows(), tile.getColumns(), tile.getElementType());
  });
  printer << "]>";
}

LogicalResult RingType::verify(function_ref<InFlightDiagnostic()> emitError, int64_t stages, ArrayRef<TileType> tiles) {
  if (stages < 1 || stages > 16)
    return emitError() << "expected 1 to 16 stages, but got " << stages;
  if (tiles.empty())
    return emitError() << "expected at least one tile in a stage, but got none";
  return success();
}

int64_t RingType::getStageBytes() const {
  int64_t bytes = 0;
  for (TileType tile : getTiles())
    bytes += tile.getBytes();
  return bytes;
}

//===- pending ---------------------------------------------------------------===//

LogicalResult PendingType::verify(function_ref<InFlightDiagnostic()> emitError, VectorType fragment) {
  if (!isFragment(fragment))
    return emitError() << "expected a fragment (vector<4k x f32>, 4 <= 4k <= 128), but got " << fragment;
  return success();
}
