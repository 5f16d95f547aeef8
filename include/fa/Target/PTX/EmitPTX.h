// LLVM dialect in a gpu.module -> PTX text, and PTX -> cubin by ptxas where it exists.
#pragma once
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include <optional>
#include <string>
#include <vector>

namespace mlir::fa {

/// What the NVPTX code generator is asked for.
struct PtxOptions {
  std::string chip = "sm_90a";
  /// ptx86: first version whose TMA loads can name a destination in the block's own shared memory.
  std::string features = "+ptx86";
};

/// LLVM IR text of the module's functions, as the code generator gets it.
FailureOr<std::string> emitLLVM(gpu::GPUModuleOp module);

/// PTX text by the code generator alone: LLVM's IR pipeline costs time and makes these kernels worse.
/// Fails, with a diagnostic on the module, for what LLVM cannot translate or select.
FailureOr<std::string> emitPtx(gpu::GPUModuleOp module, const PtxOptions &options = {});

/// Path of ptxas: `given` if not empty, else the PATH, else $CUDA_HOME/bin or $CUDA_PATH/bin. Nothing if there is none.
std::optional<std::string> findPtxas(const std::string &given = {});

/// What ptxas says about one kernel.
struct PtxasReport {
  std::string entry;
  int registers = 0;
  int stackBytes = 0;
  int spillStores = 0, spillLoads = 0; ///< bytes
  std::vector<std::string> warnings;   ///< lines with a C75xx code: wgmma was serialised or setmaxnreg ignored
  bool isClean() const { return stackBytes == 0 && spillStores == 0 && spillLoads == 0 && warnings.empty(); }
};

struct PtxasResult {
  std::string cubin; ///< contents
  std::vector<PtxasReport> kernels;
  std::string log;
};

/// Reads the output of `ptxas -v`.
std::vector<PtxasReport> parsePtxasLog(const std::string &log);

/// Assembles `ptx`. Errors carry ptxas's own message.
FailureOr<PtxasResult> assemble(Location loc, const std::string &ptx, const std::string &ptxas,
                                const std::string &chip = "sm_90a");

/// A warning for every stack frame, spill and C75xx of every kernel, naming the kernel and `schedule`. True if clean.
bool diagnose(Location loc, const PtxasResult &result, llvm::StringRef schedule);

} // namespace mlir::fa
