// Loads object files with ORC's linking layer only: nothing is compiled here, so a cached kernel is callable in
// milliseconds.
#include "fa/Target/CPU/JitModule.h"
#include "llvm/ExecutionEngine/Orc/ExecutionUtils.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/Object/ObjectFile.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/TargetParser/Host.h"
#include <mutex>

using namespace mlir::fa;
using ::fa::makeError;

namespace {
/// ORC links an object of any architecture it knows; calling into one of another machine would crash.
::fa::Status checkArchitecture(llvm::MemoryBufferRef buffer) {
  auto file = llvm::object::ObjectFile::createObjectFile(buffer);
  if (!file)
    return makeError("expected an object file for this machine, but got: " + llvm::toString(file.takeError()));
  llvm::Triple host(llvm::sys::getProcessTriple());
  if ((*file)->getArch() != host.getArch())
    return makeError("expected an object file for " + host.getArchName().str() + ", but got one for " +
                     llvm::Triple::getArchTypeName((*file)->getArch()).str());
  return ::fa::Status::success();
}
} // namespace

JitModule::JitModule(std::unique_ptr<llvm::orc::LLJIT> jit) : jit(std::move(jit)) {}
JitModule::~JitModule() = default;

::fa::Expected<std::unique_ptr<JitModule>> JitModule::load(llvm::ArrayRef<char> object,
                                                           llvm::ArrayRef<std::pair<llvm::StringRef, void *>> symbols) {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
  });
  auto buffer = llvm::MemoryBuffer::getMemBufferCopy(llvm::StringRef(object.data(), object.size()), "kernel");
  if (::fa::Status status = checkArchitecture(*buffer); !status)
    return status.error();
  auto jit = llvm::orc::LLJITBuilder().create();
  if (!jit)
    return makeError("could not start the JIT: " + llvm::toString(jit.takeError()));
  auto process =
      llvm::orc::DynamicLibrarySearchGenerator::GetForCurrentProcess((*jit)->getDataLayout().getGlobalPrefix());
  if (!process)
    return makeError("could not search this process for symbols: " + llvm::toString(process.takeError()));
  (*jit)->getMainJITDylib().addGenerator(std::move(*process));
  llvm::orc::SymbolMap given;
  for (const auto &[name, address] : symbols)
    given[(*jit)->mangleAndIntern(name)] = {llvm::orc::ExecutorAddr::fromPtr(address),
                                            llvm::JITSymbolFlags::Exported | llvm::JITSymbolFlags::Callable};
  if (llvm::Error error = (*jit)->getMainJITDylib().define(llvm::orc::absoluteSymbols(std::move(given))))
    return makeError("could not define symbols for the JIT: " + llvm::toString(std::move(error)));
  if (llvm::Error error = (*jit)->addObjectFile(std::move(buffer)))
    return makeError("expected an object file for this machine, but got: " + llvm::toString(std::move(error)));
  return std::unique_ptr<JitModule>(new JitModule(std::move(*jit)));
}

::fa::Expected<void *> JitModule::lookup(llvm::StringRef name) const {
  auto symbol = jit->lookup(name);
  if (!symbol)
    return makeError("expected the compiled code to define '" + name.str() +
                     "', but got: " + llvm::toString(symbol.takeError()));
  return symbol->toPtr<void *>();
}
