// IR in; IR, PTX, cubin or a package out.
#include "fa/Execution/AheadOfTime.h"
#include "Pipeline.h"
#include "fa/Support/File.h"
#include "fa/Target/PTX/EmitPTX.h"
#include "mlir/IR/Location.h"
#include <algorithm>
#include <filesystem>
#include <system_error>

namespace fa::execution {
namespace {

class AheadOfTime {
public:
  AheadOfTime(const Program &program, const AheadOfTimeOptions &options) : program(program), options(options) {}

  Expected<AheadOfTimeResult> run() {
    if (Status status = check(); !status)
      return status.error();
    CompileOptions compile = options.compile;
    std::string dumped;
    if (options.emit == "mlir") {
      compile.dump = {options.stage};
      compile.onDump = [&](const std::string &, const std::string &ir) { dumped = ir; };
    }
    Expected<std::vector<GpuKernel>> compiled =
        compileForGpu(program, compile, result.report, /*keepLLVM=*/options.emit == "llvm");
    if (!compiled)
      return compiled.error();
    kernels = std::move(*compiled);
    for (const std::string &remark : result.report.remarks)
      result.messages.push_back(remark);
    Status status = options.emit == "mlir"      ? deliver(dumped)
                    : options.emit == "package" ? package()
                    : options.emit == "cubin"   ? cubins()
                                                : deliver(join());
    if (!status)
      return status.error();
    return std::move(result);
  }

private:
  const Program &program;
  const AheadOfTimeOptions &options;
  std::vector<GpuKernel> kernels;
  AheadOfTimeResult result;

  Status check() {
    if (options.target != "sm_90a")
      return makeError("expected target sm_90a, but got '" + options.target + "'");
    const auto forms = {"mlir", "llvm", "ptx", "cubin", "package"};
    if (std::find(forms.begin(), forms.end(), options.emit) == forms.end())
      return makeError("expected --emit=mlir, llvm, ptx, cubin or package, but got '" + options.emit + "'");
    if ((options.emit == "cubin" || options.emit == "package") && options.output.empty())
      return makeError("expected -o with --emit=" + options.emit + ": it is not text");
    const std::vector<StageInfo> stages = allStages();
    if (options.emit == "mlir" &&
        std::none_of(stages.begin(), stages.end(), [&](const StageInfo &info) { return info.name == options.stage; }))
      return makeError("expected the name of a stage, but got '" + options.stage + "'");
    return Status::success();
  }

  std::string join() const {
    std::string text;
    for (const GpuKernel &kernel : kernels)
      text += options.emit == "llvm" ? kernel.llvm : kernel.ptx;
    return text;
  }

  Status deliver(const std::string &text) {
    if (text.empty())
      return makeError("expected a stage of target " + options.target + ", but '" + options.stage + "' is none");
    if (options.output.empty()) {
      result.text = text;
      return Status::success();
    }
    return write(options.output, text);
  }

  Status write(const std::string &path, const std::string &contents) {
    if (Status status = writeFileAtomically(path, {contents}); !status)
      return status;
    result.files.push_back(path);
    return Status::success();
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
    mlir::fa::diagnose(loc, *assembled, result.report.schedule);
    for (const std::string &warning : diagnostics.remarks())
      result.messages.push_back(warning);
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
    return write(options.output, *cubin);
  }

  Status package() {
    std::error_code error;
    std::filesystem::create_directories(options.output, error);
    if (error)
      return makeError("expected to create the folder '" + options.output + "', but got: " + error.message());
    std::string list;
    for (const GpuKernel &kernel : kernels) {
      const std::string base = options.output + "/" + kernel.descriptor.entry;
      Expected<std::string> cubin = assemble(kernel);
      if (!cubin)
        return cubin.error();
      if (cubin->empty() && options.ptxas != "none")
        result.messages.push_back(
            "remark: no ptxas was found: the package holds PTX only, which the driver compiles at load");
      Status status = write(base + ".ptx", kernel.ptx);
      if (status)
        status = write(base + ".json", kernel.descriptor.toJson());
      if (status && !cubin->empty())
        status = write(base + ".cubin", *cubin);
      if (!status)
        return status;
      list += kernel.descriptor.entry + "\n";
    }
    if (Status status = write(options.output + "/signature.json", program.signature().toJson()); !status)
      return status;
    return write(options.output + "/launches.txt", list);
  }
};
} // namespace

Expected<AheadOfTimeResult> compileAheadOfTime(const Program &program, const AheadOfTimeOptions &options) {
  return AheadOfTime(program, options).run();
}

} // namespace fa::execution
