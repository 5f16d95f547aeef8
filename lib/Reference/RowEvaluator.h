// Evaluates a block of rows of one head: exactly, and unfused in the input precision in each order of scaling.
#pragma once
#include "Bound.h"
#include "PackedHead.h"
#include "fa/Reference/Evaluation.h"

namespace fa::reference {

/// Rows of one head; `first` is the place of the first of them in the evaluation.
struct RowBlock {
  int64_t batch = 0, head = 0;
  size_t first = 0;
  size_t count = 0;
};

inline constexpr size_t rowsPerBlock = 32;

/// Element: float (exact sums in double, unfused in float) or double (long double and double).
template <typename Element> class RowEvaluator {
public:
  RowEvaluator(const Problem &problem, const EvaluationOptions &options, Evaluation &evaluation);
  /// Writes the block's part of the evaluation; returns its number of visible pairs.
  int64_t run(const RowBlock &block);

private:
  using Exact = std::conditional_t<std::is_same_v<Element, float>, double, long double>;
  using Plain = Element;

  const Problem &problem;
  const EvaluationOptions &options;
  Evaluation &evaluation;
  Bound bound;
  PackedHead<Element> head;
  std::vector<uint8_t> visible; ///< [row][key], 1 where the row sees the key
  std::vector<int32_t> seen;    ///< keys of the current row
  std::vector<BoundTerm> terms;

  int64_t queryOf(const RowBlock &block, size_t row) const;
  int64_t fillVisible(const RowBlock &block);
  template <typename T>
  void computeScores(const RowBlock &block, T factor, std::vector<T> &queries, std::vector<T> &scores) const;
  Plain queryFactor(ScaleOrder order) const;
  void collectSeen(size_t row);
  void finishExact(const RowBlock &block, size_t row, const Exact *scores, double queryNorm);
  void finishUnfused(const RowBlock &block, size_t row, UnfusedResult &result, const Plain *scores,
                     const Exact *exactScores);
  void unfusedLogits(const RowBlock &block, size_t row, ScaleOrder order, const Plain *scores, const Exact *exactScores,
                     std::vector<int32_t> &keys, std::vector<Plain> &logits);
  bool overflows(const RowBlock &block, size_t row, ScaleOrder order, int32_t key, Plain score, Exact exactScore) const;
  void computeBound(const RowBlock &block, size_t row, const std::vector<Exact> &weights, Exact sum);
};

} // namespace fa::reference
