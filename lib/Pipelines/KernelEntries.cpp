// fa-request-c-interface and fa-emit-packed-entries: what joins lowered functions to the runtime's calls.
#include "fa/Dialect/FA/IR/FA.h"
#include "fa/Pipelines/CPU.h"
#include "fa/Target/CPU/PackedEntry.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;

namespace {
class RequestCInterface : public PassWrapper<RequestCInterface, OperationPass<ModuleOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(RequestCInterface)
  StringRef getArgument() const override { return "fa-request-c-interface"; }
  StringRef getDescription() const override {
    return "Ask for the C interface of every public function with a body, and of kernels";
  }

  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isDeclaration() && (!function.isPrivate() || function->hasAttr(fa::kernelAttrName)))
        function->setAttr(LLVM::LLVMDialect::getEmitCWrapperAttrName(), UnitAttr::get(&getContext()));
  }
};

class EmitPackedEntries : public PassWrapper<EmitPackedEntries, OperationPass<ModuleOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(EmitPackedEntries)
  StringRef getArgument() const override { return "fa-emit-packed-entries"; }
  StringRef getDescription() const override {
    return "Add the packed entry of every kernel in the llvm dialect; refuse what is not lowered";
  }

  void runOnOperation() override {
    WalkResult left = getOperation().walk([](Operation *op) {
      if (!isa_and_nonnull<fa::FADialect>(op->getDialect()))
        return WalkResult::advance();
      op->emitError("expected tiles and kernels only, but got '")
          << op->getName() << "'; run fa-kernels-pipeline or fa-lower-naive first";
      return WalkResult::interrupt();
    });
    if (left.wasInterrupted())
      return signalPassFailure();
    SmallVector<std::string> kernels;
    for (auto function : getOperation().getOps<LLVM::LLVMFuncOp>())
      if (function->hasAttr(fa::kernelAttrName) && !function.getSymName().starts_with("_mlir_ciface_"))
        kernels.push_back(function.getSymName().str());
    for (const std::string &kernel : kernels)
      if (failed(fa::emitPackedEntry(getOperation(), kernel)))
        return signalPassFailure();
  }
};
} // namespace

std::unique_ptr<Pass> fa::createRequestCInterfacePass() { return std::make_unique<RequestCInterface>(); }
std::unique_ptr<Pass> fa::createEmitPackedEntriesPass() { return std::make_unique<EmitPackedEntries>(); }
