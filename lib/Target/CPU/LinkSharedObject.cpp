// Object -> shared library, by running the linker that the PATH has.
#include "fa/Target/CPU/CompileToObject.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/Triple.h"

using namespace mlir;
using namespace mlir::fa;

namespace {

llvm::ErrorOr<std::string> findFirst(llvm::ArrayRef<llvm::StringRef> names) {
  llvm::ErrorOr<std::string> program = std::make_error_code(std::errc::no_such_file_or_directory);
  for (llvm::StringRef name : names)
    if ((program = llvm::sys::findProgramByName(name)))
      break;
  return program;
}

LogicalResult run(Location loc, llvm::StringRef program, llvm::ArrayRef<llvm::StringRef> arguments) {
  std::string message;
  int status = llvm::sys::ExecuteAndWait(program, arguments, std::nullopt, {}, 0, 0, &message);
  if (status != 0)
    return emitError(loc) << "expected '" << program << "' to link the kernel, but got exit status " << status
                          << (message.empty() ? "" : ": ") << message;
  return success();
}

} // namespace

LogicalResult mlir::fa::linkSharedObject(Location loc, llvm::ArrayRef<char> object, llvm::StringRef path,
                                         const CpuOptions &options) {
  llvm::SmallString<128> input;
  int descriptor = -1;
  if (std::error_code error = llvm::sys::fs::createTemporaryFile("fa-kernel", "o", descriptor, input))
    return emitError(loc) << "expected a writable directory for temporary files, but got: " << error.message();
  llvm::scope_exit cleanup([&] { llvm::sys::fs::remove(input); });
  {
    llvm::raw_fd_ostream stream(descriptor, /*shouldClose=*/true);
    stream.write(object.data(), object.size());
    stream.flush();
    if (std::error_code error = stream.error()) {
      stream.clear_error();
      return emitError(loc) << "could not write '" << input << "': " << error.message();
    }
  }
  llvm::Triple host(llvm::sys::getProcessTriple());
  bool native = options.triple.empty() || llvm::Triple(options.triple).getArch() == host.getArch();
  if (native)
    if (auto driver = findFirst({"clang-22", "clang", "cc", "gcc"}))
      return run(loc, *driver, {*driver, "-shared", "-o", path, input, "-lm"});
  if (auto linker = findFirst({"ld.lld-22", "ld.lld"}))
    return run(loc, *linker, {*linker, "-shared", "-o", path, input});
  return emitError(loc) << "expected " << (native ? "clang or ld.lld" : "ld.lld")
                        << " on the PATH, but got none of them; install lld, or write an object file instead";
}
