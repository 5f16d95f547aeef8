// The packed entry point of a kernel: what runtime::CpuKernel calls.
#pragma once
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringRef.h"
#include <string>

namespace mlir::fa {

/// Symbol of the packed entry of `kernel`; this is the `entry` of a launch descriptor with abi `so`.
std::string packedEntryName(llvm::StringRef kernel);

/// Adds `void _fa_cpu_<kernel>(int64_t block, void **arguments)` to a module of the `llvm` dialect.
/// The kernel is an `llvm.func` lowered from a `func.func` with `llvm.emit_c_interface` whose first argument is the
/// block id (index). `arguments[n]` points at the memref descriptor {allocated, aligned, offset, sizes, strides} or at
/// the scalar that is argument n + 1. A declaration of the entry is replaced; an entry that is there already is kept.
/// Fails when there is no such kernel, or it returns something.
LogicalResult emitPackedEntry(ModuleOp module, llvm::StringRef kernel);

} // namespace mlir::fa
