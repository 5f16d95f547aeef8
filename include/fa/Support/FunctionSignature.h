// What the function of a package takes: names, element types, shapes and directions, so that a package can be executed
// by someone who has nothing else. JSON form: docs/LaunchDescriptor.md.
#pragma once
#include "fa/Support/DType.h"
#include "fa/Support/Expected.h"
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace fa {

/// One argument, in the order of the function.
struct SignatureArgument {
  std::string name;
  bool isTensor = true;
  DType type = DType::F32;
  bool isOutput = false;
  /// Of each dimension: a number, `?` (given at launch), or a dimension that it equals, such as `q.dim2`.
  std::vector<std::string> sizes;
  std::vector<std::optional<int64_t>> strides; ///< elements; nothing: row-major
  int64_t offset = 0;                          ///< elements
  std::string fill;                            ///< contents unless something else is given; empty: none declared
};

struct FunctionSignature {
  static constexpr int currentVersion = 1;
  std::string function;
  std::vector<SignatureArgument> arguments;

  const SignatureArgument *find(const std::string &name) const;
  /// All sizes of all tensors. `given` has sizes of tensors by name; those that a tensor's type or another tensor
  /// implies may be left out. Fails for an unknown tensor, a contradiction, and a size that nothing implies.
  Expected<std::map<std::string, std::vector<int64_t>>>
  resolve(const std::map<std::string, std::vector<int64_t>> &given) const;

  /// Pretty-printed, ends with a newline; stable.
  std::string toJson() const;
  /// Refuses unknown keys, missing keys, wrong types and a newer version; the error names the key.
  static Expected<FunctionSignature> fromJson(const std::string &text);
};

} // namespace fa
