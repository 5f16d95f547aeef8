// The online softmax: what a row depends on, why there is a row reference, and what its rescaling does to exact sums.
#include "Lesson.h"
#include <cmath>
#include <limits>

namespace fa::execution::lesson {
namespace {
/// One head of float32, length n, depth 16, with a score region.
std::string shiftedIR(int64_t n, double shift) {
  const std::string type = "memref<1x1x" + std::to_string(n) + "x16xf32>";
  return "func.func @attention(%q: " + type + " {fa.name = \"q\"}, %k: " + type + " {fa.name = \"k\"}, %v: " + type +
         " {fa.name = \"v\"}, %o: " + type + " {fa.name = \"o\"}) {\n  %shift = arith.constant " +
         std::to_string(shift) + " : f32\n  fa.attention ins(%q, %k, %v : " + type + ", " + type + ", " + type +
         ") outs(%o : " + type + R"()
    score (%s: f32, %b: index, %h: index, %i: index, %j: index) {
      %x = arith.addf %s, %shift : f32
      fa.yield %x : f32
    }
  return
}
)";
}

/// The first element of O for row 0 without a row reference: sum e^x v / sum e^x in float32.
float withoutReference(const HostTensor &q, const HostTensor &k, const HostTensor &v, int64_t n, float shift,
                       float &denominator) {
  float numerator = 0;
  denominator = 0;
  for (int64_t j = 0; j < n; ++j) {
    float dot = 0;
    for (int64_t d = 0; d < 16; ++d)
      dot += static_cast<float>(q.get(d) * k.get(j * 16 + d));
    const float weight = std::exp(dot / 4 + shift);
    numerator += weight * static_cast<float>(v.get(j * 16));
    denominator += weight;
  }
  return numerator / denominator;
}
} // namespace

Expected<bool> rowsSeeEarlierKeysOnly(Lesson &lesson) {
  AttentionSpec spec;
  spec.seqQ = spec.seqKv = 96;
  spec.depth = spec.depthV = 16;
  spec.causal = Corner::TopLeft;
  CompileOptions options = lesson.options;
  options.tileQ = 32;
  options.tileKv = 32;
  Expected<std::unique_ptr<Trial>> trial = Trial::create(spec.toIR(), options);
  if (!trial)
    return trial.error();
  Expected<std::vector<double>> before = (*trial)->run();
  if (!before)
    return before.error();
  constexpr int64_t first = 41, depth = 16;
  for (int64_t n = first * depth; n < 96 * depth; ++n) {
    (*trial)->tensor("k").set(n, 1000.0 - static_cast<double>(n));
    (*trial)->tensor("v").set(n, std::numeric_limits<double>::quiet_NaN());
  }
  Expected<std::vector<double>> after = (*trial)->run();
  if (!after)
    return after.error();
  int64_t changedBelow = 0, unchangedAbove = 0;
  for (int64_t n = 0; n < 96 * depth; ++n) {
    const bool same = (*before)[n] == (*after)[n];
    if (n < first * depth)
      changedBelow += !same;
    else
      unchangedAbove += same;
  }
  lesson.line("float32, 96 x 96, tiles of 32 x 32; keys and values from 41 on are replaced, the values by NaN");
  lesson.line("rows 0-40: %ld of %ld elements change a bit; rows 41-95: %ld of %ld stay", changedBelow, first * depth,
              unchangedAbove, (96 - first) * depth);
  return lesson.verdict(changedBelow == 0 && unchangedAbove == 0,
                        "rows before the change keep every bit although NaN stands in their tile");
}

Expected<bool> shiftedLogitsStayFinite(Lesson &lesson) {
  constexpr int64_t n = 64;
  constexpr double shift = 500;
  Expected<std::unique_ptr<Trial>> trial = Trial::create(shiftedIR(n, shift), lesson.options);
  if (!trial)
    return trial.error();
  Expected<std::vector<double>> kernel = (*trial)->run(), stable = (*trial)->reference();
  if (!kernel)
    return kernel.error();
  if (!stable)
    return stable.error();
  float denominator = 0;
  const float direct = withoutReference((*trial)->tensor("q"), (*trial)->tensor("k"), (*trial)->tensor("v"), n,
                                        static_cast<float>(shift), denominator);
  const double difference = largestDifference(*kernel, *stable);
  lesson.line("float32, every logit shifted by +500; O[0, 0]:");
  lesson.line("e^x without a row reference   %14s  (sum of e^x = %g)", std::isnan(direct) ? "NaN" : "finite",
              denominator);
  lesson.line("this kernel                   %14.6f", (*kernel)[0]);
  lesson.line("stable float64 reference      %14.6f  largest difference of all elements %.1e", (*stable)[0],
              difference);
  // A logit near 500 is rounded to 2^-15; its weight, and O with it, is off by no more than a few of these.
  return lesson.verdict(!std::isfinite(direct) && difference < 2e-4,
                        "subtracting the row reference keeps e^x at or below 1; without it float32 overflows");
}

Expected<bool> rescaleFactorIsOne(Lesson &lesson) {
  AttentionSpec spec;
  spec.seqQ = 1;
  spec.seqKv = 256;
  spec.depth = 1;
  spec.depthV = 4;
  spec.scale = 1.0;
  CompileOptions options = lesson.options;
  options.tileQ = 1;
  options.tileKv = 4;
  Expected<std::unique_ptr<Trial>> trial = Trial::create(spec.toIR(), options);
  if (!trial)
    return trial.error();
  std::vector<double> exact(4);
  for (int64_t n = 0; n < 256 * 4; ++n) {
    const double value = static_cast<double>((n * 37) % 101 - 50);
    (*trial)->tensor("v").set(n, value);
    exact[n % 4] += value / 256; // a multiple of 2^-8: exact
  }
  lesson.line("float32, one query, 256 keys in tiles of 4, all logits equal, values are integers");
  lesson.line("the reference is found in the first tile and stays for 63 more; one inexact factor would spoil the sum");
  double worst = 0;
  for (double logit : {0.0, -8192.0, 1.4e11}) {
    (*trial)->tensor("q").set(0, logit);
    for (int64_t j = 0; j < 256; ++j)
      (*trial)->tensor("k").set(j, 1.0);
    Expected<std::vector<double>> result = (*trial)->run();
    if (!result)
      return result.error();
    const double difference = largestDifference(*result, exact);
    lesson.line("logits of %8.2g: O differs from the exact mean by %g", logit, difference);
    worst = std::max(worst, difference);
  }
  return lesson.verdict(worst == 0, "the mean is exact to the last bit, so each factor was exactly 1");
}

} // namespace fa::execution::lesson
