// Tensors and scalars of one launch, from a package's signature and the tool's flags.
#pragma once
#include "fa/Runtime/Host/DeviceTensors.h"
#include "fa/Runtime/LaunchTool/LaunchTool.h"
#include "fa/Support/FunctionSignature.h"

namespace fa::runtime::launcher {

struct Arguments {
  Tensors tensors;   ///< inputs filled, outputs NaN
  Bindings bindings; ///< views of them, and the scalars

  /// Fails for a flag that names no argument, a malformed value, sizes or scalars that are missing.
  static Expected<Arguments> create(const FunctionSignature &signature, const LaunchToolOptions &options);
};

/// `NAME=VALUE` of a flag.
Expected<std::pair<std::string, std::string>> parsePair(const std::string &flag, const std::string &text);
/// Fails unless `name` is a tensor of the signature; the error lists those there are.
Status checkTensor(const FunctionSignature &signature, const std::string &flag, const std::string &name);

} // namespace fa::runtime::launcher
