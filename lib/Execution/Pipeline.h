// The stages of each pipeline as data, so that each can be timed, dumped and listed.
#pragma once
#include "fa/Execution/Compile.h"
#include "mlir/Pass/PassManager.h"

namespace fa::execution {

struct Stage {
  std::string name, what;
  std::function<void(mlir::OpPassManager &)> build;
};

/// From the program to kernels over a grid, the same for every target. `vectorBits`: of the CPU; 0: this machine's.
std::vector<Stage> kernelStages(const CompileOptions &options, const std::string &target, int64_t vectorBits = 0);
/// Loops or vector code of a CPU with these features (LLVM's names), to the llvm dialect. `lowering`: loops, vector or
/// naive.
std::vector<Stage> cpuStages(const std::string &lowering, llvm::ArrayRef<std::string> features);
/// From kernels over a grid to the llvm dialect for sm_90a.
std::vector<Stage> gpuStages();

/// Runs stages on a module and keeps times, dumps and remarks.
class StageRunner {
public:
  StageRunner(mlir::ModuleOp module, const CompileOptions &options, CompileReport &report)
      : module(module), options(options), report(report) {}

  Status run(const std::vector<Stage> &stages);
  /// kernelStages, and the schedule into the report.
  Status runKernelStages(const std::string &target, int64_t vectorBits = 0);
  /// A step that is no pass pipeline.
  Status run(const std::string &name, const std::function<Status()> &step);
  void dump(const std::string &stage);

private:
  mlir::ModuleOp module;
  const CompileOptions &options;
  CompileReport &report;

  void noteSchedule();
};

} // namespace fa::execution
