// LLVM dialect -> LLVM IR -> object, by the code generator alone: the kernels reach this point already blocked and
// scheduled, and LLVM's IR pipeline costs time without making them faster.
#include "fa/Target/CPU/CompileToObject.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/Analysis/TargetTransformInfo.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Target/TargetOptions.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/SubtargetFeature.h"
#include "llvm/Transforms/Scalar.h"
#include <mutex>

using namespace mlir;
using namespace mlir::fa;

namespace {

/// Triple, CPU and features with every default filled in.
struct ResolvedTarget {
  const llvm::Target *target = nullptr;
  llvm::Triple triple;
  std::string cpu;
  std::string features;
};

void initializeHostTarget() {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
  });
}

void initializeEveryTarget() {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::InitializeAllTargetInfos();
    llvm::InitializeAllTargets();
    llvm::InitializeAllTargetMCs();
    llvm::InitializeAllAsmPrinters();
  });
}

std::string hostFeatures() {
  llvm::SubtargetFeatures features;
  for (const auto &feature : llvm::sys::getHostCPUFeatures())
    features.AddFeature(feature.first(), feature.second);
  return features.getString();
}

/// LLVM only warns about a CPU or feature it does not know, on stderr; here it is an error.
LogicalResult checkNames(Location loc, const ResolvedTarget &resolved, llvm::StringRef userFeatures) {
  std::unique_ptr<llvm::MCSubtargetInfo> info(resolved.target->createMCSubtargetInfo(resolved.triple, "", ""));
  if (!info)
    return emitError(loc) << "expected a triple with a code generator, but got '" << resolved.triple.str() << "'";
  if (!resolved.cpu.empty() && !info->isCPUStringValid(resolved.cpu))
    return emitError(loc) << "expected a CPU of " << resolved.triple.getArchName() << ", but got '" << resolved.cpu
                          << "' (clang --target=" << resolved.triple.str() << " -mcpu=help lists them)";
  llvm::SubtargetFeatures features(userFeatures);
  for (const std::string &feature : features.getFeatures()) {
    llvm::StringRef name = llvm::SubtargetFeatures::StripFlag(feature);
    bool known = llvm::any_of(info->getAllProcessorFeatures(), [&](const auto &entry) { return entry.Key == name; });
    if (!llvm::SubtargetFeatures::hasFlag(feature) || !known)
      return emitError(loc) << "expected features such as '+avx2,-fma', but got '" << feature << "'";
  }
  return success();
}

FailureOr<ResolvedTarget> resolve(Location loc, const CpuOptions &options) {
  ResolvedTarget resolved;
  bool hostCpu = options.cpu.empty() || options.cpu == "native";
  llvm::Triple host(llvm::sys::getProcessTriple());
  resolved.triple = options.triple.empty() ? host : llvm::Triple(llvm::Triple::normalize(options.triple));
  bool hostArch = resolved.triple.getArch() == host.getArch();
  if (hostArch)
    initializeHostTarget();
  else
    initializeEveryTarget();
  std::string message;
  resolved.target = llvm::TargetRegistry::lookupTarget(resolved.triple, message);
  if (!resolved.target)
    return emitError(loc) << "expected a target triple of this LLVM, but got '" << resolved.triple.str() << "'";
  if (hostCpu && hostArch) {
    resolved.cpu = llvm::sys::getHostCPUName().str();
    resolved.features = hostFeatures();
  } else if (options.cpu == "native") {
    return emitError(loc) << "expected the name of a CPU for triple '" << resolved.triple.str()
                          << "', but got 'native'";
  } else {
    resolved.cpu = options.cpu;
  }
  if (failed(checkNames(loc, resolved, options.features)))
    return failure();
  if (!options.features.empty())
    resolved.features += (resolved.features.empty() ? "" : ",") + options.features;
  return resolved;
}

