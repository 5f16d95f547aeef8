// The fa dialect: attention at every level from its definition to tiles. Reference: docs/Dialects/FADialect.md.
#pragma once
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include <optional>

#include "fa/Dialect/FA/IR/FADialect.h.inc"
#include "fa/Dialect/FA/IR/FAEnums.h.inc"

#include "fa/Dialect/FA/IR/FAAttrInterfaces.h.inc"

#define GET_ATTRDEF_CLASSES
#include "fa/Dialect/FA/IR/FAAttrs.h.inc"

#define GET_TYPEDEF_CLASSES
#include "fa/Dialect/FA/IR/FATypes.h.inc"

#define GET_OP_CLASSES
#include "fa/Dialect/FA/IR/FAOps.h.inc"

namespace mlir::fa {
/// Marks a function as a kernel over a grid; its first argument is the block number.
inline constexpr llvm::StringLiteral kernelAttrName = "fa.kernel";
/// The schedule of a tiled loop and of the kernel made from it.
inline constexpr llvm::StringLiteral scheduleAttrName = "fa.schedule";
/// Names a function argument in launch descriptors, reports and npy files (`q`, `k`, `bias`, ...).
inline constexpr llvm::StringLiteral nameAttrName = "fa.name";
} // namespace mlir::fa
