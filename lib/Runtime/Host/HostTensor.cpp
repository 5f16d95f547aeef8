// Allocation, element access and the check of the bytes around a tensor.
#include "fa/Runtime/Host/HostTensor.h"
#include "fa/Support/Text.h"
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

namespace fa::runtime {
namespace {
constexpr std::byte canary{0xFF};

uint64_t physicalMemory() {
  const long pages = ::sysconf(_SC_PHYS_PAGES), size = ::sysconf(_SC_PAGE_SIZE);
  return pages > 0 && size > 0 ? static_cast<uint64_t>(pages) * static_cast<uint64_t>(size) : UINT64_MAX;
}

bool allCanary(const std::byte *begin, size_t bytes) {
  return std::all_of(begin, begin + bytes, [](std::byte b) { return b == canary; });
}
} // namespace

TensorLayout TensorLayout::contiguous(DType type, std::vector<int64_t> sizes) {
  TensorLayout layout{type, std::move(sizes), {}, 0};
  layout.strides.resize(layout.sizes.size());
  int64_t stride = 1;
  for (size_t d = layout.sizes.size(); d-- > 0;) {
    layout.strides[d] = stride;
    // An overflow here is caught by the size check of the allocation.
    if (__builtin_mul_overflow(stride, std::max<int64_t>(layout.sizes[d], 1), &stride))
      stride = INT64_MAX;
  }
  return layout;
}

TensorLayout TensorLayout::withOpenStrides(DType type, const std::vector<int64_t> &sizes,
                                           const std::vector<std::optional<int64_t>> &strides, int64_t offset) {
  TensorLayout layout = contiguous(type, sizes);
  layout.offset = offset;
  int64_t reach = 1; // elements that the dimensions inside span
  for (size_t d = sizes.size(); d-- > 0;) {
    layout.strides[d] = strides[d].value_or(reach);
    int64_t span = 0;
    if (__builtin_mul_overflow(std::abs(layout.strides[d]), std::max<int64_t>(sizes[d], 1), &span))
      span = INT64_MAX;
    reach = std::max(reach, span);
  }
  return layout;
}

int64_t TensorLayout::elements() const {
  int64_t count = 1;
  for (int64_t size : sizes)
    count *= size;
  return count;
}

Expected<HostTensor> HostTensor::allocate(std::string name, TensorLayout layout) {
  const std::string what = "tensor '" + name + "' (" + formatShape(layout.sizes) + ")";
  if (layout.sizes.size() != layout.strides.size())
    return makeError("expected as many strides as sizes for " + what);
  __int128 low = 0, high = 0;
  bool empty = false;
  for (size_t d = 0; d < layout.sizes.size(); ++d) {
    if (layout.sizes[d] < 0)
      return makeError("expected sizes of 0 or more for " + what);
    empty |= layout.sizes[d] == 0;
    const __int128 reach = static_cast<__int128>(layout.sizes[d] - 1) * layout.strides[d];
    (reach < 0 ? low : high) += reach;
  }
  const __int128 bytes = empty ? 0 : (high - low + 1) * static_cast<__int128>(sizeOf(layout.type));
  const uint64_t limit = physicalMemory();
  if (bytes > static_cast<__int128>(limit))
    return makeError("cannot allocate " + what + ": it needs " +
                     (bytes > static_cast<__int128>(INT64_MAX) ? "more than 2^63 bytes"
                                                               : formatBytes(static_cast<uint64_t>(bytes))) +
                     ", but the machine has " + formatBytes(limit) + "; use smaller sizes");
  HostTensor tensor;
  tensor.bytesInSpan = static_cast<size_t>(bytes);
  tensor.first = empty ? 0 : static_cast<int64_t>(-low);
  const size_t total = (tensor.bytesInSpan + 2 * guardBytes + 63) / 64 * 64;
  auto *memory = static_cast<std::byte *>(std::aligned_alloc(64, total));
  if (!memory)
    return makeError("cannot allocate " + formatBytes(total) + " for " + what + ": out of memory");
  tensor.memory = {memory, [](std::byte *p) { std::free(p); }};
  tensor.tensorName = std::move(name);
  tensor.tensorLayout = std::move(layout);
  tensor.clear();
  return tensor;
}

void HostTensor::clear() { std::memset(memory.get(), static_cast<int>(canary), bytesInSpan + 2 * guardBytes); }

runtime::Tensor HostTensor::view() const {
  const size_t size = sizeOf(type());
  // A kernel adds the layout's offset to the base, so the base may lie before the span.
  const auto element0 = reinterpret_cast<uintptr_t>(span()) + static_cast<uint64_t>(first) * size;
  return {type(), element0 - static_cast<uint64_t>(tensorLayout.offset) * size, tensorLayout.offset, sizes(),
          tensorLayout.strides};
}

/// Calls fn(offset from element 0) in row-major order.
template <typename Fn> void HostTensor::forEach(Fn fn) const {
  const int64_t count = elements();
  const size_t rank = sizes().size();
  std::vector<int64_t> index(rank, 0);
  int64_t offset = 0;
  for (int64_t n = 0; n < count; ++n) {
    fn(offset);
    for (size_t d = rank; d-- > 0;) {
      offset += tensorLayout.strides[d];
      if (++index[d] < sizes()[d])
        break;
      offset -= tensorLayout.strides[d] * sizes()[d];
      index[d] = 0;
    }
  }
}

int64_t HostTensor::offsetOf(int64_t index) const {
  int64_t offset = first;
  for (size_t d = sizes().size(); d-- > 0;) {
    offset += index % sizes()[d] * tensorLayout.strides[d];
    index /= sizes()[d];
  }
  return offset;
}

double HostTensor::get(int64_t index) const {
  return loadAsDouble(type(), span() + static_cast<size_t>(offsetOf(index)) * sizeOf(type()));
}

void HostTensor::set(int64_t index, double value) {
  storeFromDouble(type(), span() + static_cast<size_t>(offsetOf(index)) * sizeOf(type()), value);
}

std::vector<std::byte> HostTensor::toDense() const {
  const size_t size = sizeOf(type());
  std::vector<std::byte> dense(static_cast<size_t>(elements()) * size);
  std::byte *out = dense.data();
  forEach([&](int64_t offset) {
    std::memcpy(out, span() + static_cast<size_t>(first + offset) * size, size);
    out += size;
  });
  return dense;
}

void HostTensor::fromDense(const std::byte *dense) {
  const size_t size = sizeOf(type());
  forEach([&](int64_t offset) {
    std::memcpy(span() + static_cast<size_t>(first + offset) * size, dense, size);
    dense += size;
  });
}

Status HostTensor::checkSurroundings() const {
  if (!allCanary(memory.get(), guardBytes))
    return makeError("kernel wrote before the start of '" + tensorName + "'");
  if (!allCanary(span() + bytesInSpan, guardBytes))
    return makeError("kernel wrote past the end of '" + tensorName + "'");
  const size_t size = sizeOf(type());
  if (static_cast<size_t>(elements()) * size == bytesInSpan)
    return Status::success();
  std::vector<bool> used(bytesInSpan / size, false);
  forEach([&](int64_t offset) { used[static_cast<size_t>(first + offset)] = true; });
  for (size_t n = 0; n < used.size(); ++n)
    if (!used[n] && !allCanary(span() + n * size, size))
      return makeError("kernel wrote between the rows of '" + tensorName + "', " + std::to_string(n) +
                       " elements after its start");
  return Status::success();
}

} // namespace fa::runtime
