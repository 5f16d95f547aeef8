// The `scale(...)`, `score (...) {...}` and `mask (...) {...}` clauses of fa.attention and fa.step, and their checks.
#include "FAAssembly.h"
#include "fa/Dialect/FA/IR/ScalarRegion.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/SmallString.h"
#include <cmath>

using namespace mlir;
using namespace mlir::fa;

//===----------------------------------------------------------------------===//
// scale(0.125) or scale(%s : f32)
//===----------------------------------------------------------------------===//

static OptionalParseResult parseScale(OpAsmParser &parser, FloatAttr &scale,
                                      std::optional<OpAsmParser::UnresolvedOperand> &dynamicScale, Type &dynamicType) {
  if (failed(parser.parseOptionalKeyword("scale")))
    return std::nullopt;
  if (parser.parseLParen())
    return failure();
  OpAsmParser::UnresolvedOperand operand;
  OptionalParseResult isOperand = parser.parseOptionalOperand(operand);
  if (isOperand.has_value()) {
    if (failed(*isOperand) || parser.parseColonType(dynamicType))
      return failure();
    dynamicScale = operand;
  } else if (parser.parseAttribute(scale, parser.getBuilder().getF64Type())) {
    return failure();
  }
  return parser.parseRParen();
}

static void printScale(OpAsmPrinter &printer, Operation *, FloatAttr scale, Value dynamicScale, Type dynamicType) {
  if (!scale && !dynamicScale)
    return;
  printer << "scale(";
  if (scale)
    printer.printAttributeWithoutType(scale);
  else
    printer << dynamicScale << " : " << dynamicType;
  printer << ")";
}

//===----------------------------------------------------------------------===//
// score (%s: f32, %b: index, ...) {...} mask (%b: index, ...) {...}
//===----------------------------------------------------------------------===//

static ParseResult parseScalarRegion(OpAsmParser &parser, StringRef keyword, Region &region) {
  if (failed(parser.parseOptionalKeyword(keyword)))
    return success();
  SmallVector<OpAsmParser::Argument> arguments;
  if (parser.parseArgumentList(arguments, OpAsmParser::Delimiter::Paren, /*allowType=*/true))
    return failure();
  return parser.parseRegion(region, arguments);
}

static OptionalParseResult parseScalarRegions(OpAsmParser &parser, Region &score, Region &mask) {
  if (parseScalarRegion(parser, "score", score) || parseScalarRegion(parser, "mask", mask))
    return failure();
  if (score.empty() && mask.empty())
    return std::nullopt;
  return success();
}

static void printScalarRegion(OpAsmPrinter &printer, StringRef keyword, Region &region) {
  if (region.empty())
    return;
  printer << keyword << " (";
  llvm::interleaveComma(region.getArguments(), printer, [&](BlockArgument arg) { printer.printRegionArgument(arg); });
  printer << ") ";
  printer.printRegion(region, /*printEntryBlockArgs=*/false);
}

static void printScalarRegions(OpAsmPrinter &printer, Operation *, Region &score, Region &mask) {
  printScalarRegion(printer, "score", score);
  if (!score.empty() && !mask.empty())
    printer << " ";
  printScalarRegion(printer, "mask", mask);
}

void fa::detail::nameScalarRegionArguments(Region &region, bool isScore, OpAsmSetValueNameFn setName) {
  static constexpr StringLiteral names[] = {"s", "b", "h", "i", "j"};
  for (auto [argument, name] : llvm::zip(region.getArguments(), ArrayRef(names).drop_front(isScore ? 0 : 1)))
    setName(argument, name);
}

//===----------------------------------------------------------------------===//
// Shared checks
//===----------------------------------------------------------------------===//

Type fa::detail::accumulatorTypeFor(Type elementType) {
  return elementType.isF64() ? elementType : Float32Type::get(elementType.getContext());
}

LogicalResult fa::detail::verifyScale(Operation *op, FloatAttr scale, Value dynamicScale, Type scoreType) {
  if (scale && dynamicScale)
    return op->emitOpError("(C9) expected a static or a dynamic scale, but got both");
  if (scale && !std::isfinite(scale.getValueAsDouble()))
    return op->emitOpError("(C9) expected a finite scale, but got ") << scale.getValueAsDouble();
  if (dynamicScale && dynamicScale.getType() != scoreType)
    return op->emitOpError("(C9) expected a dynamic scale of type ")
           << scoreType << ", but got " << dynamicScale.getType();
  return success();
}

static LogicalResult verifyScalarRegion(Operation *op, Region &region, StringRef what, StringRef label,
                                        ArrayRef<Type> arguments, Type result) {
  if (region.empty())
    return success();
  if (!region.hasOneBlock())
    return op->emitOpError() << label << " expected the " << what << " region to have one block";
  if (TypeRange(region.getArgumentTypes()) != TypeRange(arguments))
    return op->emitOpError() << label << " expected the " << what << " region to take (" << arguments << "), but got ("
                             << region.getArgumentTypes() << ")";
  auto yield = dyn_cast_or_null<YieldOp>(region.front().empty() ? nullptr : &region.front().back());
  if (!yield)
    return op->emitOpError() << label << " expected the " << what << " region to end with fa.yield";
  if (yield.getValue().getType() != result) {
    InFlightDiagnostic diag = op->emitOpError() << label << " expected the " << what << " region to yield " << result
                                                << ", but got " << yield.getValue().getType();
    diag.attachNote(yield.getLoc()) << "yielded here";
    return diag;
  }
  if (Operation *effect = findSideEffect(region)) {
    InFlightDiagnostic diag = op->emitOpError()
                              << "(C12) expected operations of the " << what
                              << " region to be pure or to only read memory, but got '" << effect->getName() << "'";
    diag.attachNote(effect->getLoc()) << "this operation";
    return diag;
  }
  return success();
}

LogicalResult fa::detail::verifyScalarRegions(Operation *op, Region &score, Region &mask, Type scoreType) {
  Type index = IndexType::get(op->getContext());
  Type i1 = IntegerType::get(op->getContext(), 1);
  if (failed(verifyScalarRegion(op, score, "score", "(C10)", {scoreType, index, index, index, index}, scoreType)))
    return failure();
  return verifyScalarRegion(op, mask, "mask", "(C11)", {index, index, index, index}, i1);
}

#define GET_OP_CLASSES
#include "fa/Dialect/FA/IR/FAOps.cpp.inc"
