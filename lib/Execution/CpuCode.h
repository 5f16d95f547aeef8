// Code for this machine's CPU, from a module with outlined kernels to functions that run.
#pragma once
#include "Pipeline.h"
#include "fa/Runtime/CPU/CpuDriver.h"
#include "fa/Target/CPU/JitModule.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <memory>
#include <string>
#include <vector>

namespace fa::execution {

/// True if a host function does nothing that the runtime could not do: constants, dims, views and launches.
bool holdsLaunchesOnly(mlir::func::FuncOp entry);

/// Kernels launched through descriptors where the host function does nothing else; the whole function otherwise.
class CpuCode {
public:
  /// `module` has kernels and launches, or (naive) the host function alone; it is consumed. `arguments` are those of
  /// the host function `entry`. Stages and times go to `runner`.
  static Expected<std::unique_ptr<CpuCode>> build(mlir::ModuleOp module, const std::string &entry,
                                                  const std::vector<Argument> &arguments, const std::string &lowering,
                                                  unsigned threads, StageRunner &runner);

  runtime::CpuDriver &driver() { return *cpu; }
  const std::vector<std::string> &kernels() const { return kernelNames; }
  Expected<double> run(const runtime::Bindings &bindings);

private:
  struct Launch {
    LaunchDescriptor descriptor;
    std::unique_ptr<runtime::Module> module;
  };
  std::unique_ptr<runtime::CpuDriver> cpu;
  /// Runs host functions: on the calling thread, because their launches use the pool.
  std::unique_ptr<runtime::CpuDriver> host;
  std::unique_ptr<runtime::ThreadPool> pool;
  std::unique_ptr<mlir::fa::JitModule> code;
  std::vector<Launch> launches;
  std::vector<std::string> kernelNames;

  Status describeKernels(mlir::ModuleOp module, mlir::func::FuncOp entry);
  void describeHost(mlir::ModuleOp module, mlir::func::FuncOp entry, const std::vector<Argument> &arguments);
  Status load(mlir::ModuleOp module, const std::string &lowering);
};

} // namespace fa::execution
