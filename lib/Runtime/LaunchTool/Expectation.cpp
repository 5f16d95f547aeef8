// The comparison of the verdict (lib/Reference/Verdict.cpp), with bars that were worked out on another machine.
#include "Expectation.h"
#include "fa/Runtime/Host/Fill.h"
#include "fa/Support/Npy.h"
#include "fa/Support/Text.h"
#include <cmath>
#include <cstdlib>

namespace fa::runtime::launcher {
namespace {

/// Finite with finite; -inf (the LSE of an empty row) with -inf; NaN or infinity with NaN or infinity.
bool sameKind(double expected, double actual) {
  if (std::isfinite(expected) || std::isfinite(actual))
    return std::isfinite(expected) && std::isfinite(actual);
  const double empty = -std::numeric_limits<double>::infinity();
  return (expected == empty) == (actual == empty);
}

std::optional<double> parseBar(const std::string &text, const std::string &key) {
  if (!text.starts_with(key))
    return std::nullopt;
  const std::string number = text.substr(key.size());
  char *end = nullptr;
  const double value = std::strtod(number.c_str(), &end);
  return !number.empty() && !*end && value >= 0 ? std::optional(value) : std::nullopt;
}
} // namespace

Expected<Expectation> Expectation::parse(const std::string &text) {
  const size_t equals = text.find('=');
  const std::vector<std::string> parts =
      split(equals == std::string::npos ? std::string_view() : std::string_view(text).substr(equals + 1), ',');
  const std::optional<double> max = parts.size() == 3 ? parseBar(parts[1], "max=") : std::nullopt;
  const std::optional<double> rms = parts.size() == 3 ? parseBar(parts[2], "rms=") : std::nullopt;
  if (equals == 0 || equals == std::string::npos || parts[0].empty() || !max || !rms)
    return makeError("expected --expect=NAME=FILE.npy,max=X,rms=Y, but got '" + text + "'");
  return Expectation{text.substr(0, equals), parts[0], *max, *rms};
}

Expected<Comparison> compare(const Expectation &expectation, const HostTensor &tensor) {
  // f64 and f32 say so themselves; raw bits are of the tensor's own type.
  Expected<NpyArray> array = readNpy(expectation.file);
  if (const std::optional<DType> raw = rawTypeOf(tensor.type()); !array && raw)
    array = readNpy(expectation.file, raw);
  if (!array)
    return array.error();
  if (!isFloat(array->type))
    return makeError(expectation.file + ": expected floating-point values, but got " +
                     std::string(nameOf(array->type)));
  if (array->sizes != tensor.sizes())
    return makeError(expectation.file + ": expected shape " + formatShape(tensor.sizes()) + " for '" + tensor.name() +
                     "', but got " + formatShape(array->sizes));
  Comparison result;
  result.expectation = expectation;
  result.elements = tensor.elements();
  double squares = 0;
  int64_t finite = 0;
  for (int64_t n = 0; n < result.elements; ++n) {
    const double expected =
        loadAsDouble(array->type, array->data.data() + static_cast<size_t>(n) * sizeOf(array->type));
    const double actual = tensor.get(n);
    const bool differs = !sameKind(expected, actual);
    const double error = differs || !std::isfinite(expected) ? 0 : std::abs(actual - expected);
    if ((differs && result.mismatches == 0) || (result.mismatches == 0 && error > result.maxError)) {
      result.worst = n;
      result.expected = expected;
      result.actual = actual;
    }
    result.mismatches += differs;
    result.maxError = std::max(result.maxError, error);
    squares += error * error;
    finite += std::isfinite(expected) && !differs;
  }
  result.rmsError = std::sqrt(squares / static_cast<double>(std::max<int64_t>(finite, 1)));
  return result;
}

} // namespace fa::runtime::launcher
