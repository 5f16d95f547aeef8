// Ahead-of-time compilation: what fa-compile does, as a library.
#pragma once
#include "fa/Execution/Compile.h"
#include "fa/Execution/GpuCode.h"

namespace fa::execution {

struct AheadOfTimeOptions {
  std::string target = "sm_90a";
  std::string emit = "package"; ///< mlir, llvm, ptx, cubin or package
  std::string stage = "hopper"; ///< emit mlir: the stage whose IR is wanted (allStages)
  std::string output;           ///< file, or folder for a package; empty: standard output (text only)
  std::string ptxas;            ///< path, or `none`; empty: PATH, then CUDA_HOME
  CompileOptions compile;
};

/// What one call produced.
struct AheadOfTimeResult {
  std::string text;                  ///< for standard output; empty when files were written
  std::vector<std::string> files;    ///< written, in order
  std::vector<std::string> messages; ///< remarks and warnings: spills, stack frames, C75xx; a missing ptxas
  CompileReport report;
};

/// A package is a folder: `<kernel>.ptx` and `<kernel>.json` (launch descriptor) for each launch, `<kernel>.cubin`
/// where ptxas is there, `launches.txt`, the kernels in order, and `signature.json`, what the function takes. The
/// runtime library alone executes it (docs/LaunchDescriptor.md, fa-launch). Fails for a target or a form that this
/// build does not have, and for whatever compileForGpu refuses.
Expected<AheadOfTimeResult> compileAheadOfTime(const Program &program, const AheadOfTimeOptions &options);

} // namespace fa::execution
