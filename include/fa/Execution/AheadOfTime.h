// Ahead-of-time compilation: what fa-compile does, as a library.
#pragma once
#include "fa/Execution/Compile.h"
#include "fa/Execution/GpuCode.h"

namespace fa::execution {

struct AheadOfTimeOptions {
  std::string target = "sm_90a"; ///< cpu or sm_90a
  std::string cpu;               ///< target cpu: as mlir::fa::findCpu takes it; empty: this machine's
  std::string emit = "package";  ///< mlir, llvm, package; sm_90a: ptx, cubin; cpu: asm, object
  std::string stage;  ///< emit mlir: the stage whose IR is wanted (allStages); empty: hopper, vector or loops
  std::string output; ///< file, or folder for a package; empty: standard output (text only)
  std::string ptxas;  ///< path, or `none`; empty: PATH, then CUDA_HOME
  CompileOptions compile;
};

/// What one call produced.
struct AheadOfTimeResult {
  std::string text;                  ///< for standard output; empty when files were written
  std::vector<std::string> files;    ///< written, in order
  std::vector<std::string> messages; ///< remarks and warnings: spills, stack frames, C75xx; a missing ptxas
  CompileReport report;
};

/// A package is a folder: `<kernel>.json` (launch descriptor) and code (`<kernel>.ptx` and, where ptxas is there,
/// `<kernel>.cubin`; for a CPU `<kernel>.so`) for each launch, `launches.txt`, the kernels in order, and
/// `signature.json`. The runtime library alone executes it (docs/LaunchDescriptor.md). Fails for a target, a CPU or a
/// form that this build does not have, for an option of the other target, and for whatever the target's passes refuse.
Expected<AheadOfTimeResult> compileAheadOfTime(const Program &program, const AheadOfTimeOptions &options);

} // namespace fa::execution
