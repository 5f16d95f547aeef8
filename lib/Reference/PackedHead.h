// Keys (transposed) and values of one head as plain arrays, and the figures that the error bound needs.
#pragma once
#include "fa/Reference/Problem.h"
#include <vector>

namespace fa::reference {

/// `Element` is float for every input type that float represents exactly, double for f64.
template <typename Element> class PackedHead {
public:
  /// Packs (batch, kvHead) unless it is already there.
  void load(const Problem &problem, int64_t batch, int64_t kvHead);

  int64_t keyStride = 0;        ///< keys rounded up to `keyGroup`; the excess is 0
  std::vector<Element> keys;    ///< [D][keyStride]
  std::vector<Element> values;  ///< [Sk][Dv]
  std::vector<double> keyNorm;  ///< Euclidean norm of each key
  std::vector<double> valueMax; ///< largest magnitude of each value row

private:
  int64_t loadedBatch = -1, loadedHead = -1;
};

/// Copies one row (b, h, s, :) of a tensor.
template <typename Element> void loadRow(const TensorView &tensor, int64_t b, int64_t h, int64_t s, Element *row);

} // namespace fa::reference
