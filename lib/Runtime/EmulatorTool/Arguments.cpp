// Parses the argument grammar; every error repeats the text it is about.
#include "Arguments.h"
#include "fa/Support/Npy.h"
#include "fa/Support/Text.h"
#include <charconv>
#include <cstdlib>

namespace fa::runtime::tool {
namespace {

constexpr const char *grammar = "expected in:FILE[:TYPE], out:FILE:TYPE:SHAPE, inout:FILE:OUT[:TYPE], "
                                "map:N:box=AxB[:swizzle=S], scratch:BYTES or TYPE:NUMBER";

template <typename T> bool parseInteger(std::string_view text, T &value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return !text.empty() && error == std::errc() && end == text.data() + text.size();
}

/// DType names, and PTX's u32 and u64 for the same bits.
Expected<DType> parseType(const std::string &text) {
  if (text == "u32")
    return DType::I32;
  if (text == "u64")
    return DType::I64;
  return parseDType(text);
}

Expected<Buffer> readBuffer(const std::string &path, const std::string &type) {
  std::optional<DType> raw;
  if (!type.empty()) {
    const Expected<DType> parsed = parseType(type);
    if (!parsed)
      return parsed.error();
    raw = *parsed;
  }
  Expected<NpyArray> array = readNpy(path, raw);
  if (!array)
    return array.error();
  Buffer buffer;
  buffer.type = array->type;
  buffer.sizes = array->sizes;
  buffer.data = std::move(array->data);
  return buffer;
}

Expected<Argument> parseMap(const std::vector<std::string> &parts, const std::string &text, size_t index) {
  Argument argument;
  argument.kind = Argument::Kind::TensorMap;
  if (parts.size() < 3 || !parseInteger(parts[1], argument.mapOf) || argument.mapOf >= index)
    return makeError("expected map:N:box=AxB with N the number of an earlier buffer argument, but got " + text);
  for (size_t i = 2; i < parts.size(); ++i) {
    if (parts[i].starts_with("box=")) {
      Expected<std::vector<int64_t>> box = parseShape(parts[i].substr(4));
      if (!box)
        return box.error();
      argument.box = *box;
    } else if (!parts[i].starts_with("swizzle=") || !parseInteger(parts[i].substr(8), argument.swizzle)) {
      return makeError("expected box=AxB or swizzle=N in a tensor map, but got " + parts[i]);
    }
  }
  if (argument.box.empty())
    return makeError("expected box=AxB in a tensor map, but got " + text);
  return argument;
}

Expected<Argument> parseScalar(const std::string &type, const std::string &number) {
  const Expected<DType> parsed = parseType(type);
  if (!parsed)
    return makeError(std::string(grammar) + ", but got " + type + ":" + number);
  Argument argument;
  argument.scalar.resize(sizeOf(*parsed));
  if (*parsed == DType::I64) {
    int64_t value = 0;
    uint64_t large = 0;
    if (!parseInteger(number, value) && parseInteger(number, large))
      value = static_cast<int64_t>(large);
    else if (!parseInteger(number, value))
      return makeError("expected a 64-bit integer, but got " + number);
    std::copy_n(reinterpret_cast<const uint8_t *>(&value), 8, argument.scalar.data());
    return argument;
  }
  char *end = nullptr;
  const double value = std::strtod(number.c_str(), &end);
  if (number.empty() || *end)
    return makeError("expected a number, but got " + number);
  const bool isUnsigned = type == "u32" && value >= 0 && value <= 4294967295.0;
  storeFromDouble(*parsed, argument.scalar.data(), isUnsigned && value > 2147483647.0 ? value - 4294967296.0 : value);
  if (!isFloat(*parsed) && !isUnsigned && loadAsDouble(*parsed, argument.scalar.data()) != value)
    return makeError("expected a number that fits " + type + ", but got " + number);
  return argument;
}

} // namespace

size_t Buffer::bytes() const {
  size_t count = sizeOf(type);
  for (int64_t size : sizes)
    count *= static_cast<size_t>(size);
  return count;
}

std::vector<int64_t> Buffer::strides() const {
  std::vector<int64_t> result(sizes.size(), 1);
  for (size_t i = sizes.size(); i-- > 1;)
    result[i - 1] = result[i] * sizes[i];
  return result;
}

Expected<std::vector<int64_t>> parseShape(const std::string &text) {
  std::vector<int64_t> shape;
  unsigned __int128 elements = 1;
  for (const std::string &part : split(text, 'x')) {
    int64_t size = 0;
    if (!parseInteger(part, size) || size < 0)
      return makeError("expected sizes such as 2x128, but got " + text);
    shape.push_back(size);
    elements *= static_cast<uint64_t>(size);
    if (elements > uint64_t(1) << 40)
      return makeError("expected a shape of at most 2^40 elements, but got " + text);
  }
  return shape;
}

Status parseTriple(const std::string &text, const char *what, uint32_t (&result)[3]) {
  const std::vector<std::string> parts = split(text, ',');
  for (size_t i = 0; i < 3; ++i)
    result[i] = 1;
  bool good = parts.size() <= 3;
  for (size_t i = 0; good && i < parts.size(); ++i)
    good = parseInteger(parts[i], result[i]);
  if (!good)
    return makeError(std::string("expected ") + what + " as X, X,Y or X,Y,Z, but got " + text);
  return Status::success();
}

Expected<Buffer> parseBuffer(const std::string &text, const std::string &name) {
  const std::vector<std::string> parts = split(text, ':');
  Expected<Buffer> buffer = makeError(std::string(grammar) + ", but got " + text);
  if (parts[0] == "in" && (parts.size() == 2 || parts.size() == 3)) {
    buffer = readBuffer(parts[1], parts.size() == 3 ? parts[2] : "");
  } else if (parts[0] == "inout" && (parts.size() == 3 || parts.size() == 4)) {
    buffer = readBuffer(parts[1], parts.size() == 4 ? parts[3] : "");
    if (buffer)
      buffer->outputPath = parts[2];
  } else if (parts[0] == "out" && parts.size() == 4) {
    const Expected<DType> type = parseType(parts[2]);
    Expected<std::vector<int64_t>> shape = parseShape(parts[3]);
    if (!type)
      return type.error();
    if (!shape)
      return shape.error();
    buffer = Buffer{{}, *type, *shape, {}, parts[1]};
  }
  if (buffer)
    buffer->name = name;
  return buffer;
}

Expected<Argument> parseArgument(const std::string &text, size_t index) {
  const std::vector<std::string> parts = split(text, ':');
  Argument argument;
  if (parts[0] == "in" || parts[0] == "out" || parts[0] == "inout") {
    Expected<Buffer> buffer = parseBuffer(text, "argument " + std::to_string(index));
    if (!buffer)
      return buffer.error();
    argument.kind = Argument::Kind::Buffer;
    argument.buffer = std::move(*buffer);
    return argument;
  }
  if (parts[0] == "map")
    return parseMap(parts, text, index);
  if (parts.size() != 2)
    return makeError(std::string(grammar) + ", but got " + text);
  if (parts[0] == "scratch") {
    argument.kind = Argument::Kind::Scratch;
    if (!parseInteger(parts[1], argument.scratchBytes))
      return makeError("expected scratch:BYTES, but got " + text);
    return argument;
  }
  return parseScalar(parts[0], parts[1]);
}

} // namespace fa::runtime::tool