void runIrPipeline(llvm::Module &module, llvm::TargetMachine &machine, unsigned level) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager sccs;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(&machine);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(sccs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, sccs, modules);
  auto optimization = level == 1   ? llvm::OptimizationLevel::O1
                      : level == 2 ? llvm::OptimizationLevel::O2
                                   : llvm::OptimizationLevel::O3;
  builder.buildPerModuleDefaultPipeline(optimization).run(module, modules);
}

} // namespace

FailureOr<std::unique_ptr<llvm::TargetMachine>> mlir::fa::createTargetMachine(Location loc, const CpuOptions &options) {
  if (options.codegenLevel > 3 || options.irLevel > 3)
    return emitError(loc) << "expected optimization levels from 0 to 3, but got " << options.codegenLevel << " and "
                          << options.irLevel;
  FailureOr<ResolvedTarget> resolved = resolve(loc, options);
  if (failed(resolved))
    return failure();
  std::unique_ptr<llvm::TargetMachine> machine(resolved->target->createTargetMachine(
      resolved->triple, resolved->cpu, resolved->features, llvm::TargetOptions(), llvm::Reloc::PIC_, std::nullopt,
      static_cast<llvm::CodeGenOptLevel>(options.codegenLevel)));
  if (!machine)
    return emitError(loc) << "expected a triple with a code generator, but got '" << resolved->triple.str() << "'";
  return machine;
}

FailureOr<llvm::SmallVector<std::string>> mlir::fa::enabledFeatures(Location loc, const CpuOptions &options) {
  FailureOr<ResolvedTarget> resolved = resolve(loc, options);
  if (failed(resolved))
    return failure();
  std::unique_ptr<llvm::MCSubtargetInfo> info(
      resolved->target->createMCSubtargetInfo(resolved->triple, resolved->cpu, resolved->features));
  llvm::SmallVector<std::string> names;
  for (const llvm::SubtargetFeatureKV &feature : info->getEnabledProcessorFeatures())
    names.push_back(feature.Key);
  llvm::sort(names);
  return names;
}

FailureOr<llvm::SmallVector<char, 0>> mlir::fa::emitCpuCode(ModuleOp module, const CpuOptions &options,
                                                            CpuCodeForm form) {
  FailureOr<std::unique_ptr<llvm::TargetMachine>> machine = createTargetMachine(module.getLoc(), options);
  if (failed(machine))
    return failure();
  DialectRegistry registry;
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  module.getContext()->appendDialectRegistry(registry);
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> llvmModule = translateModuleToLLVMIR(module, context);
  if (!llvmModule)
    return failure();
  llvmModule->setTargetTriple((*machine)->getTargetTriple());
  llvmModule->setDataLayout((*machine)->createDataLayout());
  if (options.irLevel > 0)
    runIrPipeline(*llvmModule, **machine, options.irLevel);
  llvm::SmallVector<char, 0> code;
  llvm::raw_svector_ostream stream(code);
  if (form == CpuCodeForm::LLVM) {
    stream << *llvmModule;
    return code;
  }
  llvm::legacy::PassManager passes;
  passes.add(llvm::createTargetTransformInfoWrapperPass((*machine)->getTargetIRAnalysis()));
  // Every access to a memref takes its descriptor apart again: a fifth of the instructions. This pass pays for itself.
  passes.add(llvm::createEarlyCSEPass());
  auto type = form == CpuCodeForm::Object ? llvm::CodeGenFileType::ObjectFile : llvm::CodeGenFileType::AssemblyFile;
  if ((*machine)->addPassesToEmitFile(passes, stream, nullptr, type))
    return module.emitError() << "expected a target that writes object files and assembly, but got '"
                              << (*machine)->getTargetTriple().str() << "'";
  passes.run(*llvmModule);
  return code;
}

FailureOr<llvm::SmallVector<char, 0>> mlir::fa::compileToObject(ModuleOp module, const CpuOptions &options) {
  return emitCpuCode(module, options, CpuCodeForm::Object);
}
