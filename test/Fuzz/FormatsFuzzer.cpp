// Any bytes may come in as a launch descriptor, an expression or a .npy file: each is read or refused, never a crash.
// What is read survives a round trip.
#include "fa/Support/LaunchDescriptor.h"
#include "fa/Support/Npy.h"
#include <cstdlib>
#include <string>

namespace {

void readDescriptor(const std::string &text) {
  const auto descriptor = fa::LaunchDescriptor::fromJson(text);
  if (!descriptor)
    return;
  const std::string printed = descriptor->toJson();
  const auto again = fa::LaunchDescriptor::fromJson(printed);
  if (!again || again->toJson() != printed)
    std::abort();
}

void evaluate(const std::string &text) {
  const auto symbols = [](const std::string &name) -> std::optional<int64_t> {
    return static_cast<int64_t>(name.size()) * 1000003;
  };
  // A value implies good syntax; the reverse fails only by overflow and division by zero.
  if (fa::evaluateExpression(text, symbols) && !fa::checkExpressionSyntax(text))
    std::abort();
}

void readNpy(const std::string &bytes, uint8_t selector) {
  const auto raw = selector % 2 ? std::optional(fa::DType::BF16) : std::nullopt;
  const auto array = fa::parseNpy(bytes, "x", raw);
  if (array && array->data.size() > bytes.size())
    std::abort();
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0)
    return 0;
  const std::string rest(reinterpret_cast<const char *>(data + 1), size - 1);
  if (data[0] < 'E')
    readDescriptor(rest);
  else if (data[0] < 'N')
    evaluate(rest);
  else
    readNpy(rest, data[0]);
  return 0;
}
