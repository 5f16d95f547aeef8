// LLVM IR, assembly, objects and packages for a CPU, which need not be this one.
#include "CpuImage.h"
#include "Delivery.h"
#include "fa/Runtime/CPU/HostCpu.h"
#include "fa/Support/File.h"
#include "fa/Target/CPU/FindCpu.h"
#include "fa/Target/CPU/PackedEntry.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include <filesystem>
#include <unistd.h>

namespace fa::execution {
namespace {

/// Features that compilers use on their own and that the runtime cannot check.
constexpr const char *uncheckable[] = {"avx10.1", "avx10.2", "ccmp",      "cf",  "egpr",
                                       "ndd",     "nf",      "push2pop2", "ppx", "zu"};

std::string toText(const llvm::SmallVector<char, 0> &code) { return {code.begin(), code.end()}; }

class CpuAheadOfTime {
public:
  CpuAheadOfTime(const Program &program, const AheadOfTimeOptions &options, Delivery &delivery, CompileReport &report)
      : program(program), options(options), delivery(delivery), report(report) {}

  Status run() {
    Expected<CpuTarget> found = CpuTarget::find(program.context(), options.cpu);
    if (!found)
      return found.error();
    target = std::move(*found);
    if (options.emit == "package")
      if (Status status = require(); !status)
        return status;
    if (Status status = lower(); !status)
      return status;
    for (const std::string &remark : report.remarks)
      delivery.say(remark);
    if (options.emit == "mlir")
      return deliverStage(options, dumped, delivery);
    if (options.emit == "package")
      return package();
    const auto form = options.emit == "llvm"  ? mlir::fa::CpuCodeForm::LLVM
                      : options.emit == "asm" ? mlir::fa::CpuCodeForm::Assembly
                                              : mlir::fa::CpuCodeForm::Object;
    Expected<llvm::SmallVector<char, 0>> code = emit(*module, form);
    return code ? delivery.text(toText(*code)) : Status(code.error());
  }

private:
  const Program &program;
  const AheadOfTimeOptions &options;
  Delivery &delivery;
  CompileReport &report;
  CpuTarget target;
  CpuRequirement requirement;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  CodeImage image;
  std::string dumped;

  /// What the runtime has to check before it executes a package.
  Status require() {
    DiagnosticText diagnostics(program.context());
    const mlir::Location loc = mlir::UnknownLoc::get(&program.context());
    mlir::FailureOr<std::string> architecture = mlir::fa::architectureOf(loc, target.options);
    mlir::FailureOr<llvm::SmallVector<std::string>> features = mlir::fa::enabledFeatures(loc, target.options);
    if (mlir::failed(architecture) || mlir::failed(features))
      return makeError(diagnostics.errors("expected a CPU that LLVM knows"));
    requirement.architecture = *architecture;
    if (*architecture != "x86_64") {
      if (target.options.cpu == "generic")
        return Status::success();
      return makeError("expected --cpu=" + *architecture + " with --emit=package for this architecture, but got '" +
                       options.cpu + "', whose features the runtime cannot check; or use --emit=object");
    }
    std::string unknown;
    for (const std::string &feature : *features) {
      if (llvm::is_contained(uncheckable, feature))
        unknown += (unknown.empty() ? "" : ", ") + feature;
      if (llvm::is_contained(runtime::checkableFeatures(), feature))
        requirement.features.push_back(feature);
    }
    if (!unknown.empty())
      return makeError("expected a CPU whose features the runtime can check with --emit=package, but got '" +
                       options.cpu + "', which has " + unknown +
                       "; use --cpu=graniterapids or another that lacks them");
    return Status::success();
  }

  /// Vector code, or plain loops with the reason.
  Status lower() {
    if (options.compile.lowering != "auto")
      return lowerWith(options.compile.lowering);
    Status fast = lowerWith("vector");
    if (fast)
      return fast;
    report = {};
    dumped.clear();
    Status portable = lowerWith("loops");
    if (portable)
      delivery.say("remark: plain loops, because vector code said: " + fast.message());
    return portable;
  }

