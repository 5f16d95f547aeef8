// LLVM dialect -> object file for the host or another CPU, and object file -> shared library.
#pragma once
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include <memory>
#include <string>

namespace llvm {
class TargetMachine;
}

namespace mlir::fa {

/// Which machine code is made for. Empty fields mean the machine this process runs on.
struct CpuOptions {
  std::string triple;        ///< e.g. `x86_64-unknown-linux-gnu`, `aarch64-unknown-linux-gnu`
  std::string cpu;           ///< as `clang -mcpu=help` lists them; `native` or empty: the host
  std::string features;      ///< `+avx2,-fma`: added to what the CPU implies
  unsigned codegenLevel = 2; ///< effort of instruction selection and register allocation, 0 to 3
  unsigned irLevel = 0;      ///< LLVM's IR pipeline before it, 0 (none; measured as fast) to 3
};

/// The target machine that `options` names. Fails, with a diagnostic at `loc`, on a triple, CPU or feature that this
/// LLVM does not know.
FailureOr<std::unique_ptr<llvm::TargetMachine>> createTargetMachine(Location loc, const CpuOptions &options);

/// Machine features of `options` that are switched on, without their sign (`avx512f`, `neon`), sorted.
FailureOr<llvm::SmallVector<std::string>> enabledFeatures(Location loc, const CpuOptions &options);

/// Compiles a module of the `llvm` dialect to a relocatable, position independent ELF object. Triple and data layout
/// come from the target machine (without them LLVM expands copies byte by byte).
FailureOr<llvm::SmallVector<char, 0>> compileToObject(ModuleOp module, const CpuOptions &options = {});

enum class CpuCodeForm {
  LLVM,     ///< text of LLVM IR, after `irLevel`
  Assembly, ///< text
  Object,
};

/// compileToObject in another form.
FailureOr<llvm::SmallVector<char, 0>> emitCpuCode(ModuleOp module, const CpuOptions &options, CpuCodeForm form);

/// Links an object made by compileToObject into a shared library at `path` with clang or lld, whichever the PATH has
/// (lld alone can link for another architecture). The library needs libm and libc of its target only.
LogicalResult linkSharedObject(Location loc, llvm::ArrayRef<char> object, llvm::StringRef path,
                               const CpuOptions &options = {});

} // namespace mlir::fa
