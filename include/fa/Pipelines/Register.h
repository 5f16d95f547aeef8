// Everything a tool needs to know: dialects, interfaces, passes and pipelines.
#pragma once

namespace mlir {
class DialectRegistry;
namespace fa {
/// Our dialects, the upstream dialects our pipelines use, and their interfaces (bufferization, translation to LLVM IR).
void registerAllDialects(DialectRegistry &registry);
/// Our passes and pipelines under their command-line names.
void registerAllPasses();
} // namespace fa
} // namespace mlir
