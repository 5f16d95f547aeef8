// Bytes that attention moves between a device and its memory: plain arithmetic on shapes and tile sizes, for the naive
// three-pass form, FlashAttention-1 (key tiles outside) and FlashAttention-2 (query tiles outside).
// Source of the counts: T. Dao et al., FlashAttention (arXiv:2205.14135), section 3.2; FlashAttention-2
// (arXiv:2307.08691).
#pragma once
#include "fa/Analysis/AttentionShape.h"
#include <functional>
#include <string>
#include <vector>

namespace fa::analysis {

/// Keys [first, end) that some query of a tile sees.
struct KeyRange {
  int64_t first = 0;
  int64_t end = 0;
};

/// The runs of keys that queries [firstQuery, firstQuery + queries) see, ascending and disjoint. Empty function: all
/// keys.
using VisibleKeys =
    std::function<std::vector<KeyRange>(const AttentionShape &shape, int64_t firstQuery, int64_t queries)>;

/// key <= query + offset; offset = seqKv - seqQ for the bottom-right corner, 0 for the top-left.
VisibleKeys causalKeys(bool bottomRight);

struct TiledForm {
  int64_t tileQ = 128;
  int64_t tileKv = 128;
  VisibleKeys visible;
};

/// One tensor's bytes. `once`: as if caches kept it whole (linear in the sequence). `issued`: what the kernel asks for.
struct TensorTraffic {
  std::string tensor; ///< q, k, v, o, lse; naive: scores, weights; FlashAttention-1: state
  uint64_t readOnce = 0, writtenOnce = 0;
  uint64_t readIssued = 0, writtenIssued = 0;
};

struct Traffic {
  std::vector<TensorTraffic> tensors;
  /// Elements of [Sq, Sk] matrices read or written in device memory, over all heads. 0 for the tiled forms.
  uint64_t squareTouches = 0;
  /// (query tile, key tile) pairs visited, and all of them; 0 for the naive form.
  uint64_t visitedTiles = 0, allTiles = 0;

  uint64_t once() const;   ///< bytes, read and written
  uint64_t issued() const; ///< bytes, read and written
  const TensorTraffic *find(const std::string &tensor) const;
  /// One row for each tensor and the total; ends with a newline.
  std::string table() const;
};

/// Three passes: scores = Q K^T; weights = softmax(scores); O = weights V. Both matrices are stored in `stored` and
/// each is written once and read once. A mask saves nothing here.
Expected<Traffic> naiveTraffic(const AttentionShape &shape, DType stored);

/// Key tiles outside: K and V are read once for each query head, Q is read and the state (accumulator, row reference,
/// row sum in the compute type) loaded and stored at every visited tile; a last sweep loads the state and writes O.
Expected<Traffic> keyOuterTraffic(const AttentionShape &shape, const TiledForm &form);

/// Query tiles outside: Q is read and O written once, K and V are read at every visited tile. Tiles are clipped at the
/// end of the sequence, so that `issued` is what a kernel asks for to the byte.
Expected<Traffic> queryOuterTraffic(const AttentionShape &shape, const TiledForm &form);

/// All three forms at the given sequence lengths (seqQ = seqKv = N): bytes, and touches of N x N matrices.
Expected<std::string> trafficTable(AttentionShape shape, const TiledForm &form, const std::vector<int64_t> &lengths,
                                   DType stored);

/// 128, 256, ... 4096.
std::vector<int64_t> defaultTrafficLengths();

} // namespace fa::analysis
