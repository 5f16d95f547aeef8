// fa.launch: checks of the callee.
#include "fa/Dialect/FA/IR/FA.h"
#include "fa/Dialect/FA/IR/KernelScratch.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace mlir::fa;

LogicalResult LaunchOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto callee = symbols.lookupNearestSymbolFrom<FunctionOpInterface>(*this, getKernelAttr());
  if (!callee)
    return emitOpError("(C1) expected a kernel function, but '") << getKernel() << "' is not a function of this module";
  if (!callee->hasAttr(kernelAttrName))
    return emitOpError("(C1) expected a function marked '")
           << kernelAttrName << "', but '" << getKernel() << "' is not";
  SmallVector<Type> expected{IndexType::get(getContext())};
  llvm::append_range(expected, getArgs().getTypes());
  if (callee->hasAttr(scratchBytesAttrName))
    expected.push_back(MemRefType::get({ShapedType::kDynamic}, IntegerType::get(getContext(), 8)));
  if (TypeRange(callee.getArgumentTypes()) != TypeRange(expected)) {
    InFlightDiagnostic diag = emitOpError("(C1) expected a kernel that takes (") << expected << ")";
    diag.attachNote(callee.getLoc()) << "the kernel takes (" << callee.getArgumentTypes() << ")";
    return diag;
  }
  return success();
}
