// The textbook computation, row by row: scores, score function, softmax over the visible keys, weighted sum of values.
#include "RowEvaluator.h"
#include "Kernels.h"
#include "Rounding.h"
#include "Softmax.h"
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace fa::reference {
namespace {

size_t roundUp(size_t value, int64_t multiple) {
  const auto m = static_cast<size_t>(multiple);
  return (value + m - 1) / m * m;
}

/// Of the score and weight tensors of a library without fusion: the input type, or bf16 where that is 8 bits wide.
DType storedType(DType input) { return sizeOf(input) == 1 ? DType::BF16 : input; }

/// A logit on its way through the passes of such a library. From the first pass on whose type is too narrow for it, it
/// stays as it was computed, as in a fused kernel.
template <typename T> class StoredLogit {
public:
  explicit StoredLogit(DType type) : type(type) {}

  T operator()(T logit) {
    const T rounded = fits ? roundTo(type, logit) : logit;
    fits = fits && std::isfinite(rounded);
    return fits ? rounded : logit;
  }

private:
  DType type;
  bool fits = true;
};

} // namespace

template <typename Element>
RowEvaluator<Element>::RowEvaluator(const Problem &problem, const EvaluationOptions &options, Evaluation &evaluation)
    : problem(problem), options(options), evaluation(evaluation), bound(problem, options) {}

template <typename Element> int64_t RowEvaluator<Element>::queryOf(const RowBlock &block, size_t row) const {
  return evaluation.rows[block.first + row] % problem.queries();
}

template <typename Element> int64_t RowEvaluator<Element>::fillVisible(const RowBlock &block) {
  const auto stride = static_cast<size_t>(head.keyStride);
  const int64_t keys = problem.keys();
  visible.assign(roundUp(block.count, rowGroup) * stride, 0);
  int64_t pairs = 0;
  for (size_t row = 0; row < block.count; ++row) {
    uint8_t *flags = visible.data() + row * stride;
    const int64_t i = queryOf(block, row);
    for (int64_t j = 0; j < keys; ++j) {
      flags[j] = !problem.visible || problem.visible(block.batch, block.head, i, j);
      pairs += flags[j];
    }
  }
  return pairs;
}

/// Dot products of all rows, multiplied by `factor` and rounded, with all groups of keys that some row of a row group
/// sees; others are left undefined.
template <typename Element>
template <typename T>
void RowEvaluator<Element>::computeScores(const RowBlock &block, T factor, std::vector<T> &queries,
                                          std::vector<T> &scores) const {
  const int64_t depth = problem.depth(), stride = head.keyStride;
  const size_t rows = roundUp(block.count, rowGroup);
  queries.assign(rows * static_cast<size_t>(depth), 0);
  scores.resize(rows * static_cast<size_t>(stride));
  for (size_t row = 0; row < block.count; ++row)
    loadRow(problem.query, block.batch, block.head, queryOf(block, row),
            queries.data() + row * static_cast<size_t>(depth));
  for (T &element : queries)
    element *= factor;
  for (size_t row = 0; row < rows; row += rowGroup)
    for (int64_t j = 0; j < stride; j += keyGroup) {
      bool any = false;
      for (size_t r = row; r < row + rowGroup; ++r) {
        const uint8_t *flags = visible.data() + r * static_cast<size_t>(stride) + static_cast<size_t>(j);
        any |= std::any_of(flags, flags + keyGroup, [](uint8_t flag) { return flag != 0; });
      }
      if (any)
        dots(queries.data() + row * static_cast<size_t>(depth), depth, head.keys.data() + j, stride, depth,
             scores.data() + row * static_cast<size_t>(stride) + static_cast<size_t>(j), stride, keyGroup);
    }
}

template <typename Element> void RowEvaluator<Element>::collectSeen(size_t row) {
  const uint8_t *flags = visible.data() + row * static_cast<size_t>(head.keyStride);
  seen.clear();
  for (int64_t j = 0; j < problem.keys(); ++j)
    if (flags[j])
      seen.push_back(static_cast<int32_t>(j));
}

template <typename Element>
void RowEvaluator<Element>::finishExact(const RowBlock &block, size_t row, const Exact *scores, double queryNorm) {
  const int64_t i = queryOf(block, row), depthV = problem.depthV();
  const auto scale = static_cast<Exact>(problem.scale);
  std::vector<Exact> weights;
  std::vector<int32_t> keys; // whose logit does not hide them
  terms.clear();
  for (const int32_t key : seen) {
    const auto j = static_cast<size_t>(key);
    Exact x = scores[j] * scale;
    double error = bound.scaledDotError(queryNorm, head.keyNorm[j]);
    if (problem.score) {
      const auto at = [&](double s) { return problem.score(s, block.batch, block.head, i, key); };
      const auto before = static_cast<double>(x);
      const double after = at(before);
      error = std::max(std::abs(at(before + error) - after), std::abs(at(before - error) - after)) +
              bound.scoreError(before, after);
      x = after;
    }
    if (x == minusInfinity<Exact>)
      continue;
    keys.push_back(key);
    weights.push_back(x);
    terms.push_back(
        {static_cast<double>(x), 0, error, head.valueMax[j], bound.scaledDotScale(queryNorm, head.keyNorm[j])});
  }
  const Exact reference = largest(weights);
  const size_t place = block.first + row;
  double *output = evaluation.output.data() + place * static_cast<size_t>(depthV);
  if (reference == minusInfinity<Exact>) { // sees no key
    std::fill(output, output + depthV, 0.0);
    evaluation.lse[place] = -std::numeric_limits<double>::infinity();
    return;
  }
  Exact sum = 0;
  for (Exact &weight : weights)
    sum += weight = std::exp(weight - reference);
  std::vector<Exact> result(static_cast<size_t>(depthV), 0);
  accumulate(weights.data(), keys.data(), static_cast<int64_t>(keys.size()), head.values.data(), depthV, depthV,
             result.data());
  for (int64_t d = 0; d < depthV; ++d)
    output[d] = static_cast<double>(result[static_cast<size_t>(d)] / sum);
  evaluation.lse[place] = static_cast<double>(reference + std::log(sum));
  computeBound(block, row, weights, sum);
}

template <typename Element>
void RowEvaluator<Element>::computeBound(const RowBlock &block, size_t row, const std::vector<Exact> &weights,
                                         Exact sum) {
  size_t kept = 0;
  for (size_t n = 0; n < terms.size(); ++n) {
    terms[n].weight = static_cast<double>(weights[n] / sum);
    if (std::isfinite(terms[n].logit) && std::isfinite(terms[n].weight))
      terms[kept++] = terms[n];
  }
  terms.resize(kept);
  const size_t place = block.first + row;
  const RowBound result = bound.row(terms, evaluation.lse[place]);
  evaluation.outputBound[place] = result.output;
  evaluation.lseBound[place] = result.lse;
  evaluation.outputNoise[place] = result.outputNoise;
  evaluation.lseNoise[place] = result.lseNoise;
}

/// What the queries of an unfused computation are multiplied by before the product.
template <typename Element>
typename RowEvaluator<Element>::Plain RowEvaluator<Element>::queryFactor(ScaleOrder order) const {
  if (order == ScaleOrder::AfterProduct)
    return 1;
  return static_cast<Plain>(problem.score ? problem.scale : problem.scale * std::numbers::log2e);
}

/// Whether a logit leaves the compute type though its exact value is finite: no kernel of this precision and order can
/// have it.
template <typename Element>
bool RowEvaluator<Element>::overflows(const RowBlock &block, size_t row, ScaleOrder order, int32_t key, Plain score,
                                      Exact exactScore) const {
  Plain logit = order == ScaleOrder::AfterProduct ? score * static_cast<Plain>(problem.scale) : score;
  Exact exact = exactScore * static_cast<Exact>(problem.scale);
  if (problem.score) {
    const int64_t i = queryOf(block, row);
    logit = static_cast<Plain>(problem.score(logit, block.batch, block.head, i, key));
    exact = problem.score(static_cast<double>(exact), block.batch, block.head, i, key);
  }
  return std::isfinite(exact) && !std::isfinite(logit);
}

/// What e or 2 is raised to, for the keys that no logit of -inf hides; rounded where a library without fusion stores a
/// tensor.
template <typename Element>
void RowEvaluator<Element>::unfusedLogits(const RowBlock &block, size_t row, ScaleOrder order, const Plain *scores,
                                          const Exact *exactScores, std::vector<int32_t> &keys,
                                          std::vector<Plain> &logits) {
  const DType stored = storedType(problem.query.type);
  const int64_t i = queryOf(block, row);
  uint8_t &overflow = evaluation.overflows[block.first + row];
  for (const int32_t key : seen) {
    StoredLogit<Plain> storedLogit(stored);
    Plain x = storedLogit(scores[key]);
    if (order == ScaleOrder::AfterProduct)
      x = storedLogit(x * static_cast<Plain>(problem.scale));
    if (problem.score)
      x = storedLogit(static_cast<Plain>(problem.score(x, block.batch, block.head, i, key)));
    if (!std::isfinite(x) && !overflow)
      overflow = overflows(block, row, order, key, scores[key], exactScores[key]);
    if (x == minusInfinity<Plain>)
      continue;
    keys.push_back(key);
    logits.push_back(problem.score && order == ScaleOrder::BeforeProduct ? x * std::numbers::log2e_v<Plain> : x);
  }
}

template <typename Element>
void RowEvaluator<Element>::finishUnfused(const RowBlock &block, size_t row, UnfusedResult &result, const Plain *scores,
                                          const Exact *exactScores) {
  const DType stored = storedType(problem.query.type);
  const int64_t depthV = problem.depthV();
  const size_t place = block.first + row;
  std::vector<int32_t> keys;
  std::vector<Plain> weights;
  unfusedLogits(block, row, result.order, scores, exactScores, keys, weights);
  const auto [reference, sum] = result.order == ScaleOrder::BeforeProduct ? powersOfTwo(weights) : powersOfE(weights);
  double *output = result.output.data() + place * static_cast<size_t>(depthV);
  if (reference == minusInfinity<Plain>) {
    std::fill(output, output + depthV, 0.0);
    result.lse[place] = -std::numeric_limits<double>::infinity();
    return;
  }
  for (Plain &weight : weights)
    weight = roundTo(stored, weight / sum);
  std::vector<Plain> values(static_cast<size_t>(depthV), 0);
  accumulate(weights.data(), keys.data(), static_cast<int64_t>(keys.size()), head.values.data(), depthV, depthV,
             values.data());
  for (int64_t d = 0; d < depthV; ++d)
    output[d] = static_cast<double>(roundTo(options.outputType, values[static_cast<size_t>(d)]));
  const Plain lse = result.order == ScaleOrder::BeforeProduct
                        ? std::numbers::ln2_v<Plain> * (reference + std::log2(sum))
                        : reference + std::log(sum);
  result.lse[place] = static_cast<double>(roundTo(options.lseType, lse));
}

template <typename Element> int64_t RowEvaluator<Element>::run(const RowBlock &block) {
  const int64_t depth = problem.depth();
  head.load(problem, block.batch, block.head / (problem.heads() / problem.kvHeads()));
  const int64_t pairs = fillVisible(block);
  const auto stride = static_cast<size_t>(head.keyStride);
  std::vector<Exact> exactQueries, exactScores;
  computeScores(block, Exact(1), exactQueries, exactScores);
  std::vector<Plain> plainQueries;
  std::vector<std::vector<Plain>> plainScores(evaluation.unfused.size());
  for (size_t order = 0; order < plainScores.size(); ++order)
    computeScores(block, queryFactor(evaluation.unfused[order].order), plainQueries, plainScores[order]);
  for (size_t row = 0; row < block.count; ++row) {
    collectSeen(row);
    double squares = 0;
    for (int64_t d = 0; d < depth; ++d) {
      const auto q = static_cast<double>(exactQueries[row * static_cast<size_t>(depth) + static_cast<size_t>(d)]);
      squares += q * q;
    }
    finishExact(block, row, exactScores.data() + row * stride, std::sqrt(squares));
    for (size_t order = 0; order < plainScores.size(); ++order)
      finishUnfused(block, row, evaluation.unfused[order], plainScores[order].data() + row * stride,
                    exactScores.data() + row * stride);
  }
  return pairs;
}

template class RowEvaluator<float>;
template class RowEvaluator<double>;

} // namespace fa::reference
