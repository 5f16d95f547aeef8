// From the name of a CPU, as users write it, to a code generator's target.
#pragma once
#include "fa/Target/CPU/CompileToObject.h"

namespace mlir::fa {

/// `host`, `native` or empty: this machine. `x86-64`, `aarch64`: every CPU of that architecture. Otherwise a CPU of one
/// of them as LLVM spells it (`x86-64-v3`, `haswell`, `znver4`, `neoverse-v1`). Fails, with a diagnostic at `loc` and
/// the nearest names, for any other.
FailureOr<CpuOptions> findCpu(Location loc, llvm::StringRef name);

/// `x86_64` or `aarch64`: the architecture of the target that `options` names, as launch descriptors spell it.
FailureOr<std::string> architectureOf(Location loc, const CpuOptions &options);

} // namespace mlir::fa
