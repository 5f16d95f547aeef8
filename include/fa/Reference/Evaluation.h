// Attention in float64 from the rounded inputs, the same computation unfused in the input precision (in both orders of
// scaling), and the a-priori error bound of a fused kernel: everything a verdict needs. Formulas: docs/Numerics.md.
#pragma once
#include "fa/Reference/Problem.h"

namespace fa::reference {

struct EvaluationOptions {
  DType outputType = DType::F32; ///< of the kernel's O: the unfused computation and the bound round to it
  DType lseType = DType::F32;    ///< of the kernel's LSE
  unsigned threads = 0;          ///< 0: one for each core
  int64_t sampleRows = 0;        ///< evaluate only this many rows, chosen by `seed`; 0: all rows
  uint64_t seed = 0;
  int64_t keyTile = 1; ///< keys between two rescalings in the kernel: a larger one tightens the bound
  bool unfused = true; ///< also the unfused computation in the input precision, in both orders
};

/// When an unfused computation scales. Libraries differ, and so do kernels.
enum class ScaleOrder {
  /// x = score(scale * (q . k)), P = e^(x - max x), LSE = max x + ln l.
  AfterProduct,
  /// y = q' . k, q' = q * (scale log2 e) rounded to the compute type; with a score function y = log2 e * score(q' . k),
  /// q' = q * scale. P = 2^y where l is far from the ends of the type's range, else 2^(y - max y).
  /// LSE = ln 2 * (max y or 0 + log2 l). l is the worst sum within 4 units in the last place of each P.
  BeforeProduct
};

/// The unfused computation in the input precision (docs/Numerics.md, section 3), in one order of scaling.
struct UnfusedResult {
  ScaleOrder order;
  std::vector<double> output; ///< [rows, Dv]; a row that sees no key: 0
  std::vector<double> lse;    ///< [rows], natural log; a row that sees no key: -inf
};

/// Results of the evaluated rows, in ascending order of row number (b * Hq + h) * Sq + i.
struct Evaluation {
  int64_t totalRows = 0;
  int64_t depthV = 0;
  std::vector<int64_t> rows;
  std::vector<double> output; ///< [rows, Dv]; a row that sees no key: 0
  std::vector<double> lse;    ///< [rows], natural log; a row that sees no key: -inf
  /// In both orders; empty unless asked for.
  std::vector<UnfusedResult> unfused;
  std::vector<double> outputBound; ///< [rows]: no element of O may be further off (inf: no bound)
  std::vector<double> lseBound;    ///< [rows]
  /// [rows]: effect of logits that are off by 4 unit roundoffs of their own size; part of atol.
  std::vector<double> outputNoise, lseNoise;
  /// [rows]: the logit of a visible pair is finite in exact arithmetic and is not in the compute type, in one of the
  /// orders. Empty unless `unfused`.
  std::vector<uint8_t> overflows;
  int64_t visiblePairs = 0; ///< (row, key) pairs seen by the evaluated rows

  bool sampled() const { return static_cast<int64_t>(rows.size()) < totalRows; }
};

/// Accumulates in float64 (x87 extended precision for f64 inputs, so that their own rounding errors are visible too).
/// NaN and infinity follow IEEE arithmetic over visible pairs only; a logit of -inf hides its key.
Expected<Evaluation> evaluate(const Problem &problem, const EvaluationOptions &options);

} // namespace fa::reference
