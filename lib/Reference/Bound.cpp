// Standard running-error analysis with unit roundoff u; gamma(k) = k u / (1 - k u) bounds k roundings in a row.
#include "Bound.h"
#include "Rounding.h"
#include <algorithm>
#include <cmath>
#include <limits>

namespace fa::reference {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

double gamma(double roundings, double unit) {
  const double product = roundings * unit;
  return product < 1 ? product / (1 - product) : infinity;
}

/// Roundings of a sum of n terms: tensor cores truncate (2 u) and align each group of 16 terms with its accumulator.
double roundingsOfSum(double terms) { return std::ceil(terms * 17 / 8) + 4; }

} // namespace

Bound::Bound(const Problem &problem, const EvaluationOptions &options)
    : keyTile(std::max<int64_t>(options.keyTile, 1)) {
  const DType input = problem.query.type, compute = computeType(input);
  unit = unitRoundoff(compute);
  dotFactor = std::abs(problem.scale) * gamma(roundingsOfSum(static_cast<double>(problem.depth())), unit);
  dotScaleFactor = std::abs(problem.scale) / std::sqrt(static_cast<double>(std::max<int64_t>(problem.depth(), 1)));
  const double weightUnit = input == compute ? 0 : unitRoundoff(input);
  // A kernel with narrow P may use a shorter polynomial: a quarter of P's own rounding is allowed for it.
  weightError = 4 * unit + weightUnit * 1.25;
  weightUnderflow = std::max(underflowError(input), underflowError(compute));
  outputUnit = unitRoundoff(options.outputType);
  outputUnderflow = underflowError(options.outputType);
  lseUnit = unitRoundoff(options.lseType);
}

double Bound::scoreError(double before, double after) const { return 16 * unit * (std::abs(before) + std::abs(after)); }

RowBound Bound::row(const std::vector<BoundTerm> &terms, double lse) const {
  double largestLogit = 0, valueSum = 0;
  for (const BoundTerm &term : terms) {
    largestLogit = std::max(largestLogit, std::abs(term.logit));
    valueSum += term.valueMax;
  }
  const double count = static_cast<double>(terms.size());
  const double rescales = std::ceil(count / static_cast<double>(keyTile));
  double weighted = 0, numerator = 0, denominator = 0; // sums of w |v|, of w eta |v|, of w eta
  RowBound bound;
  for (const BoundTerm &term : terms) {
    const double exponentError =
        term.dotError + 4 * unit * (std::abs(term.logit) + largestLogit) + 6 * unit * largestLogit;
    const double eta = std::expm1(exponentError) + weightError + 6 * unit * rescales;
    if (term.weight == 0) // 0 * infinity would hide the bound of the others
      continue;
    weighted += term.weight * term.valueMax;
    numerator += term.weight * eta * term.valueMax;
    denominator += term.weight * eta;
    const double noise = 4 * unit * term.weight * (std::abs(term.logit) + term.dotScale);
    bound.outputNoise += noise * term.valueMax * noise * term.valueMax; // keys err independently: squares add
    bound.lseNoise += noise;
  }
  const double sums = gamma(roundingsOfSum(count), unit);
  bound.outputNoise = std::sqrt(bound.outputNoise);
  denominator += sums + weightUnderflow * count;
  numerator += weightUnderflow * valueSum + sums * (weighted + numerator);
  if (!(denominator < 1)) {
    bound.output = bound.lse = infinity;
    return bound;
  }
  const double normalised = (numerator + weighted * denominator) / (1 - denominator);
  bound.output = normalised + (4 * unit + outputUnit) * (weighted + normalised) + outputUnderflow;
  bound.lse = -std::log1p(-denominator) + 8 * unit * (2 * largestLogit + std::abs(lse) + 1) + lseUnit * std::abs(lse);
  return bound;
}

} // namespace fa::reference
