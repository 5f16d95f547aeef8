// A strided tensor in host memory inside guard bytes, so that a kernel that touches anything else is found out.
#pragma once
#include "fa/Runtime/Driver.h"
#include "fa/Support/DType.h"
#include "fa/Support/Expected.h"
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace fa::runtime {

/// Shape and layout of a tensor, in elements. Strides may be 0 (broadcast) or negative.
struct TensorLayout {
  DType type = DType::F32;
  std::vector<int64_t> sizes;
  std::vector<int64_t> strides;
  int64_t offset = 0; ///< of the first element from the start of the buffer

  /// Row-major.
  static TensorLayout contiguous(DType type, std::vector<int64_t> sizes);
  /// Row-major where a stride is open; a known stride inside keeps the dimensions outside apart.
  static TensorLayout withOpenStrides(DType type, const std::vector<int64_t> &sizes,
                                      const std::vector<std::optional<int64_t>> &strides, int64_t offset);
  int64_t elements() const;
};

/// Owns the memory of one tensor. All bytes start as 0xFF (NaN in every float type, -1 in integers): an element that a
/// kernel forgets to write, or reads past the end, shows up as NaN.
class HostTensor {
public:
  /// Refuses negative sizes, sizes that overflow, and more than the machine's memory; the error names the tensor.
  static Expected<HostTensor> allocate(std::string name, TensorLayout layout);

  const std::string &name() const { return tensorName; }
  const TensorLayout &layout() const { return tensorLayout; }
  DType type() const { return tensorLayout.type; }
  const std::vector<int64_t> &sizes() const { return tensorLayout.sizes; }
  int64_t elements() const { return tensorLayout.elements(); }
  /// As a kernel on the CPU sees it: its base is a pointer of this process.
  runtime::Tensor view() const;

  /// Bytes from the lowest to the highest element, without the guards: what another device must hold.
  std::byte *span() const { return memory.get() + guardBytes; }
  size_t spanBytes() const { return bytesInSpan; }
  /// Elements from the start of the span to element (0, ..., 0).
  int64_t firstElement() const { return first; }

  /// One element by its row-major index.
  double get(int64_t index) const;
  void set(int64_t index, double value);
  /// Row-major copies of all elements.
  std::vector<std::byte> toDense() const;
  void fromDense(const std::byte *dense);

  /// Fills everything, guards and gaps included, with 0xFF again.
  void clear();
  /// Fails if a byte outside the elements changed: before or after the tensor, or in a gap between its rows.
  Status checkSurroundings() const;

private:
  HostTensor() = default;
  static constexpr size_t guardBytes = 4096;

  std::string tensorName;
  TensorLayout tensorLayout;
  int64_t first = 0;
  size_t bytesInSpan = 0;
  std::unique_ptr<std::byte[], void (*)(std::byte *)> memory{nullptr, nullptr};

  template <typename Fn> void forEach(Fn fn) const;
  int64_t offsetOf(int64_t index) const;
};

} // namespace fa::runtime
