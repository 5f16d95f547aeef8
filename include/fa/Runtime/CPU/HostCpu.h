// What the CPU of this process can execute, asked of the CPU itself: machine code made elsewhere is checked against it.
#pragma once
#include "fa/Support/LaunchDescriptor.h"
#include <string>
#include <vector>

namespace fa::runtime {

/// `x86_64`, `aarch64`, or empty on a machine that this runtime does not know.
std::string hostArchitecture();

/// Features of x86-64 CPUs (LLVM's names) beyond the baseline that compiled code uses and that this runtime can check,
/// sorted. Other architectures: code for their baseline only.
const std::vector<std::string> &checkableFeatures();

/// Those of checkableFeatures that this CPU has and the operating system has switched on (Intel SDM volume 1, 13.3),
/// sorted.
const std::vector<std::string> &hostFeatures();

/// Fails with the architecture, or with the features that are missing or that this runtime cannot check. Executing code
/// for a CPU that is not this one ends the process.
Status checkHostCpu(const CpuRequirement &requirement);

} // namespace fa::runtime
