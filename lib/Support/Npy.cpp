// .npy reading and writing. The header is a Python dict literal: it is parsed as one, not searched, so that a damaged
// file is refused with the place of the damage.
#include "fa/Support/Npy.h"
#include "fa/Support/File.h"
#include <algorithm>
#include <bit>
#include <cctype>
#include <cstring>

namespace fa {
namespace {

static_assert(std::endian::native == std::endian::little, "element bytes are written as they lie in memory");

constexpr std::string_view magic("\x93NUMPY", 6);
constexpr size_t maxRank = 32;

struct Header {
  std::string descr;
  bool fortran = false;
  std::vector<int64_t> sizes;
};

/// The dict literal `{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }`.
class HeaderParser {
public:
  explicit HeaderParser(std::string_view text) : text(text) {}

  Expected<Header> run() {
    Header header;
    bool seen[3] = {};
    expect("{");
    while (!failed() && !accept("}")) {
      const std::string key = string();
      expect(":");
      const int which = key == "descr" ? 0 : key == "fortran_order" ? 1 : key == "shape" ? 2 : -1;
      if (failed())
        break;
      if (which < 0 || seen[which])
        return makeError(which < 0 ? "expected the header keys descr, fortran_order and shape, but got '" + key + "'"
                                   : "expected each header key once, but got '" + key + "' twice");
      seen[which] = true;
      if (which == 0)
        header.descr = description();
      else if (which == 1)
        header.fortran = boolean();
      else
        header.sizes = tuple();
      if (!accept(",") && !peek("}"))
        fail("',' or '}'");
    }
    skipSpace();
    if (!failed() && at < text.size() && text[at] != '\0')
      fail("the end of the header");
    for (int i = 0; i < 3 && !failed(); ++i)
      if (!seen[i])
        return makeError(std::string("expected header key '") +
                         (i == 0   ? "descr"
                          : i == 1 ? "fortran_order"
                                   : "shape") +
                         "', but it is missing");
    if (failed())
      return makeError(problem);
    return header;
  }

private:
  std::string_view text;
  size_t at = 0;
  std::string problem;

  bool failed() const { return !problem.empty(); }
  void fail(const std::string &expected) {
    if (failed())
      return;
    const bool printable = at < text.size() && std::isprint(static_cast<unsigned char>(text[at]));
    problem = "expected " + expected + " at byte " + std::to_string(at) + " of the header, but got " +
              (printable ? "'" + std::string(1, text[at]) + "'"
                         : std::string(at < text.size() ? "an unprintable byte" : "its end"));
  }
  void skipSpace() {
    while (at < text.size() && std::isspace(static_cast<unsigned char>(text[at])))
      ++at;
  }
  bool peek(std::string_view token) {
    skipSpace();
    return !failed() && text.compare(at, token.size(), token) == 0;
  }
  bool accept(std::string_view token) {
    if (!peek(token))
      return false;
    at += token.size();
    return true;
  }
  void expect(std::string_view token) {
    if (!accept(token))
      fail("'" + std::string(token) + "'");
  }

  std::string string() {
    skipSpace();
    if (at >= text.size() || (text[at] != '\'' && text[at] != '"')) {
      fail("a quoted string");
      return "";
    }
    const size_t close = text.find(text[at], at + 1);
    if (close == std::string_view::npos) {
      at = text.size();
      fail("a closing quote");
      return "";
    }
    const std::string value(text.substr(at + 1, close - at - 1));
    at = close + 1;
    return value;
  }

  std::string description() {
    if (peek("["))
      fail("a plain dtype (structured arrays are not supported)");
    return string();
  }

  bool boolean() {
    if (accept("True"))
      return true;
    if (!accept("False"))
      fail("True or False");
    return false;
  }

  std::vector<int64_t> tuple() {
    std::vector<int64_t> sizes;
    expect("(");
    while (!failed() && !accept(")")) {
      sizes.push_back(size());
      accept("L"); // Python 2's long integers
      if (sizes.size() > maxRank)
        fail("at most " + std::to_string(maxRank) + " dimensions");
      if (!accept(",") && !peek(")"))
        fail("',' or ')'");
    }
    return sizes;
  }