  Status lowerWith(const std::string &lowering) {
    report.target = "cpu";
    report.lowering = lowering;
    CompileOptions compile = dumpingStage(options, dumped);
    compile.splitKeys = false; // packages hold launches only
    module = program.module().clone();
    StageRunner runner(*module, compile, report);
    runner.dump("input");
    if (Status status = runner.runKernelStages("cpu", target.vectorBits); !status)
      return status;
    Expected<CodeImage> lowered = lowerForCpu(*module, program.function().getName().str(), program.arguments(),
                                              lowering, target, HostFunctions::Refuse, runner);
    if (!lowered)
      return lowered.error();
    image = std::move(*lowered);
    report.kernels = image.kernels;
    return Status::success();
  }

  Expected<llvm::SmallVector<char, 0>> emit(mlir::ModuleOp part, mlir::fa::CpuCodeForm form) {
    StageRunner runner(part, options.compile, report);
    llvm::SmallVector<char, 0> code;
    Status status = runner.run("machine code", [&]() -> Status {
      Expected<llvm::SmallVector<char, 0>> emitted = emitForCpu(part, report.lowering, target, form);
      if (!emitted)
        return emitted.error();
      code = std::move(*emitted);
      return Status::success();
    });
    if (!status)
      return status.error();
    return code;
  }

  /// A copy of the module without what only other kernels use.
  Expected<mlir::OwningOpRef<mlir::ModuleOp>> isolate(const std::string &kernel) {
    mlir::OwningOpRef<mlir::ModuleOp> part = module->clone();
    for (auto function : part->getOps<mlir::LLVM::LLVMFuncOp>())
      if (function.getSymName() != mlir::fa::packedEntryName(kernel))
        mlir::SymbolTable::setSymbolVisibility(function, mlir::SymbolTable::Visibility::Private);
    mlir::PassManager manager(part->getContext());
    manager.addPass(mlir::createSymbolDCEPass());
    if (mlir::failed(manager.run(*part)))
      return makeError("expected a module of functions");
    return part;
  }

  Status package() {
    if (Status status = delivery.beginPackage(); !status)
      return status;
    for (auto [launch, kernel] : llvm::zip_equal(image.launches, image.kernels)) {
      launch.cpu = requirement;
      Expected<mlir::OwningOpRef<mlir::ModuleOp>> part = isolate(kernel);
      if (!part)
        return part.error();
      Expected<llvm::SmallVector<char, 0>> object = emit(**part, mlir::fa::CpuCodeForm::Object);
      if (!object)
        return object.error();
      Status status = link(*object, delivery.pathOf(kernel) + ".so");
      if (status)
        status = delivery.file(delivery.pathOf(kernel) + ".json", launch.toJson());
      if (!status)
        return status;
    }
    return delivery.endPackage(program, image.kernels);
  }

  /// Under another name first: a process may have the old library mapped.
  Status link(const llvm::SmallVector<char, 0> &object, const std::string &path) {
    const std::string temporary = path + "." + std::to_string(::getpid());
    DiagnosticText diagnostics(program.context());
    const mlir::Location loc = program.function().getLoc();
    const bool linked = mlir::succeeded(mlir::fa::linkSharedObject(loc, object, temporary, target.options));
    std::error_code error;
    if (linked)
      std::filesystem::rename(temporary, path, error);
    if (linked && !error) {
      delivery.wrote(path);
      return Status::success();
    }
    std::error_code ignored;
    std::filesystem::remove(temporary, ignored);
    return makeError(linked ? "cannot write '" + path + "': " + error.message()
                            : diagnostics.errors("expected a linker that makes a shared object"));
  }
};
} // namespace

Status compileCpuAheadOfTime(const Program &program, const AheadOfTimeOptions &options, Delivery &delivery,
                             CompileReport &report) {
  return CpuAheadOfTime(program, options, delivery, report).run();
}

} // namespace fa::execution
