// The a-priori error bound of a fused kernel, for one row. Derivation: docs/Numerics.md, section 4.
#pragma once
#include "fa/Reference/Evaluation.h"
#include <vector>

namespace fa::reference {

/// One visible key of a row.
struct BoundTerm {
  double logit = 0;    ///< x_j, after the score function; finite
  double weight = 0;   ///< w_j = p_j / l
  double dotError = 0; ///< bound on the error of x_j as computed
  double valueMax = 0; ///< largest |v_jd|
  double dotScale = 0; ///< |scale| |q| |k_j| / sqrt(D): typical size of the sums in the dot product
};

struct RowBound {
  double output = 0, lse = 0;           ///< worst case
  double outputNoise = 0, lseNoise = 0; ///< typical effect of rounded logits: 4 u per logit
};

class Bound {
public:
  Bound(const Problem &problem, const EvaluationOptions &options);

  /// Error of scale * (q . k) as computed: at most this, from the norms of both vectors.
  double scaledDotError(double queryNorm, double keyNorm) const { return dotFactor * queryNorm * keyNorm; }
  double scaledDotScale(double queryNorm, double keyNorm) const { return dotScaleFactor * queryNorm * keyNorm; }
  /// Extra error of evaluating the score function in the compute type.
  double scoreError(double before, double after) const;
  RowBound row(const std::vector<BoundTerm> &terms, double lse) const;

private:
  double unit; ///< of the compute type
  double dotFactor, dotScaleFactor;
  double weightError; ///< relative error of one exponential, plus rounding of P
  double weightUnderflow;
  double outputUnit, outputUnderflow, lseUnit;
  int64_t keyTile;
};

} // namespace fa::reference
