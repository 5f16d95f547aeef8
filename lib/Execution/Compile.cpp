// Chooses device and lowering, and compiles for the CPU.
#include "fa/Execution/Compile.h"
#include "CachedCode.h"
#include "CpuCode.h"
#include "Pipeline.h"
#include "TileCensus.h"
#include "fa/Execution/GpuCode.h"
#include "fa/Runtime/CUDA/CudaDriver.h"

namespace fa::execution {
namespace {

class CpuAttention final : public CompiledAttention {
public:
  static Expected<std::unique_ptr<CompiledAttention>> compile(const Program &program, const CompileOptions &options) {
    auto result = std::make_unique<CpuAttention>();
    CompileReport &report = result->compileReport;
    report.target = "cpu";
    if (!options.cpu.empty()) {
      Expected<CpuTarget> target = CpuTarget::findExecutable(program.context(), options.cpu);
      if (!target)
        return target.error();
      result->vectorBits = target->vectorBits;
    }
    report.lowering = options.lowering;
    CodeCache cache(program, options);
    Status status = result->restore(cache, program, options);
    if (status && !result->code) {
      status = result->build(program, options);
      if (status)
        cache.store({report, *result->code});
    }
    if (!status)
      return status.error();
    report.cache = cache.outcome();
    report.kernels = result->code->kernels();
    report.device = result->code->driver().describe();
    return std::unique_ptr<CompiledAttention>(std::move(result));
  }

  runtime::Driver &driver() override { return code->driver(); }
  Expected<double> run(const runtime::Bindings &bindings) override { return code->run(bindings); }

private:
  std::unique_ptr<CpuCode> code;
  int64_t vectorBits = 0; ///< of the CPU in the options; 0: this machine

  /// Leaves `code` null when the cache does not have it.
  Status restore(CodeCache &cache, const Program &program, const CompileOptions &options) {
    if (!cache.isOpen())
      return Status::success();
    const CompileOptions noDump; // there is no IR to dump
    StageRunner runner(program.module(), noDump, compileReport);
    std::optional<CachedCode> found = cache.load();
    if (!found)
      return Status::success();
    found->fill(compileReport);
    if (options.census && options.lowering != "naive")
      if (Status status = takeCensusAgain(program, options); !status)
        return status;
    return runner.run("load", [&]() -> Status {
      Expected<std::unique_ptr<CpuCode>> loaded = CpuCode::load(std::move(found->code), options.threads);
      if (!loaded)
        return loaded.error();
      code = std::move(*loaded);
      return Status::success();
    });
  }

  /// The cache has no census: it is compiled from the kernels again, outside of the report.
  Status takeCensusAgain(const Program &program, const CompileOptions &options) {
    CompileOptions quiet = options;
    quiet.dump.clear();
    CompileReport ignored;
    mlir::OwningOpRef<mlir::ModuleOp> module = program.module().clone();
    StageRunner runner(*module, quiet, ignored);
    if (Status status = runner.runKernelStages("cpu", vectorBits); !status)
      return status;
    return takeCensus(*module, program, options);
  }

  Status build(const Program &program, const CompileOptions &options) {
    mlir::OwningOpRef<mlir::ModuleOp> module = program.module().clone();
    StageRunner runner(*module, options, compileReport);
    runner.dump("input");
    if (options.lowering != "naive")
      if (Status status = runner.runKernelStages("cpu", vectorBits); !status)
        return status;
    if (options.census && options.lowering != "naive")
      if (Status status = takeCensus(*module, program, options); !status)
        return status;
    Expected<std::unique_ptr<CpuCode>> built =
        CpuCode::build(*module, program.function().getName().str(), program.arguments(), options.lowering,
                       options.threads, runner, options.cpu);
    if (!built)
      return built.error();
    code = std::move(*built);
    return Status::success();
  }
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

/// False if a flag says something that CPUs alone understand.
bool isForAnyDevice(const CompileOptions &options) {
  return options.lowering == "auto" && options.order != "key_outer" && options.threads == 0 && options.cpu.empty() &&
         options.schedule.find("#fa.cpu") == std::string::npos;
}

/// Fails with the reason why there is no GPU, or why it cannot run this attention.
Expected<std::unique_ptr<CompiledAttention>> compileForPresentGpu(const Program &program, CompileOptions options,
                                                                  std::string &reason) {
  Expected<std::unique_ptr<runtime::Driver>> device = runtime::createCudaDriver();
  if (!device) {
    reason = "auto: no CUDA device";
    return device.error();
  }
  options.device = "cuda";
  Expected<std::unique_ptr<CompiledAttention>> compiled = compileForDevice(program, options);
  if (compiled)
    (*compiled)->noteDeviceChoice("auto: a CUDA device is present");
  else
    reason = "auto: not cuda, which said: " + compiled.message();
  return compiled;
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
  if (chosen.device == "emulator" || chosen.device == "cuda")
    return compileForDevice(program, chosen);
  if (chosen.device != "cpu" && chosen.device != "auto")
    return makeError("expected --device auto, cpu, cuda or emulator, but got '" + options.device + "'");
  std::string reason;
  if (chosen.device == "auto" && chosen.autoMayUseGpu && isForAnyDevice(chosen)) {
    Expected<std::unique_ptr<CompiledAttention>> gpu = compileForPresentGpu(program, chosen, reason);
    if (gpu)
      return gpu;
  }
  chosen.device = "cpu";
  Expected<std::unique_ptr<CompiledAttention>> cpu = compileForCpu(program, chosen);
  if (cpu)
    (*cpu)->noteDeviceChoice(reason);
  return cpu;
}

} // namespace fa::execution
