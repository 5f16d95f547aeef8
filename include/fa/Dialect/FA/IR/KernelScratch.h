// Scratch memory that the runtime gives to a kernel: its last argument, and how large it is.
#pragma once
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace mlir::fa {

/// On a kernel: bytes (i64) of scratch memory that one block works with. Such a kernel takes a `memref<?xi8>` last,
/// which launches do not give: the runtime does, 64-byte aligned, uninitialised and private to the thread.
inline constexpr llvm::StringLiteral scratchBytesAttrName = "fa.scratch_bytes";

/// 0 for a kernel without scratch memory.
int64_t getScratchBytes(Operation *kernel);

/// Adds `bytes` to the scratch memory of `kernel`, and the argument with the first ones. Returns the offset of the new
/// bytes, a multiple of 64.
int64_t addScratchBytes(FunctionOpInterface kernel, int64_t bytes);

} // namespace mlir::fa
