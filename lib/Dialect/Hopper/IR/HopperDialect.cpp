// Registration of the hopper dialect.
#include "fa/Dialect/Hopper/IR/Hopper.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::fa::hopper;

#include "fa/Dialect/Hopper/IR/HopperDialect.cpp.inc"
#include "fa/Dialect/Hopper/IR/HopperEnums.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "fa/Dialect/Hopper/IR/HopperTypes.cpp.inc"

void HopperDialect::initialize() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "fa/Dialect/Hopper/IR/HopperTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "fa/Dialect/Hopper/IR/HopperOps.cpp.inc"
      >();
}
