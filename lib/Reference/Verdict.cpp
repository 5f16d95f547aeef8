// Compares a kernel's tensors with an evaluation, element by element, and applies the verdict rule.
#include "fa/Reference/Verdict.h"
#include "Rounding.h"
#include "fa/Support/Text.h"
#include <algorithm>
#include <cmath>
#include <limits>

namespace fa::reference {
namespace {

/// One element, or one figure, for each order of the unfused computation; NaN (ignored) for one that does not exist.
using UnfusedValues = std::array<double, 2>;

UnfusedValues unfusedValues(const Evaluation &evaluation, std::vector<double> UnfusedResult::*tensor, size_t at) {
  UnfusedValues values;
  values.fill(std::numeric_limits<double>::quiet_NaN());
  for (size_t order = 0; order < evaluation.unfused.size(); ++order)
    values[order] = (evaluation.unfused[order].*tensor)[at];
  return values;
}

/// Errors of one tensor, gathered over its elements.
class Collector {
public:
  Collector(std::string name, DType type) : type(type) { errors.name = std::move(name); }

  /// `unfused` has one result for each order; `bound` is the a-priori bound of this element, `noise` its share of atol.
  void add(const std::array<int64_t, 4> &index, double expected, const UnfusedValues &unfused, double actual,
           double bound, double noise) {
    ++errors.elements;
    if (!sameKind(expected, actual)) {
      if (errors.nonFiniteMismatches++ == 0)
        errors.firstMismatch = Difference{index, expected, actual};
      return;
    }
    if (!std::isfinite(expected) || !std::isfinite(actual))
      return;
    const double error = std::abs(actual - expected);
    if (error > errors.maxError || finite == 0)
      errors.worst = {index, expected, actual};
    errors.maxError = std::max(errors.maxError, error);
    squares += error * error;
    signedSum += actual - expected;
    for (size_t order = 0; order < unfused.size(); ++order)
      if (std::isfinite(unfused[order])) {
        const double difference = unfused[order] - expected;
        errors.unfusedMaxError = std::max(errors.unfusedMaxError, std::abs(difference));
        unfusedSquares[order] += difference * difference;
      }
    largest = std::max(largest, std::abs(expected));
    expectedSquares += expected * expected;
    if (std::isfinite(noise)) {
      largestNoise = std::max(largestNoise, noise);
      noiseSquares += noise * noise;
    }
    if (std::isfinite(bound)) {
      errors.largestBound = std::max(errors.largestBound, bound);
      if (error > 0)
        errors.boundRatio = std::max(errors.boundRatio, error / bound);
    }
    ++finite;
  }

  /// `absolute` and `relative` (to the largest, and to the root mean square, of the reference) make up atol.
  TensorErrors finish(double absolute, double relative) {
    const double count = static_cast<double>(std::max<int64_t>(finite, 1));
    errors.rmsError = std::sqrt(squares / count);
    errors.unfusedRmsError = std::sqrt(*std::max_element(unfusedSquares.begin(), unfusedSquares.end()) / count);
    errors.meanError = signedSum / count;
    errors.maxBar = 2 * errors.unfusedMaxError + absolute + relative * largest + largestNoise;
    errors.rmsBar = 2 * errors.unfusedRmsError + absolute + relative * std::sqrt(expectedSquares / count) +
                    std::sqrt(noiseSquares / count);
    return errors;
  }

private:
  DType type;
  TensorErrors errors;
  int64_t finite = 0;
  double squares = 0, signedSum = 0, expectedSquares = 0, largest = 0;
  UnfusedValues unfusedSquares{};
  double noiseSquares = 0, largestNoise = 0;

