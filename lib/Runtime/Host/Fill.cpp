// Parsing and applying fills. Random numbers are a hash of (seed, name, index), so that they do not depend on the order
// in which elements are visited.
#include "fa/Runtime/Host/Fill.h"
#include "fa/Support/Npy.h"
#include "fa/Support/Text.h"
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <thread>
#include <vector>

namespace fa::runtime {
namespace {

constexpr const char *kinds =
    "normal, normal:MEAN,DEVIATION, uniform:LOW,HIGH, integers:LOW,HIGH, zeros, ones, value:X, nan, "
    "inf, arange, index:DIM, pow2, pow2:DIM, documents:COUNT or alibi";

std::optional<double> parseNumber(const std::string &text) {
  if (text.empty())
    return std::nullopt;
  char *end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  return end == text.c_str() + text.size() ? std::optional(value) : std::nullopt;
}

std::optional<int64_t> parseInteger(const std::string &text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

Error unknownFill(const std::string &text) {
  return makeError(std::string("expected a fill ") + kinds + ", but got '" + text + "'");
}

/// Finaliser of splitmix64: a bijection whose output bits all depend on all input bits.
uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

/// Independent numbers for one tensor.
class Random {
public:
  Random(uint64_t seed, const std::string &name) : key(mix(seed + 0x9E3779B97F4A7C15u)) {
    for (char c : name)
      key = mix(key ^ static_cast<unsigned char>(c));
  }
  uint64_t bits(uint64_t index) const { return mix(key + (index + 1) * 0x9E3779B97F4A7C15u); }
  /// In [0, 1).
  double uniform(uint64_t index) const { return static_cast<double>(bits(index) >> 11) * 0x1p-53; }
  /// Box and Muller's transform; two indices share one pair.
  double normal(uint64_t index) const {
    const double u = 1.0 - uniform(index & ~uint64_t{1}), angle = 2 * M_PI * uniform(index | 1);
    return std::sqrt(-2 * std::log(u)) * ((index & 1) ? std::sin(angle) : std::cos(angle));
  }

private:
  uint64_t key;
};

/// Index along a dimension of the element with a row-major index.
int64_t indexAlong(const std::vector<int64_t> &sizes, size_t dim, int64_t element) {
  for (size_t d = sizes.size(); --d > dim;)
    element /= sizes[d];
  return element % sizes[dim];
}

Expected<size_t> resolveDim(const HostTensor &tensor, int dim) {
  const int rank = static_cast<int>(tensor.sizes().size());
  const int resolved = dim < 0 ? dim + rank : dim;
  if (resolved < 0 || resolved >= rank)
    return makeError("expected a dimension of '" + tensor.name() + "' between " + std::to_string(-rank) + " and " +
                     std::to_string(rank - 1) + " in its fill, but got " + std::to_string(dim));
  return static_cast<size_t>(resolved);
}

double valueAt(const Fill &fill, const Random &random, const std::vector<int64_t> &sizes, size_t dim, int64_t n) {
  const auto counter = static_cast<uint64_t>(n);
  switch (fill.kind) {
  case Fill::Kind::Normal:
    return fill.a + fill.b * random.normal(counter);
  case Fill::Kind::Uniform:
    return fill.a + (fill.b - fill.a) * random.uniform(counter);
  case Fill::Kind::Integers:
    return std::floor(fill.a + (fill.b - fill.a + 1) * random.uniform(counter));
  case Fill::Kind::Value:
    return fill.a;
  case Fill::Kind::Arange:
    return static_cast<double>(n);
  case Fill::Kind::Index:
    return static_cast<double>(indexAlong(sizes, dim, n));
  case Fill::Kind::Pow2:
    return std::ldexp(1.0, static_cast<int>(std::min<int64_t>(indexAlong(sizes, dim, n), 1 << 20)));
  case Fill::Kind::Documents:
    return std::floor(static_cast<double>(indexAlong(sizes, dim, n)) * fill.a / static_cast<double>(sizes[dim]));
  case Fill::Kind::Alibi:
    return std::exp2(-8.0 * static_cast<double>(indexAlong(sizes, dim, n) + 1) / static_cast<double>(sizes[dim]));
  }
  return 0;
}

/// Calls fn(begin, end) for parts of 0 .. count. An element depends on its index alone, so that any split gives the
/// same.
template <typename Fn> void inParallel(int64_t count, const Fn &fn) {
  constexpr int64_t worthAThread = 1 << 18;
  const auto cores = static_cast<int64_t>(std::max(1u, std::thread::hardware_concurrency()));
  const int64_t parts = std::clamp<int64_t>(count / worthAThread, 1, cores);
  std::vector<std::thread> threads;
  for (int64_t part = 1; part < parts; ++part)
    threads.emplace_back([&fn, begin = count * part / parts, end = count * (part + 1) / parts] { fn(begin, end); });
  fn(0, count / parts);
  for (std::thread &thread : threads)
    thread.join();
}

} // namespace

Expected<Fill> Fill::parse(const std::string &text) {
  const size_t colon = text.find(':');
  const std::string kind = text.substr(0, colon);
  std::vector<double> numbers;
  if (colon != std::string::npos)
    for (const std::string &piece : split(std::string_view(text).substr(colon + 1), ',')) {
      const std::optional<double> number = parseNumber(piece);
      if (!number)
        return unknownFill(text);
      numbers.push_back(*number);
    }
  const auto whole = [&](size_t n) { return std::isfinite(numbers[n]) && numbers[n] == std::floor(numbers[n]); };
  const size_t count = numbers.size();
  if (kind == "normal" && count == 0)
    return Fill{};
  if (kind == "normal" && count == 2 && numbers[1] >= 0)
    return Fill{Kind::Normal, numbers[0], numbers[1], 0};
  if (kind == "uniform" && count == 2 && numbers[0] <= numbers[1])
    return Fill{Kind::Uniform, numbers[0], numbers[1], 0};
  if (kind == "integers" && count == 2 && whole(0) && whole(1) && numbers[0] <= numbers[1])
    return Fill{Kind::Integers, numbers[0], numbers[1], 0};
  if (kind == "value" && count == 1)
    return Fill{Kind::Value, numbers[0], 0, 0};
  if (count == 0 && (kind == "zeros" || kind == "ones"))
    return Fill{Kind::Value, kind == "ones" ? 1.0 : 0.0, 0, 0};
  if (count == 0 && (kind == "nan" || kind == "inf" || kind == "-inf"))
    return Fill{Kind::Value, *parseNumber(kind), 0, 0};
  if (kind == "arange" && count == 0)
    return Fill{Kind::Arange, 0, 0, 0};
  if ((kind == "index" || kind == "pow2") && count == 1 && whole(0) && std::abs(numbers[0]) < 64)
    return Fill{kind == "index" ? Kind::Index : Kind::Pow2, 0, 0, static_cast<int>(numbers[0])};
  if (kind == "pow2" && count == 0)
    return Fill{Kind::Pow2, 0, 0, std::numeric_limits<int>::min()};
  if (kind == "documents" && count == 1 && whole(0) && numbers[0] >= 1)
    return Fill{Kind::Documents, numbers[0], 0, -1};
  if (kind == "alibi" && count == 0)
    return Fill{Kind::Alibi, 0, 0, -1};
  return unknownFill(text);
}

std::string Fill::print() const {
  const auto pair = [&](const char *name) { return name + formatNumber(a) + "," + formatNumber(b); };
  switch (kind) {
  case Kind::Normal:
    return a == 0 && b == 1 ? "normal" : pair("normal:");
  case Kind::Uniform:
    return pair("uniform:");
  case Kind::Integers:
    return pair("integers:");
  case Kind::Value:
    return a == 0 ? "zeros" : a == 1 ? "ones" : "value:" + formatNumber(a, 17);
  case Kind::Arange:
    return "arange";
  case Kind::Index:
    return "index:" + std::to_string(dim);
  case Kind::Pow2:
    return dim == std::numeric_limits<int>::min() ? "pow2" : "pow2:" + std::to_string(dim);
  case Kind::Documents:
    return "documents:" + formatNumber(a);
  case Kind::Alibi:
    return "alibi";
  }
  return "";
}

Status fillTensor(HostTensor &tensor, const Fill &fill, uint64_t seed) {
  int dim = fill.dim;
  if (fill.kind == Fill::Kind::Pow2 && dim == std::numeric_limits<int>::min())
    dim = tensor.sizes().size() > 1 ? -2 : 0;
  const bool usesDim = fill.kind >= Fill::Kind::Index;
  const Expected<size_t> resolved = usesDim ? resolveDim(tensor, dim) : Expected<size_t>(size_t{0});
  if (!resolved)
    return resolved.error();
  if (!isFloat(tensor.type()) && fill.kind != Fill::Kind::Integers && !usesDim && fill.kind != Fill::Kind::Arange &&
      !(fill.kind == Fill::Kind::Value && fill.a == std::floor(fill.a)))
    return makeError("expected a fill of integers for '" + tensor.name() + "' (" + std::string(nameOf(tensor.type())) +
                     "), such as integers:0,9, zeros or index:0, but got '" + fill.print() + "'");
  const Random random(seed, tensor.name());
  const size_t size = sizeOf(tensor.type());
  const int64_t count = tensor.elements();
  std::vector<std::byte> dense(static_cast<size_t>(count) * size);
  inParallel(count, [&](int64_t begin, int64_t end) {
    for (int64_t n = begin; n < end; ++n)
      storeFromDouble(tensor.type(), dense.data() + static_cast<size_t>(n) * size,
                      valueAt(fill, random, tensor.sizes(), *resolved, n));
  });
  tensor.fromDense(dense.data());
  return Status::success();
}

std::optional<DType> rawTypeOf(DType type) {
  const bool isRaw = type == DType::BF16 || (isFloat(type) && sizeOf(type) == 1);
  return isRaw ? std::optional(type) : std::nullopt;
}

Status fillFromFile(HostTensor &tensor, const std::string &path) {
  Expected<NpyArray> array = readNpy(path, rawTypeOf(tensor.type()));
  if (!array)
    return array.error();
  const std::string name = "'" + tensor.name() + "'";
  if (array->type != tensor.type())
    return makeError(path + ": expected elements of type " + std::string(nameOf(tensor.type())) + " for " + name +
                     ", but got " + std::string(nameOf(array->type)));
  if (array->sizes != tensor.sizes())
    return makeError(path + ": expected shape " + formatShape(tensor.sizes()) + " for " + name + ", but got " +
                     formatShape(array->sizes));
  tensor.fromDense(array->data.data());
  return Status::success();
}

Status setElements(HostTensor &tensor, const std::string &assignment) {
  const size_t close = assignment.find("]=");
  const std::optional<double> value =
      close == std::string::npos ? std::nullopt : parseNumber(assignment.substr(close + 2));
  if (assignment.empty() || assignment[0] != '[' || !value)
    return makeError("expected an assignment such as " + tensor.name() + "[0,0,1,*]=nan, but got '" + tensor.name() +
                     assignment + "'");
  const std::vector<std::string> pieces = split(std::string_view(assignment).substr(1, close - 1), ',');
  const std::vector<int64_t> &sizes = tensor.sizes();
  if (pieces.size() != sizes.size())
    return makeError("expected " + std::to_string(sizes.size()) + " indices for '" + tensor.name() + "', but got '" +
                     assignment + "'");
  std::vector<int64_t> wanted(sizes.size(), -1);
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (pieces[d] == "*")
      continue;
    const std::optional<int64_t> index = parseInteger(pieces[d]);
    if (!index || *index < 0 || *index >= sizes[d])
      return makeError("expected index " + std::to_string(d) + " of '" + tensor.name() + "' to be * or between 0 and " +
                       std::to_string(sizes[d] - 1) + ", but got '" + pieces[d] + "'");
    wanted[d] = *index;
  }
  for (int64_t n = 0, count = tensor.elements(); n < count; ++n) {
    bool matches = true;
    for (size_t d = 0; d < sizes.size() && matches; ++d)
      matches = wanted[d] < 0 || indexAlong(sizes, d, n) == wanted[d];
    if (matches)
      tensor.set(n, *value);
  }
  return Status::success();
}

} // namespace fa::runtime
