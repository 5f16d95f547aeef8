// CPU names of the two architectures that kernels are made for.
#include "fa/Target/CPU/FindCpu.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/AArch64TargetParser.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/Triple.h"
#include "llvm/TargetParser/X86TargetParser.h"

using namespace mlir;
using namespace mlir::fa;

namespace {
struct Architecture {
  llvm::Triple::ArchType type;
  const char *everyCpu; ///< what a user calls the architecture
  const char *generic;  ///< what LLVM calls any CPU of it
  const char *triple;
  llvm::SmallVector<llvm::StringRef> cpus;
};

llvm::SmallVector<Architecture> architectures() {
  llvm::SmallVector<Architecture> known{{llvm::Triple::x86_64, "x86-64", "x86-64", "x86_64-unknown-linux-gnu", {}},
                                        {llvm::Triple::aarch64, "aarch64", "generic", "aarch64-unknown-linux-gnu", {}}};
  llvm::X86::fillValidCPUArchList(known[0].cpus, /*Only64Bit=*/true);
  llvm::AArch64::fillValidCPUArchList(known[1].cpus);
  return known;
}

/// The names that a slip of the finger could have meant, nearest first.
std::string suggest(llvm::StringRef name, llvm::ArrayRef<Architecture> known) {
  llvm::SmallVector<std::pair<unsigned, llvm::StringRef>> near;
  auto consider = [&](llvm::StringRef candidate) {
    unsigned distance = name.edit_distance_insensitive(candidate);
    if (distance <= std::max<size_t>(name.size() / 3, 1))
      near.push_back({distance, candidate});
  };
  for (const Architecture &architecture : known) {
    consider(architecture.everyCpu);
    for (llvm::StringRef cpu : architecture.cpus)
      consider(cpu);
  }
  llvm::sort(near);
  near.erase(llvm::unique(near), near.end());
  if (near.empty())
    return "known are host, x86-64, x86-64-v3, haswell, skylake-avx512, znver4, aarch64, neoverse-v1 and others that "
           "clang-22 --print-supported-cpus lists";
  std::string text = "did you mean ";
  for (size_t n = 0; n < std::min<size_t>(near.size(), 3); ++n)
    text += (n ? ", " : "") + near[n].second.str();
  return text + "?";
}
} // namespace

FailureOr<CpuOptions> mlir::fa::findCpu(Location loc, llvm::StringRef name) {
  CpuOptions options;
  if (name.empty() || name == "host" || name == "native")
    return options;
  llvm::SmallVector<Architecture> known = architectures();
  llvm::Triple host(llvm::sys::getProcessTriple());
  for (const Architecture &architecture : known) {
    if (name != architecture.everyCpu && !llvm::is_contained(architecture.cpus, name))
      continue;
    options.cpu = name == architecture.everyCpu ? architecture.generic : name.str();
    if (architecture.type != host.getArch())
      options.triple = architecture.triple;
    return options;
  }
  return emitError(loc) << "expected the name of an x86-64 or AArch64 CPU, but got '" << name << "'; "
                        << suggest(name, known);
}

FailureOr<std::string> mlir::fa::architectureOf(Location loc, const CpuOptions &options) {
  FailureOr<std::unique_ptr<llvm::TargetMachine>> machine = createTargetMachine(loc, options);
  if (failed(machine))
    return failure();
  return llvm::Triple::getArchTypeName((*machine)->getTargetTriple().getArch()).str();
}
