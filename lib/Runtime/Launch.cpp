// What every driver does before a launch: resolve the descriptor's names, check its guards.
#include "fa/Runtime/Driver.h"
#include <charconv>
#include <cmath>
#include <memory>
#include <set>

namespace fa::runtime {
namespace {

/// `name.dim2` or `name.stride0`: the part before the last dot is the tensor.
std::optional<int64_t> tensorProperty(const Bindings &bindings, const std::string &name) {
  const size_t dot = name.rfind('.');
  if (dot == std::string::npos)
    return std::nullopt;
  const auto found = bindings.tensors.find(name.substr(0, dot));
  if (found == bindings.tensors.end())
    return std::nullopt;
  std::string_view property = std::string_view(name).substr(dot + 1);
  const bool isDim = property.starts_with("dim"), isStride = property.starts_with("stride");
  if (!isDim && !isStride)
    return std::nullopt;
  property.remove_prefix(isDim ? 3 : 6);
  size_t index = 0;
  const auto [end, error] = std::from_chars(property.data(), property.data() + property.size(), index);
  if (property.empty() || error != std::errc() || end != property.data() + property.size())
    return std::nullopt;
  const std::vector<int64_t> &values = isDim ? found->second.sizes : found->second.strides;
  return index < values.size() ? std::optional(values[index]) : std::nullopt;
}

/// A scalar is a symbol when it is an integer.
std::optional<int64_t> integerScalar(const Bindings &bindings, const std::string &name) {
  const auto found = bindings.scalars.find(name);
  if (found == bindings.scalars.end() || found->second != std::trunc(found->second) ||
      std::abs(found->second) > 9007199254740992.0)
    return std::nullopt;
  return static_cast<int64_t>(found->second);
}

/// Symbols may use other symbols; a cycle leaves its names unknown.
std::optional<int64_t> resolve(const LaunchDescriptor &descriptor, const Bindings &bindings, const std::string &name,
                               std::set<std::string> &open) {
  const auto symbol = descriptor.symbols.find(name);
  if (symbol == descriptor.symbols.end()) {
    std::optional<int64_t> value = tensorProperty(bindings, name);
    return value ? value : integerScalar(bindings, name);
  }
  if (!open.insert(name).second)
    return std::nullopt;
  const Expected<int64_t> value = evaluateExpression(
      symbol->second, [&](const std::string &inner) { return resolve(descriptor, bindings, inner, open); });
  open.erase(name);
  return value ? std::optional(*value) : std::nullopt;
}

/// "q.stride2 = 36, Sq = 5" for the names that a guard reads.
std::string valuesOf(const std::string &condition, const SymbolTable &symbols) {
  std::string text;
  std::set<std::string> shown;
  const SymbolTable recording = [&](const std::string &name) {
    std::optional<int64_t> value = symbols(name);
    if (shown.insert(name).second)
      text += (text.empty() ? "" : ", ") + name + " = " + (value ? std::to_string(*value) : "unknown");
    return value;
  };
  (void)evaluateExpression(condition, recording);
  return text;
}

} // namespace

SymbolTable symbolsOf(const LaunchDescriptor &descriptor, const Bindings &bindings) {
  return [&descriptor, &bindings](const std::string &name) {
    std::set<std::string> open;
    return resolve(descriptor, bindings, name, open);
  };
}

Status Driver::accepts(const LaunchDescriptor &descriptor) const {
  if (descriptor.abi == abi())
    return Status::success();
  return makeError("kernel '" + descriptor.entry + "': expected abi \"" + abi() + "\" for " + describe() +
                   ", but got \"" + descriptor.abi + "\"");
}

Status checkGuards(const LaunchDescriptor &descriptor, const Bindings &bindings) {
  const SymbolTable symbols = symbolsOf(descriptor, bindings);
  for (const Guard &guard : descriptor.guards) {
    const Expected<int64_t> holds = evaluateExpression(guard.condition, symbols);
    if (!holds)
      return makeError("kernel '" + descriptor.entry + "': guard cannot be checked: " + holds.message());
    if (*holds)
      continue;
    std::string message = "kernel '" + descriptor.entry + "': expected " + guard.condition + ", but got " +
                          valuesOf(guard.condition, symbols);
    return makeError(guard.remedy.empty() ? message : message + "; " + guard.remedy);
  }
  return Status::success();
}

} // namespace fa::runtime