  int64_t size() {
    skipSpace();
    if (at >= text.size() || !std::isdigit(static_cast<unsigned char>(text[at]))) {
      fail("a size");
      return 0;
    }
    int64_t value = 0;
    for (; at < text.size() && std::isdigit(static_cast<unsigned char>(text[at])); ++at)
      if (__builtin_mul_overflow(value, int64_t{10}, &value) ||
          __builtin_add_overflow(value, static_cast<int64_t>(text[at] - '0'), &value)) {
        fail("a size below 2^63");
        return 0;
      }
    return value;
  }
};

struct Element {
  DType type;
  bool swapped;
};

Expected<DType> resolveRaw(const std::string &descr, size_t bytes, std::optional<DType> rawType, const char *examples) {
  if (!rawType)
    return makeError("expected the caller to say what raw bits of dtype '" + descr +
                     "' mean, but no dtype was given (" + examples + ")");
  if (sizeOf(*rawType) != bytes)
    return makeError("expected raw bits of " + std::to_string(sizeOf(*rawType)) + " bytes for " +
                     std::string(nameOf(*rawType)) + ", but got dtype '" + descr + "'");
  return *rawType;
}

Expected<Element> elementOf(const std::string &descr, std::optional<DType> rawType) {
  constexpr const char *known = "f8, f4, f2, i8, i4, i2, i1, u1, b1, or u2 / V2 / V1 for raw bits";
  const bool marked = !descr.empty() && std::string_view("<>|=").find(descr[0]) != std::string_view::npos;
  const std::string kind = marked ? descr.substr(1) : descr;
  Element element{DType::F32, marked && descr[0] == '>'};
  auto given = [&](DType type) -> Expected<Element> {
    if (rawType && *rawType != type)
      return makeError("expected dtype " + std::string(nameOf(*rawType)) + ", but got '" + descr + "' (" +
                       std::string(nameOf(type)) + ")");
    return Element{type, element.swapped};
  };
  static constexpr std::pair<std::string_view, DType> plain[] = {
      {"f8", DType::F64}, {"f4", DType::F32}, {"f2", DType::F16}, {"i8", DType::I64},
      {"i4", DType::I32}, {"i2", DType::I16}, {"i1", DType::I8},  {"b1", DType::I1}};
  for (const auto &[name, type] : plain)
    if (kind == name)
      return given(type);
  const bool byte = kind == "u1" || kind == "V1", word = kind == "u2" || kind == "V2";
  if (kind == "u1" && !rawType)
    return given(DType::U8);
  if (!byte && !word)
    return makeError("expected a dtype of " + std::string(known) + ", but got '" + descr + "'");
  Expected<DType> type = resolveRaw(descr, byte ? 1 : 2, rawType, byte ? "f8E4M3FN or f8E5M2" : "bf16 or f16");
  if (!type)
    return type.error();
  element.type = *type;
  return element;
}

void swapBytes(std::vector<std::byte> &data, size_t width) {
  for (size_t i = 0; i + width <= data.size(); i += width)
    std::reverse(data.begin() + i, data.begin() + i + width);
}

/// Column-major to row-major, by walking the result in order.
void fortranToC(NpyArray &array) {
  const size_t rank = array.sizes.size(), width = sizeOf(array.type);
  if (rank < 2 || array.data.empty())
    return;
  std::vector<size_t> strides(rank, width);
  for (size_t d = 1; d < rank; ++d)
    strides[d] = strides[d - 1] * static_cast<size_t>(array.sizes[d - 1]);
  std::vector<std::byte> result(array.data.size());
  std::vector<int64_t> index(rank, 0);
  size_t from = 0;
  for (size_t to = 0; to < result.size(); to += width) {
    std::memcpy(&result[to], &array.data[from], width);
    for (size_t d = rank; d-- > 0;) {
      from += strides[d];
      if (++index[d] < array.sizes[d])
        break;
      from -= strides[d] * static_cast<size_t>(array.sizes[d]);
      index[d] = 0;
    }
  }
  array.data = std::move(result);
}

struct Layout {
  std::string_view header;
  size_t dataOffset;
};

Expected<Layout> locateHeader(const std::string &bytes) {
  if (bytes.size() < 10 || bytes.compare(0, magic.size(), magic) != 0)
    return makeError("expected a .npy file (\\x93NUMPY at its start), but got " +
                     (bytes.size() < 10 ? "a file of " + std::to_string(bytes.size()) + " bytes" : "other bytes"));
  const auto byteAt = [&](size_t i) { return static_cast<size_t>(static_cast<unsigned char>(bytes[i])); };
  const size_t version = byteAt(6);
  if (version < 1 || version > 3 || byteAt(7) != 0)
    return makeError("expected .npy version 1.0, 2.0 or 3.0, but got " + std::to_string(version) + "." +
                     std::to_string(byteAt(7)));
  const size_t start = version == 1 ? 10 : 12;
  if (bytes.size() < start)
    return makeError("expected a header length, but the file ends after " + std::to_string(bytes.size()) + " bytes");
  size_t length = byteAt(8) | byteAt(9) << 8;
  if (version > 1)
    length |= byteAt(10) << 16 | byteAt(11) << 24;
  if (length > bytes.size() - start)
    return makeError("expected a header of " + std::to_string(length) + " bytes, but the file ends after " +
                     std::to_string(bytes.size() - start) + " of them");
  return Layout{std::string_view(bytes).substr(start, length), start + length};
}

Expected<size_t> byteCount(const std::vector<int64_t> &sizes, size_t width) {
  // An empty dimension makes the product 0, but must not hide an overflow of the others.
  size_t product = width;
  bool empty = false, overflow = false;
  for (int64_t size : sizes) {
    empty |= size == 0;
    overflow |= size != 0 && __builtin_mul_overflow(product, static_cast<size_t>(size), &product);
  }
  if (overflow || product > size_t{1} << 62)
    return makeError("expected a shape that fits in memory, but its size overflows");
  return empty ? 0 : product;
}

Expected<NpyArray> parse(const std::string &bytes, std::optional<DType> rawType) {
  Expected<Layout> layout = locateHeader(bytes);
  if (!layout)
    return layout.error();
  Expected<Header> header = HeaderParser(layout->header).run();
  if (!header)
    return header.error();
  Expected<Element> element = elementOf(header->descr, rawType);
  if (!element)
    return element.error();
  NpyArray array{element->type, header->sizes, {}};
  Expected<size_t> size = byteCount(array.sizes, sizeOf(array.type));
  if (!size)
    return size.error();
  const size_t got = bytes.size() - layout->dataOffset;
  if (got != *size)
    return makeError("expected " + std::to_string(*size) + " bytes of data for the shape, but got " +
                     std::to_string(got));
  array.data.resize(*size);
  if (*size)
    std::memcpy(array.data.data(), bytes.data() + layout->dataOffset, *size);
  if (element->swapped)
    swapBytes(array.data, sizeOf(array.type));
  if (header->fortran)
    fortranToC(array);
  return array;
}

std::string_view descriptionOf(DType type) {
  switch (type) {
  case DType::F64:
    return "<f8";
  case DType::F32:
    return "<f4";
  case DType::F16:
    return "<f2";
  case DType::BF16:
    return "<u2";
  case DType::E4M3:
  case DType::E5M2:
  case DType::U8:
    return "|u1";
  case DType::I64:
    return "<i8";
  case DType::I32:
    return "<i4";
  case DType::I16:
    return "<i2";
  case DType::I8:
    return "|i1";
  case DType::I1:
    return "|b1";
  }
  return "";
}

/// Magic, version, length and dict, padded so that the data starts at a multiple of 64 bytes.
std::string makeHeader(DType type, const std::vector<int64_t> &sizes) {
  std::string dict = "{'descr': '" + std::string(descriptionOf(type)) + "', 'fortran_order': False, 'shape': (";
  for (size_t i = 0; i < sizes.size(); ++i)
    dict += (i ? ", " : "") + std::to_string(sizes[i]);
  dict += sizes.size() == 1 ? ",), }" : "), }";
  const bool large = dict.size() + 80 > 0xffff;
  const size_t start = large ? 12 : 10;
  dict.append(63 - (start + dict.size()) % 64, ' ');
  dict += '\n';
  std::string header(magic);
  header += large ? '\x02' : '\x01';
  header += '\0';
  for (size_t i = 0; i < start - 8; ++i)
    header += static_cast<char>(dict.size() >> (8 * i) & 0xff);
  return header + dict;
}

} // namespace

int64_t NpyArray::elements() const { return static_cast<int64_t>(data.size() / sizeOf(type)); }

Expected<NpyArray> parseNpy(const std::string &bytes, const std::string &name, std::optional<DType> rawType) {
  Expected<NpyArray> array = parse(bytes, rawType);
  if (!array)
    return makeError(name + ": " + array.message());
  return array;
}

Expected<NpyArray> readNpy(const std::string &path, std::optional<DType> rawType) {
  Expected<std::string> bytes = readFile(path);
  if (!bytes)
    return bytes.error();
  return parseNpy(*bytes, path, rawType);
}

Status writeNpy(const std::string &path, DType type, const std::vector<int64_t> &sizes, const void *data) {
  for (int64_t size : sizes)
    if (size < 0)
      return makeError(path + ": expected sizes of 0 or more, but got " + std::to_string(size));
  Expected<size_t> bytes = byteCount(sizes, sizeOf(type));
  if (!bytes)
    return makeError(path + ": " + bytes.message());
  return writeFileAtomically(path, {makeHeader(type, sizes), {static_cast<const char *>(data), *bytes}});
}

} // namespace fa
