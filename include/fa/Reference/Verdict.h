// The one verdict rule: a result passes if its maximum and its root-mean-square error are at most twice those of the
// unfused computation (the worse of its two orders) plus atol, and no element exceeds its a-priori bound. Rule and
// constants: docs/Numerics.md.
#pragma once
#include "fa/Reference/Evaluation.h"
#include <array>
#include <functional>
#include <optional>
#include <string>

namespace fa::reference {

/// One element where result and reference differ. Index (b, h, i, d); d is 0 for LSE.
struct Difference {
  std::array<int64_t, 4> index{};
  double expected = 0;
  double actual = 0;
};

/// How far one tensor (O or LSE) is from the reference.
struct TensorErrors {
  std::string name;
  int64_t elements = 0; ///< compared; those finite on both sides enter the error figures
  double maxError = 0, rmsError = 0;
  double meanError = 0;                            ///< signed: the bias
  double unfusedMaxError = 0, unfusedRmsError = 0; ///< each the larger of the orders in Evaluation::unfused
  double maxBar = 0, rmsBar = 0;                   ///< 2 * unfused + atol
  double boundRatio = 0;                           ///< largest error / a-priori bound; at most 1 when the bound holds
  double largestBound = 0;                         ///< of the finite bounds
  Difference worst;
  int64_t nonFiniteMismatches = 0; ///< finite on one side only, or an empty row that is not exactly empty
  std::optional<Difference> firstMismatch;

  bool withinBars() const { return maxError <= maxBar && rmsError <= rmsBar; }
  bool withinBound() const { return boundRatio <= 1; }
  bool passed() const { return nonFiniteMismatches == 0 && withinBars() && withinBound(); }
};

struct Verdict {
  TensorErrors output;
  std::optional<TensorErrors> lse;
  int64_t checkedRows = 0, totalRows = 0;
  int64_t overflowingRows = 0; ///< of the checked ones: not judged (Evaluation::overflows)
  int64_t taintedElements = 0; ///< of the output: not finite where `taint` allows it
  std::string computeType;     ///< in which rows overflow

  bool sampled() const { return checkedRows < totalRows; }
  bool passed() const { return output.passed() && (!lse || lse->passed()); }
  /// A few lines for people: both errors against both bars, the bound, the worst element, and why it failed.
  std::string report() const;
};

/// Whether a target may make element (b, h, i, d) of the output infinite or NaN because of a value that the row does
/// not see (docs/Numerics.md, section 3).
using TaintFunction = std::function<bool(int64_t b, int64_t h, int64_t i, int64_t d)>;

/// Compares kernel results with an evaluation that has the unfused part. `output` is [B, Hq, Sq, Dv], `lse` [B, Hq, Sq]
/// or null; any type, any strides.
Expected<Verdict> compare(const Problem &problem, const Evaluation &evaluation, const TensorView &output,
                          const TensorView *lse = nullptr, const TaintFunction &taint = {});

/// evaluate, then compare; output types are taken from the tensors.
Expected<Verdict> check(const Problem &problem, const TensorView &output, const TensorView *lse = nullptr,
                        EvaluationOptions options = {});

} // namespace fa::reference
