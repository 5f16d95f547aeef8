// gpu.module in the llvm dialect -> LLVM IR -> PTX, in process.
#include "fa/Target/PTX/EmitPTX.h"
#include "mlir/Target/LLVMIR/Dialect/All.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Target/TargetOptions.h"
#include <mutex>

using namespace mlir;
using namespace mlir::fa;

static void initializeNvptx() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
    // Shared memory fits 32 bits; the switch is global to the code generator and affects NVPTX alone.
    auto &options = llvm::cl::getRegisteredOptions();
    if (auto shortPointers = options.find("nvptx-short-ptr"); shortPointers != options.end())
      static_cast<llvm::cl::opt<bool> *>(shortPointers->second)->setValue(true);
  });
}

static FailureOr<std::unique_ptr<llvm::Module>> translate(gpu::GPUModuleOp module, llvm::LLVMContext &context) {
  MLIRContext *mlirContext = module.getContext();
  DialectRegistry registry;
  registerAllGPUToLLVMIRTranslations(registry);
  mlirContext->appendDialectRegistry(registry);
  std::unique_ptr<llvm::Module> translated = translateModuleToLLVMIR(module, context, module.getName());
  if (!translated)
    return module.emitError("expected a module that LLVM IR can express, but the translation failed");
  return translated;
}

FailureOr<std::string> fa::emitLLVM(gpu::GPUModuleOp module) {
  llvm::LLVMContext context;
  FailureOr<std::unique_ptr<llvm::Module>> translated = translate(module, context);
  if (failed(translated))
    return failure();
  std::string text;
  llvm::raw_string_ostream os(text);
  os << **translated;
  return text;
}

FailureOr<std::string> fa::emitPtx(gpu::GPUModuleOp module, const PtxOptions &options) {
  initializeNvptx();
  llvm::LLVMContext context;
  FailureOr<std::unique_ptr<llvm::Module>> translated = translate(module, context);
  if (failed(translated))
    return failure();
  llvm::Triple triple("nvptx64-nvidia-cuda");
  std::string error;
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target)
    return module.emitError("expected an LLVM with the NVPTX target, but got: ") << error;
  std::unique_ptr<llvm::TargetMachine> machine(
      target->createTargetMachine(triple, options.chip, options.features, llvm::TargetOptions(), std::nullopt,
                                  std::nullopt, llvm::CodeGenOptLevel::Default));
  (*translated)->setTargetTriple(triple);
  (*translated)->setDataLayout(machine->createDataLayout());
  llvm::SmallString<0> text;
  llvm::raw_svector_ostream os(text);
  llvm::legacy::PassManager passes;
  if (machine->addPassesToEmitFile(passes, os, nullptr, llvm::CodeGenFileType::AssemblyFile))
    return module.emitError("expected a code generator that emits PTX text");
  passes.run(**translated);
  return std::string(text.str());
}
