// One attention problem as flags describe it, and its IR.
#pragma once
#include "fa/Support/DType.h"
#include "fa/Support/Expected.h"
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace fa::execution {

/// Which corner the diagonal of a mask (or the distance of ALiBi) starts from: (0, 0), or the last query and last key.
enum class Corner : uint8_t { TopLeft, BottomRight };
/// top_left, bottom_right
Expected<Corner> parseCorner(const std::string &text);
const char *nameOf(Corner corner);

/// Keys p - left <= j <= p + right, inclusive, around position p of the query; no value: unlimited.
struct Window {
  std::optional<int64_t> left, right;
  Corner corner = Corner::BottomRight;
};

/// How the logical dims [batch, heads, sequence, depth] lie in memory, outermost first. Rows and Strided leave strides
/// and offsets of all tensors open in the IR: any strides, with the depth contiguous (Rows) or not (Strided).
enum class Layout : uint8_t { Bhsd, Bshd, Rows, Strided };

/// O = softmax(mask(score(scale Q K^T))) V with score = softcap, then bias, then ALiBi.
/// Q [batch, heads, seqQ, depth], K [batch, kvHeads, seqKv, depth], V [batch, kvHeads, seqKv, depthV],
/// O [batch, heads, seqQ, depthV] of `dtype`; LSE [batch, heads, seqQ], natural log, f32 (f64 for f64).
struct AttentionSpec {
  int64_t batch = 1, heads = 1, kvHeads = 1;
  int64_t seqQ = 512, seqKv = 512;
  int64_t depth = 64, depthV = 64;
  DType dtype = DType::F32;
  std::optional<Corner> causal;
  std::optional<Window> window;
  std::optional<double> scale;   ///< none: 1/sqrt(depth)
  std::optional<double> softcap; ///< s = cap tanh(s / cap)
  std::optional<Corner> alibi;   ///< s -= slopes[h] |p - j|, p = i or i + seqKv - seqQ; slopes is an f32 tensor [heads]
  std::vector<int64_t> bias;    ///< s += bias[b, h, i, j]: shape of the tensor, aligned to the right, sizes 1 broadcast
  Layout layout = Layout::Bhsd; ///< of Q, K, V and O
  bool dynamicLengths = false;  ///< seqQ and seqKv are `?` in the IR: one kernel for all lengths
  bool lse = true;

  /// Fails for a contradiction, naming the flags involved.
  Status validate() const;
  /// The shape of a bias from its spelling: sizes or the names B, H, Q, K joined by `x`, as in 1xHx1xK.
  Expected<std::vector<int64_t>> parseBias(const std::string &text) const;
  /// Sizes that the IR leaves open, by tensor name.
  std::map<std::string, std::vector<int64_t>> openShapes() const;
  /// A module with one function @attention over memrefs named q, k, v, bias, slopes, o, lse; text of MLIR.
  std::string toIR() const;
  /// One line for people, such as `f32, 32 query heads over 8, causal bottom_right`.
  std::string describe() const;
};

/// `LEFT,RIGHT` or `LEFT,RIGHT,CORNER`; `none` is unlimited, negative numbers are refused. Without a corner,
/// `fallback`.
Expected<Window> parseWindow(const std::string &text, std::optional<Corner> fallback);

} // namespace fa::execution
