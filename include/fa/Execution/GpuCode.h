// From a program to PTX and launch descriptors, without a device.
#pragma once
#include "fa/Execution/Compile.h"
#include "fa/Support/LaunchDescriptor.h"

namespace fa::execution {

/// One launch of the program: all that the runtime needs (docs/LaunchDescriptor.md).
struct GpuKernel {
  LaunchDescriptor descriptor; ///< abi ptx
  std::string ptx;             ///< a module with this kernel alone
  std::string llvm;            ///< the LLVM IR it was made from; empty unless asked for
};

/// Compiles every launch of the program's function for sm_90a, in order. Stages, times and dumps as in `compile`.
/// Fails for a function that holds more than constants, dims, views and attention, and for what the target refuses
/// (element types, depths, schedules that do not fit, operations of regions), with the reason. `onKernels`, if given,
/// looks at the module whose kernels are outlined, before anything of the target happens to them.
Expected<std::vector<GpuKernel>> compileForGpu(const Program &program, const CompileOptions &options,
                                               CompileReport &report, bool keepLLVM = false,
                                               const std::function<Status(mlir::ModuleOp)> &onKernels = {});

/// For `--device emulator` and `--device cuda`.
Expected<std::unique_ptr<CompiledAttention>> compileForDevice(const Program &program, const CompileOptions &options);

} // namespace fa::execution
