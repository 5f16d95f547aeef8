// Bookkeeping of the scratch argument.
#include "fa/Dialect/FA/IR/KernelScratch.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

int64_t mlir::fa::getScratchBytes(Operation *kernel) {
  auto bytes = kernel->getAttrOfType<IntegerAttr>(scratchBytesAttrName);
  return bytes ? bytes.getInt() : 0;
}

int64_t mlir::fa::addScratchBytes(FunctionOpInterface kernel, int64_t bytes) {
  Builder builder(kernel->getContext());
  int64_t offset = llvm::alignTo(getScratchBytes(kernel), 64);
  if (!kernel->hasAttr(scratchBytesAttrName)) {
    auto type = MemRefType::get({ShapedType::kDynamic}, builder.getI8Type());
    (void)kernel.insertArgument(kernel.getNumArguments(), type, DictionaryAttr(), kernel->getLoc());
  }
  kernel->setAttr(scratchBytesAttrName, builder.getI64IntegerAttr(offset + bytes));
  return offset;
}
