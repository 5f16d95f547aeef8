// Chooses device and lowering, and compiles for the CPU.
#include "fa/Execution/Compile.h"
#include "fa/Execution/GpuCode.h"
#include "CpuCode.h"
#include "Pipeline.h"
#include "TileCensus.h"

namespace fa::execution {
namespace {

class CpuAttention final : public CompiledAttention {
public:
  static Expected<std::unique_ptr<CompiledAttention>> compile(const Program &program, const CompileOptions &options) {
    auto result = std::make_unique<CpuAttention>();
    CompileReport &report = result->compileReport;
    report.target = "cpu";
    report.lowering = options.lowering;
    mlir::OwningOpRef<mlir::ModuleOp> module = program.module().clone();
    StageRunner runner(*module, options, report);
    runner.dump("input");
    if (options.lowering != "naive")
      if (Status status = runner.runKernelStages("cpu"); !status)
        return status.error();
    if (options.census && options.lowering != "naive")
      if (Status status = result->takeCensus(*module, program, options); !status)
        return status.error();
    Expected<std::unique_ptr<CpuCode>> code = CpuCode::build(*module, program.function().getName().str(), program.arguments(),
                                                             options.lowering, options.threads, runner);
    if (!code)
      return code.error();
    result->code = std::move(*code);
    report.kernels = result->code->kernels();
    report.device = result->code->driver().describe();
    return std::unique_ptr<CompiledAttention>(std::move(result));
  }

  runtime::Driver &driver() override { return code->driver(); }
  Expected<double> run(const runtime::Bindings &bindings) override { return code->run(bindings); }

private:
  std::unique_ptr<CpuCode> code;
};

/// Vector code, or plain loops with the reason: said in the report, never silently.
Expected<std::unique_ptr<CompiledAttention>> compileForCpu(const Program &program, CompileOptions options) {
  if (options.lowering != "auto")
    return CpuAttention::compile(program, options);
  options.lowering = "vector";
  CompileOptions quiet = options;
  std::vector<std::pair<std::string, std::string>> dumps;
  quiet.onDump = [&](const std::string &stage, const std::string &ir) { dumps.emplace_back(stage, ir); };
  Expected<std::unique_ptr<CompiledAttention>> fast = CpuAttention::compile(program, quiet);
  if (fast) {
    (*fast)->noteChoice("auto: the fastest lowering that takes this attention");
    for (const auto &[stage, ir] : dumps)
      if (options.onDump)
        options.onDump(stage, ir);
    return fast;
  }
  options.lowering = "loops";
  Expected<std::unique_ptr<CompiledAttention>> portable = CpuAttention::compile(program, options);
  if (portable)
    (*portable)->noteChoice("auto: not vector, which said: " + fast.message());
  return portable;
}
} // namespace

CompiledAttention::CompiledAttention() = default;
CompiledAttention::~CompiledAttention() = default;

Status CompiledAttention::takeCensus(mlir::ModuleOp kernels, const Program &program, const CompileOptions &options) {
  Expected<std::unique_ptr<TileCensus>> compiled = TileCensus::compile(kernels, program, options.threads);
  if (!compiled)
    return compiled.error();
  census = std::move(*compiled);
  return Status::success();
}

Expected<std::optional<TileCounts>> CompiledAttention::countTiles(const runtime::Bindings &hostBindings) {
  if (!census)
    return std::optional<TileCounts>();
  Expected<TileCounts> counts = census->run(hostBindings);
  if (!counts)
    return counts.error();
  return std::optional(*counts);
}

Expected<std::unique_ptr<CompiledAttention>> compile(const Program &program, const CompileOptions &options) {
  CompileOptions chosen = options;
  if (chosen.device == "auto")
    chosen.device = "cpu";
  if (chosen.device == "emulator" || chosen.device == "cuda")
    return compileForDevice(program, chosen);
  if (chosen.device != "cpu")
    return makeError("expected --device auto, cpu, cuda or emulator, but got '" + options.device + "'");
  return compileForCpu(program, chosen);
}

} // namespace fa::execution
