// Object bytes -> callable functions in this process (LLVM ORC). No MLIR header: a cached object needs no compiler
// context.
#pragma once
#include "fa/Support/Expected.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <memory>

namespace llvm::orc {
class LLJIT;
}

namespace mlir::fa {

/// Code loaded into this process; its functions live as long as it does. Symbols that the object does not define (libm,
/// libc) come from this process.
class JitModule {
public:
  /// `object` is an ELF object for this machine, copied. `symbols` are names it may call, with their addresses.
  static ::fa::Expected<std::unique_ptr<JitModule>>
  load(llvm::ArrayRef<char> object, llvm::ArrayRef<std::pair<llvm::StringRef, void *>> symbols = {});
  ~JitModule();
  /// Address of a function; fails with the name when the object has none or needs a symbol that this process lacks.
  ::fa::Expected<void *> lookup(llvm::StringRef name) const;

private:
  explicit JitModule(std::unique_ptr<llvm::orc::LLJIT> jit);
  std::unique_ptr<llvm::orc::LLJIT> jit;
};

} // namespace mlir::fa
