// What each argument of a hopper kernel stands for, as text in an attribute: the part of the launch descriptor that
// only the conversion knows.
#pragma once
#include "llvm/ADT/StringRef.h"

namespace mlir::fa {
/// Argument attribute of a hopper kernel. Values, where N is the number of an argument of the fa.launch:
///   tensor_map N | memref N | dim N D | scalar N | blocks (the number of blocks of the launch)
inline constexpr llvm::StringLiteral argumentSourceAttrName = "fa.source";
/// Kernel attribute: the grid is one block per multiprocessor, each walks the blocks of the launch.
inline constexpr llvm::StringLiteral persistentAttrName = "fa.persistent";
} // namespace mlir::fa
