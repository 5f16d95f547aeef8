// ptxas as a separate process: found, run, and its messages read instead of dropped.
#include "fa/Target/PTX/EmitPTX.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"
#include <cstdlib>

using namespace mlir;
using namespace mlir::fa;

std::optional<std::string> fa::findPtxas(const std::string &given) {
  if (!given.empty())
    return given;
  if (llvm::ErrorOr<std::string> onPath = llvm::sys::findProgramByName("ptxas"))
    return *onPath;
  for (const char *variable : {"CUDA_HOME", "CUDA_PATH"})
    if (const char *root = std::getenv(variable)) {
      llvm::SmallString<128> path(root);
      llvm::sys::path::append(path, "bin", "ptxas");
      if (llvm::sys::fs::can_execute(path))
        return std::string(path);
    }
  return std::nullopt;
}

/// The number before `label`, as in `168 registers`.
static int numberBefore(llvm::StringRef line, llvm::StringRef label) {
  size_t end = line.find(label);
  if (end == llvm::StringRef::npos)
    return 0;
  llvm::StringRef before = line.take_front(end).rtrim();
  size_t start = before.find_last_not_of("0123456789");
  int value = 0;
  before.substr(start == llvm::StringRef::npos ? 0 : start + 1).getAsInteger(10, value);
  return value;
}

std::vector<PtxasReport> fa::parsePtxasLog(const std::string &log) {
  std::vector<PtxasReport> kernels;
  std::vector<std::string> early; // warnings may come before the kernel's own lines
  llvm::SmallVector<llvm::StringRef> lines;
  llvm::StringRef(log).split(lines, '\n');
  for (llvm::StringRef line : lines) {
    if (line.contains("Compiling entry function")) {
      kernels.emplace_back();
      kernels.back().entry = line.split('\'').second.split('\'').first.str();
      continue;
    }
    if (line.contains("(C75")) {
      (kernels.empty() ? early : kernels.back().warnings).push_back(line.trim().str());
      continue;
    }
    if (kernels.empty())
      continue;
    PtxasReport &kernel = kernels.back();
    if (line.contains("stack frame")) {
      kernel.stackBytes += numberBefore(line, " bytes stack frame");
      kernel.spillStores += numberBefore(line, " bytes spill stores");
      kernel.spillLoads += numberBefore(line, " bytes spill loads");
    } else if (line.contains(" registers")) {
      kernel.registers = numberBefore(line, " registers");
    }
  }
  if (!kernels.empty())
    kernels.front().warnings.insert(kernels.front().warnings.begin(), early.begin(), early.end());
  return kernels;
}

static std::string readFile(llvm::StringRef path) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  return buffer ? (*buffer)->getBuffer().str() : std::string();
}

FailureOr<PtxasResult> fa::assemble(Location loc, const std::string &ptx, const std::string &ptxas,
                                    const std::string &chip) {
  llvm::SmallString<128> paths[3];
  const char *suffixes[] = {"ptx", "cubin", "log"};
  llvm::scope_exit cleanup([&] {
    for (auto &path : paths)
      if (!path.empty())
        llvm::sys::fs::remove(path);
  });
  for (int i = 0; i < 3; ++i)
    if (std::error_code error = llvm::sys::fs::createTemporaryFile("fa-compile", suffixes[i], paths[i]))
      return emitError(loc) << "expected a writable temporary directory, but got: " << error.message();
  {
    std::error_code error;
    llvm::raw_fd_ostream os(paths[0], error);
    os << ptx;
    os.close();
    if (error || os.has_error())
      return emitError(loc) << "expected room for " << ptx.size() << " bytes in the temporary directory";
  }
  std::string arch = "-arch=" + chip;
  llvm::StringRef arguments[] = {ptxas, arch, "-v", paths[0], "-o", paths[1]};
  std::optional<llvm::StringRef> redirects[] = {std::nullopt, paths[2].str(), paths[2].str()};
  std::string message;
  int status = llvm::sys::ExecuteAndWait(ptxas, arguments, std::nullopt, redirects, 0, 0, &message);
  PtxasResult result;
  result.log = readFile(paths[2]);
  if (status != 0)
    return emitError(loc) << "expected ptxas to accept the kernel, but got from " << ptxas << ": "
                          << (message.empty() ? result.log : message);
  result.cubin = readFile(paths[1]);
  result.kernels = parsePtxasLog(result.log);
  return result;
}

bool fa::diagnose(Location loc, const PtxasResult &result, llvm::StringRef schedule) {
  bool clean = true;
  auto warn = [&](const PtxasReport &kernel) {
    clean = false;
    return emitWarning(loc) << "kernel '" << kernel.entry << "' with " << schedule << ": ";
  };
  for (const PtxasReport &kernel : result.kernels) {
    if (kernel.spillStores || kernel.spillLoads)
      warn(kernel) << "expected no register spills, but got " << kernel.spillStores << " bytes of stores and "
                   << kernel.spillLoads << " of loads";
    if (kernel.stackBytes)
      warn(kernel) << "expected no stack frame, but got " << kernel.stackBytes << " bytes";
    for (const std::string &warning : kernel.warnings)
      warn(kernel) << warning;
  }
  return clean;
}