  /// Finite with finite, -inf (an empty row's LSE) with -inf, NaN or infinity with NaN or infinity: weights that
  /// underflow make NaN of what is infinite in exact arithmetic, so those two are one kind. Where the output type
  /// overflows, the reference rounded to it decides.
  bool sameKind(double expected, double actual) const {
    if (std::isfinite(expected) == std::isfinite(actual))
      return std::isfinite(expected) || isEmptyLse(expected) == isEmptyLse(actual);
    return std::isfinite(expected) && std::isinf(actual) && roundTo(type, expected) == actual;
  }
  bool isEmptyLse(double value) const {
    return errors.name == "lse" && value == -std::numeric_limits<double>::infinity();
  }
};

Status expectShape(const char *name, const TensorView &tensor, const std::vector<int64_t> &sizes) {
  if (tensor.sizes == sizes && tensor.strides.size() == sizes.size())
    return Status::success();
  return makeError(std::string("expected ") + name + " of shape " + formatShape(sizes) + ", but got " +
                   formatShape(tensor.sizes));
}

std::string formatIndex(const TensorErrors &errors, const Difference &difference) {
  const auto &index = difference.index;
  std::string text = "[" + std::to_string(index[0]) + ", " + std::to_string(index[1]) + ", " + std::to_string(index[2]);
  return text + (errors.name == "lse" ? "]" : ", " + std::to_string(index[3]) + "]");
}

std::string describe(const TensorErrors &errors, const Difference &difference) {
  return errors.name + formatIndex(errors, difference) + ": expected " + formatNumber(difference.expected, 9) +
         ", but got " + formatNumber(difference.actual, 9);
}

std::string reportTensor(const TensorErrors &errors) {
  const auto number = [](double value) { return formatNumber(value, 3); };
  std::string text = errors.name + ": max error " + number(errors.maxError) + " (bar " + number(errors.maxBar) +
                     ", unfused " + number(errors.unfusedMaxError) + "), rms error " + number(errors.rmsError) +
                     " (bar " + number(errors.rmsBar) + ", unfused " + number(errors.unfusedRmsError) + "), bias " +
                     number(errors.meanError) + ", a-priori bound " + number(errors.largestBound) + " (" +
                     number(100 * errors.boundRatio) + " % used)\n";
  if (errors.maxError > errors.maxBar)
    text += "  failed: max error is above its bar\n";
  if (errors.rmsError > errors.rmsBar)
    text += "  failed: rms error is above its bar\n";
  if (!errors.withinBound())
    text += "  failed: an element is further off than its a-priori bound\n";
  if (!errors.withinBars() || !errors.withinBound())
    text += "  worst: " + describe(errors, errors.worst) + "\n";
  if (errors.firstMismatch)
    text += "  failed: " + formatCount(errors.nonFiniteMismatches) +
            " elements are finite on one side only; first: " + describe(errors, *errors.firstMismatch) + "\n";
  return text;
}

} // namespace

Expected<Verdict> compare(const Problem &problem, const Evaluation &evaluation, const TensorView &output,
                          const TensorView *lse, const TaintFunction &taint) {
  const int64_t batch = problem.batch(), heads = problem.heads(), queries = problem.queries(), depth = problem.depthV();
  if (Status status = expectShape("the output", output, {batch, heads, queries, depth}); !status)
    return status.error();
  if (lse)
    if (Status status = expectShape("the LSE", *lse, {batch, heads, queries}); !status)
      return status.error();
  if (evaluation.unfused.empty())
    return makeError("expected an evaluation with the unfused computation, but it was not asked for");
  Verdict verdict;
  Collector outputs("output", output.type), lses("lse", lse ? lse->type : DType::F32);
  for (size_t n = 0; n < evaluation.rows.size(); ++n) {
    const int64_t row = evaluation.rows[n];
    const int64_t b = row / queries / heads, h = row / queries % heads, i = row % queries;
    if (evaluation.overflows[n]) {
      ++verdict.overflowingRows;
      continue;
    }
    for (int64_t d = 0; d < depth; ++d) {
      const size_t at = n * static_cast<size_t>(depth) + static_cast<size_t>(d);
      const double actual = output.at({b, h, i, d});
      if (taint && !std::isfinite(actual) && std::isfinite(evaluation.output[at]) && taint(b, h, i, d)) {
        ++verdict.taintedElements;
        continue;
      }
      outputs.add({b, h, i, d}, evaluation.output[at], unfusedValues(evaluation, &UnfusedResult::output, at), actual,
                  evaluation.outputBound[n], evaluation.outputNoise[n]);
    }
    if (lse)
      lses.add({b, h, i, 0}, evaluation.lse[n], unfusedValues(evaluation, &UnfusedResult::lse, n), lse->at({b, h, i}),
               evaluation.lseBound[n], evaluation.lseNoise[n]);
  }
  verdict.computeType = nameOf(computeType(problem.query.type));
  verdict.checkedRows = static_cast<int64_t>(evaluation.rows.size());
  verdict.totalRows = evaluation.totalRows;
  const DType input = problem.query.type;
  verdict.output = outputs.finish(0, 4 * std::max(unitRoundoff(input), unitRoundoff(output.type)));
  if (lse) {
    const double unit = std::max(unitRoundoff(computeType(input)), unitRoundoff(lse->type));
    verdict.lse = lses.finish(4 * unit + unitRoundoff(input), 4 * unit);
  }
  return verdict;
}

Expected<Verdict> check(const Problem &problem, const TensorView &output, const TensorView *lse,
                        EvaluationOptions options) {
  options.outputType = output.type;
  options.lseType = lse ? lse->type : computeType(problem.query.type);
  options.unfused = true;
  const Expected<Evaluation> evaluation = evaluate(problem, options);
  if (!evaluation)
    return evaluation.error();
  return compare(problem, *evaluation, output, lse);
}

std::string Verdict::report() const {
  std::string text = std::string("check ") + (passed() ? "passed" : "FAILED") + ": " + formatCount(checkedRows) +
                     " of " + formatCount(totalRows) + " rows" + (sampled() ? " (sampled)" : "") + "\n";
  if (overflowingRows)
    text += "  " + formatCount(overflowingRows) + " rows overflow in this precision (" + computeType +
            "), as their unfused computation does: not judged\n";
  if (taintedElements)
    text += "  " + formatCount(taintedElements) +
            " output elements are not finite because a visited tile of values is not: allowed on this target\n";
  text += "  " + reportTensor(output);
  if (lse)
    text += "  " + reportTensor(*lse);
  return text;
}

} // namespace fa::reference
