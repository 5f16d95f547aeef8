// Bufferization of the fa dialect.
#pragma once

namespace mlir {
class DialectRegistry;
namespace fa {
/// Makes `one-shot-bufferize` understand fa.attention.
void registerBufferizationInterfaces(DialectRegistry &registry);
} // namespace fa
} // namespace mlir
