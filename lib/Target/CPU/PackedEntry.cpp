// Unpacks an argument array into the C interface of a lowered kernel. Memref arguments of the C interface are pointers
// to descriptors, so only scalars are loaded.
#include "fa/Target/CPU/PackedEntry.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace mlir::fa;

std::string mlir::fa::packedEntryName(llvm::StringRef kernel) { return "_fa_cpu_" + kernel.str(); }

LogicalResult mlir::fa::emitPackedEntry(ModuleOp module, llvm::StringRef kernel) {
  if (auto existing = module.lookupSymbol<LLVM::LLVMFuncOp>(packedEntryName(kernel))) {
    if (!existing.isExternal())
      return success();
    existing.erase(); // host code that launches the kernel declares its entry
  }
  auto interface = module.lookupSymbol<LLVM::LLVMFuncOp>("_mlir_ciface_" + kernel.str());
  if (!interface)
    return module.emitError() << "expected a kernel '" << kernel << "' with a C interface, but got none";
  LLVM::LLVMFunctionType type = interface.getFunctionType();
  if (type.getNumParams() == 0 || !type.getParamType(0).isInteger(64))
    return interface.emitError() << "expected a kernel whose first argument is the block id, but got " << type;
  if (!isa<LLVM::LLVMVoidType>(type.getReturnType()))
    return interface.emitError() << "expected a kernel without results, but got " << type.getReturnType();

  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  Location loc = interface.getLoc();
  Type i64 = builder.getI64Type();
  auto pointer = LLVM::LLVMPointerType::get(module.getContext());
  auto entryType = LLVM::LLVMFunctionType::get(type.getReturnType(), {i64, pointer});
  auto entry = LLVM::LLVMFuncOp::create(builder, loc, packedEntryName(kernel), entryType);
  Block *body = entry.addEntryBlock(builder);
  builder.setInsertionPointToStart(body);
  SmallVector<Value> operands{body->getArgument(0)};
  for (unsigned n = 1; n < type.getNumParams(); ++n) {
    Value slot = LLVM::GEPOp::create(builder, loc, pointer, pointer, body->getArgument(1),
                                     ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(n - 1)});
    Value address = LLVM::LoadOp::create(builder, loc, pointer, slot);
    Type parameter = type.getParamType(n);
    operands.push_back(isa<LLVM::LLVMPointerType>(parameter)
                           ? address
                           : Value(LLVM::LoadOp::create(builder, loc, parameter, address)));
  }
  LLVM::CallOp::create(builder, loc, interface, operands);
  LLVM::ReturnOp::create(builder, loc, ValueRange{});
  return success();
}
