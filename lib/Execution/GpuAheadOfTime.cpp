// PTX, LLVM IR, cubins and packages for sm_90a.
#include "Delivery.h"
#include "fa/Target/PTX/EmitPTX.h"
#include "mlir/IR/Location.h"

namespace fa::execution {
namespace {

class GpuAheadOfTime {
public:
  GpuAheadOfTime(const Program &program, const AheadOfTimeOptions &options, Delivery &delivery, CompileReport &report)
      : program(program), options(options), delivery(delivery), report(report) {}

  Status run() {
    std::string dumped;
    Expected<std::vector<GpuKernel>> compiled =
        compileForGpu(program, dumpingStage(options, dumped), report, /*keepLLVM=*/options.emit == "llvm");
    if (!compiled)
      return compiled.error();
    kernels = std::move(*compiled);
    for (const std::string &remark : report.remarks)
      delivery.say(remark);
    return options.emit == "mlir"      ? deliverStage(options, dumped, delivery)
           : options.emit == "package" ? package()
           : options.emit == "cubin"   ? cubins()
                                       : delivery.text(join());
  }

private:
  const Program &program;
  const AheadOfTimeOptions &options;
  Delivery &delivery;
  CompileReport &report;
  std::vector<GpuKernel> kernels;

  std::string join() const {
    std::string text;
    for (const GpuKernel &kernel : kernels)
      text += options.emit == "llvm" ? kernel.llvm : kernel.ptx;
    return text;
  }

  /// Empty without ptxas, which is no error for a package.
  Expected<std::string> assemble(const GpuKernel &kernel) {
    if (options.ptxas == "none")
      return std::string();
    const std::optional<std::string> ptxas = mlir::fa::findPtxas(options.ptxas);
    if (!ptxas)
      return std::string();
    DiagnosticText diagnostics(program.context());
    const mlir::Location loc = program.function().getLoc();
    mlir::FailureOr<mlir::fa::PtxasResult> assembled = mlir::fa::assemble(loc, kernel.ptx, *ptxas);
    if (mlir::failed(assembled))
      return makeError(diagnostics.errors("ptxas failed"));
    mlir::fa::diagnose(loc, *assembled, report.schedule);
    for (const std::string &warning : diagnostics.remarks())
      delivery.say(warning);
    return std::move(assembled->cubin);
  }

  Status cubins() {
    if (kernels.size() != 1)
      return makeError("expected one kernel for --emit=cubin, but got " + std::to_string(kernels.size()) +
                       "; use --emit=package");
    Expected<std::string> cubin = assemble(kernels[0]);
    if (!cubin)
      return cubin.error();
    if (cubin->empty())
      return makeError("expected ptxas for --emit=cubin, but found none on PATH or in CUDA_HOME; use --ptxas=FILE");
    return delivery.file(options.output, *cubin);
  }

  Status package() {
    if (Status status = delivery.beginPackage(); !status)
      return status;
    std::vector<std::string> names;
    for (const GpuKernel &kernel : kernels) {
      const std::string base = delivery.pathOf(kernel.descriptor.entry);
      Expected<std::string> cubin = assemble(kernel);
      if (!cubin)
        return cubin.error();
      if (cubin->empty() && options.ptxas != "none")
        delivery.say("remark: no ptxas was found: the package holds PTX only, which the driver compiles at load");
      Status status = delivery.file(base + ".ptx", kernel.ptx);
      if (status)
        status = delivery.file(base + ".json", kernel.descriptor.toJson());
      if (status && !cubin->empty())
        status = delivery.file(base + ".cubin", *cubin);
      if (!status)
        return status;
      names.push_back(kernel.descriptor.entry);
    }
    return delivery.endPackage(program, names);
  }
};
} // namespace

Status compileGpuAheadOfTime(const Program &program, const AheadOfTimeOptions &options, Delivery &delivery,
                             CompileReport &report) {
  return GpuAheadOfTime(program, options, delivery, report).run();
}

} // namespace fa::execution
