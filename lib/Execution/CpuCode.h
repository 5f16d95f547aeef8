// Code for this machine's CPU, from a module with outlined kernels to functions that run.
#pragma once
#include "CpuImage.h"
#include "fa/Runtime/CPU/CpuDriver.h"
#include "fa/Target/CPU/JitModule.h"
#include <memory>
#include <string>
#include <vector>

namespace fa::execution {

/// Kernels launched through descriptors where the host function does nothing else; the whole function otherwise.
class CpuCode {
public:
  /// `module` has kernels and launches, or (naive) the host function alone; it is consumed. `arguments` are those of
  /// the host function `entry`. Stages and times go to `runner`.
  static Expected<std::unique_ptr<CpuCode>> build(mlir::ModuleOp module, const std::string &entry,
                                                  const std::vector<Argument> &arguments, const std::string &lowering,
                                                  unsigned threads, StageRunner &runner, const std::string &cpu = "");

  /// The same code again, for this machine's CPU.
  static Expected<std::unique_ptr<CpuCode>> load(CodeImage image, unsigned threads);
  const CodeImage &image() const { return codeImage; }

  runtime::CpuDriver &driver() { return *cpu; }
  const std::vector<std::string> &kernels() const { return codeImage.kernels; }
  Expected<double> run(const runtime::Bindings &bindings);

private:
  CodeImage codeImage;
  std::vector<std::unique_ptr<runtime::Module>> modules; ///< of each launch
  std::unique_ptr<runtime::CpuDriver> cpu;
  /// Runs host functions: on the calling thread, because their launches use the pool.
  std::unique_ptr<runtime::CpuDriver> host;
  std::unique_ptr<runtime::ThreadPool> pool;
  std::unique_ptr<mlir::fa::JitModule> code;

  Status link(unsigned threads);
};

} // namespace fa::execution
