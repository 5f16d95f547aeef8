// One small attention in host memory, compiled through the CPU pipelines in any of their forms and called as a
// host function: kernels, launches and allocations included.
#pragma once
#include "FullSweep.h"
#include "fa/Reference/Verdict.h"
#include <functional>
#include <string>
#include <vector>

namespace fa::test {

/// The tiled orders and the unfused form as plain loops; vector code for this machine's vector unit, and (full
/// sweeps) for any with 128 bits.
enum class Form { QueryOuter, KeyOuter, Naive, Vector, Vector128 };
inline const std::vector<Form> allForms =
    fullSweep() ? std::vector{Form::QueryOuter, Form::KeyOuter, Form::Naive, Form::Vector, Form::Vector128}
                : std::vector{Form::QueryOuter, Form::KeyOuter, Form::Naive, Form::Vector};

/// A strided tensor inside a buffer whose other elements hold a canary.
class HostArray {
public:
  /// `order` lists the dims from the slowest to the fastest; `gap` elements follow every row of the fastest dim.
  HostArray(DType type, std::vector<int64_t> sizes, std::vector<int64_t> order = {}, int64_t gap = 0);
  void fill(const std::function<double(const std::vector<int64_t> &index)> &value);
  void fillNormal(unsigned seed);
  double at(std::vector<int64_t> index) const;
  void set(std::vector<int64_t> index, double value);
  /// Elements in row-major order.
  std::vector<double> values() const;
  /// True if no element outside the tensor changed.
  bool canariesIntact() const;
  reference::TensorView view() const;
  /// The memref descriptor {allocated, aligned, offset, sizes, strides}.
  std::vector<int64_t> descriptor() const;

private:
  int64_t place(const std::vector<int64_t> &index) const;
  void forEach(const std::function<void(const std::vector<int64_t> &)> &visit) const;
  DType type;
  std::vector<int64_t> sizes, strides;
  std::vector<std::byte> bytes;
};

/// Shapes, mask and score of an attention, and its tensors.
struct HostAttention {
  int64_t batch = 1, heads = 1, kvHeads = 1, seqQ = 6, seqKv = 6, depth = 4, depthV = 4;
  DType type = DType::F32;
  std::string clauses = {}; ///< scale, masks and regions as fa.attention spells them; may use %x (value of `extra[0]`)
  int64_t tileQ = 4, tileKv = 4;
  std::vector<int64_t> layout = {}; ///< of query, key, value and output; see HostArray
  int64_t gap = 0;
  double extra = 0;

  DType accumulator() const { return type == DType::F64 ? DType::F64 : DType::F32; }
  HostArray query() const { return {type, {batch, heads, seqQ, depth}, layout, gap}; }
  HostArray key() const { return {type, {batch, kvHeads, seqKv, depth}, layout, gap}; }
  HostArray value() const { return {type, {batch, kvHeads, seqKv, depthV}, layout, gap}; }

  /// MLIR of a host function @attention(q, k, v, o, lse, extra).
  std::string ir(Form form) const;
};

struct Result {
  HostArray output, lse;
};

/// Compiles and runs; adds a test failure if that fails.
Result run(const HostAttention &attention, Form form, const HostArray &query, const HostArray &key,
           const HostArray &value);

} // namespace fa::test
