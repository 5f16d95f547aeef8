// The TMA engine's data movement: boxes of a tensor map between global and shared memory, swizzled; bulk reductions.
// Source: PTX ISA, "Tensors" (tiled mode, swizzle, out-of-bounds access) and cp.async.bulk.tensor.
#pragma once
#include "fa/Runtime/Emulator/Engine/TensorMap.h"
#include "fa/Runtime/Emulator/Engine/Types.h"
#include "fa/Support/Expected.h"
#include <functional>
#include <span>
#include <string_view>

namespace fa::runtime::emulator {

/// One run of a box along dimension 0: `elements` elements at box byte offset `offset`; of these the `valid` elements
/// from `first` on are inside the tensor; `address` is the global address of element `first`.
/// A run is contiguous in global memory: elementStrides[0] is always 1.
struct BoxRow {
  uint32_t offset;
  uint32_t elements;
  uint32_t first;
  uint32_t valid;
  uint64_t address;
};

/// Calls `visit(const BoxRow &)` for each run of the box at `coordinates` (rank entries, innermost first), in box
/// order.
template <typename Visit> void forEachBoxRow(const TensorMap &map, const int32_t *coordinates, Visit &&visit) {
  std::array<uint32_t, 5> index{};
  uint32_t size = static_cast<uint32_t>(map.strides[0]), columns = map.boxElements(0), offset = 0;
  // Range of j with 0 <= c0 + j < size0.
  int64_t c0 = coordinates[0], room = static_cast<int64_t>(map.sizes[0]) - c0;
  int64_t low = c0 >= 0 ? 0 : -c0;
  int64_t high = room < columns ? room : columns;
  low = low < columns ? low : columns;
  uint32_t valid = high > low ? static_cast<uint32_t>(high - low) : 0;
  while (true) {
    bool inside = true;
    uint64_t address = map.base + static_cast<uint64_t>(c0 + low) * size;
    for (unsigned dim = 1; dim < map.rank; ++dim) {
      int64_t position = coordinates[dim] + static_cast<int64_t>(index[dim]) * map.elementStrides[dim];
      inside = inside && position >= 0 && static_cast<uint64_t>(position) < map.sizes[dim];
      address += static_cast<uint64_t>(position) * map.strides[dim];
    }
    visit(BoxRow{offset, columns, static_cast<uint32_t>(low), inside ? valid : 0, address});
    offset += columns * size;
    unsigned dim = 1;
    for (; dim < map.rank; ++dim) {
      if (++index[dim] < map.boxElements(dim))
        break;
      index[dim] = 0;
    }
    if (dim >= map.rank)
      return;
  }
}

/// Gives the host bytes of [address, address + bytes) of global memory, or null when they are not all accessible.
using GlobalResolver = std::function<uint8_t *(uint64_t address, size_t bytes)>;

/// Global bytes moved (in-bounds elements only).
struct BoxTraffic {
  uint64_t globalBytes = 0;
};

/// Loads a box to shared address `destination`; out-of-bounds elements are filled. Fails (code 700) with the global
/// address that is not accessible, or when the box does not fit in the window; refuses interleaved maps.
Expected<BoxTraffic> loadBox(const TensorMap &map, const int32_t *coordinates, SharedWindow shared,
                             uint32_t destination, const GlobalResolver &resolve);
/// Stores a box from shared address `source`; elements outside the tensor are not written. Negative start coordinates
/// are refused (PTX restricts them for this direction).
Expected<BoxTraffic> storeBox(const TensorMap &map, const int32_t *coordinates, SharedWindow shared, uint32_t source,
                              const GlobalResolver &resolve);

enum class Reduction : uint8_t { Add, Min, Max, Inc, Dec, And, Or, Xor };
std::string_view nameOf(Reduction reduction);
/// Whether cp.reduce.async.bulk.tensor allows the pair.
bool supports(Reduction reduction, TensorMapType type);
/// cp.reduce.async.bulk.tensor: global = reduction(global, shared) element by element. f16 and bf16 round each addition
/// to nearest even.
Expected<BoxTraffic> reduceBox(const TensorMap &map, const int32_t *coordinates, SharedWindow shared, uint32_t source,
                               Reduction reduction, const GlobalResolver &resolve);
/// Non-tensor cp.reduce.async.bulk: `bytes` bytes of elements of `type`; the spans do not overlap.
void reduceBulk(Reduction reduction, TensorMapType type, uint8_t *destination, const uint8_t *source, size_t bytes);

} // namespace fa::runtime::emulator
