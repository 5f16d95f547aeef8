// One attention problem on host memory: strided tensors and plain callbacks. Shares no code with any kernel.
#pragma once
#include "fa/Support/DType.h"
#include "fa/Support/Expected.h"
#include <cstdint>
#include <functional>
#include <vector>

namespace fa::reference {

/// A strided tensor in host memory that somebody else owns. Sizes and strides in elements, outermost first; strides may
/// be 0 or negative.
struct TensorView {
  DType type = DType::F32;
  const void *data = nullptr; ///< the element at index (0, 0, ...)
  std::vector<int64_t> sizes;
  std::vector<int64_t> strides;

  /// Contiguous, last dimension fastest.
  static TensorView dense(DType type, const void *data, std::vector<int64_t> sizes);
  /// The element at a full index, as float64.
  double at(std::initializer_list<int64_t> index) const;
};

/// The logit that softmax sees, from the scaled dot product `s` of query (b, h, i) and key j.
using ScoreFunction = std::function<double(double s, int64_t b, int64_t h, int64_t i, int64_t j)>;
/// Whether query (b, h, i) sees key j.
using MaskFunction = std::function<bool(int64_t b, int64_t h, int64_t i, int64_t j)>;

/// O = softmax(score(scale * Q K^T), over visible keys) V. Order: dot, scale, score, mask, softmax, PV.
/// Callbacks are called from several threads at once; an empty one means identity, or that all keys are visible.
struct Problem {
  TensorView query; ///< [B, Hq, Sq, D]
  TensorView key;   ///< [B, Hkv, Sk, D]; kv head of query head h is h / (Hq / Hkv)
  TensorView value; ///< [B, Hkv, Sk, Dv]
  double scale = 1;
  ScoreFunction score;
  MaskFunction visible;

  int64_t batch() const { return query.sizes[0]; }
  int64_t heads() const { return query.sizes[1]; }
  int64_t kvHeads() const { return key.sizes[1]; }
  int64_t queries() const { return query.sizes[2]; }
  int64_t keys() const { return key.sizes[2]; }
  int64_t depth() const { return query.sizes[3]; }
  int64_t depthV() const { return value.sizes[3]; }
  int64_t rows() const { return batch() * heads() * queries(); }
};

/// Checks ranks, matching sizes, float types of Q, K and V (all the same) and grouped heads.
Status validate(const Problem &problem);

} // namespace fa::reference
