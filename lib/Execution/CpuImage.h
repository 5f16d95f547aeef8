// From a module with outlined kernels to descriptors and machine code for a CPU, this one or another. Nothing is
// loaded.
#pragma once
#include "Pipeline.h"
#include "fa/Support/LaunchDescriptor.h"
#include "fa/Target/CPU/CompileToObject.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <string>
#include <vector>

namespace fa::execution {

/// True if a host function does nothing that the runtime could not do: constants, dims, views and launches.
bool holdsLaunchesOnly(mlir::func::FuncOp entry);

/// The CPU that code is for.
struct CpuTarget {
  mlir::fa::CpuOptions options; ///< empty: this machine
  llvm::SmallVector<std::string> features;
  int64_t vectorBits = 0; ///< for the machine model; 0: this machine

  /// `name` as findCpu takes it. Errors give the nearest names.
  static Expected<CpuTarget> find(mlir::MLIRContext &context, const std::string &name);
  /// The same for code that this process executes: fails unless this machine has the features.
  static Expected<CpuTarget> findExecutable(mlir::MLIRContext &context, const std::string &name);
};

/// What code consists of, without anything of this process: the kernel cache keeps it.
struct CodeImage {
  bool runsHost = false; ///< the launch runs the whole host function
  std::vector<std::string> kernels;
  std::vector<LaunchDescriptor> launches;
  llvm::SmallVector<char, 0> object;
};

/// What becomes of a host function that does more than launch kernels.
enum class HostFunctions {
  Run,   ///< one launch of one block runs it
  Refuse ///< an error that names the operation
};

/// Lowers `module` (kernels and launches, or, with lowering naive, the host function `entry` alone) to the llvm dialect
/// and says how to launch it. `arguments` are those of `entry`. `object` is left empty. Stages and times go to
/// `runner`.
Expected<CodeImage> lowerForCpu(mlir::ModuleOp module, const std::string &entry, const std::vector<Argument> &arguments,
                                const std::string &lowering, const CpuTarget &target, HostFunctions hosts,
                                StageRunner &runner);

/// Machine code, assembly or LLVM IR of a module that lowerForCpu lowered.
Expected<llvm::SmallVector<char, 0>> emitForCpu(mlir::ModuleOp module, const std::string &lowering,
                                                const CpuTarget &target, mlir::fa::CpuCodeForm form);

} // namespace fa::execution
