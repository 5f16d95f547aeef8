// Tensor maps in the emulator's own encoding.
#include "fa/Runtime/Emulator/Engine/TensorMap.h"
#include "Shim.h"
#include <cstring>

using namespace fa::shim;
namespace emulator = fa::runtime::emulator;

namespace {

bool isAligned(const void *map) { return map && reinterpret_cast<uintptr_t>(map) % 64 == 0; }

void write(void *to, const emulator::TensorMap &map) {
  const emulator::EncodedTensorMap bytes = encodeTensorMap(map);
  std::memcpy(to, bytes.data(), bytes.size());
}

} // namespace

FA_SHIM_ENTRY int cuTensorMapEncodeTiled(void *to, int type, uint32_t rank, void *base, const uint64_t *sizes,
                                         const uint64_t *strides, const uint32_t *box, const uint32_t *elementStrides,
                                         int interleave, int swizzle, int l2Promotion, int fill) {
  return entry([&]() -> int {
    if (!isAligned(to))
      return report("cuTensorMapEncodeTiled", fa::makeError("expected a tensor map aligned to 64 bytes"), invalidValue);
    const auto map = emulator::makeTensorMap({.type = type,
                                              .rank = rank,
                                              .base = reinterpret_cast<uint64_t>(base),
                                              .sizes = sizes,
                                              .strides = strides,
                                              .box = box,
                                              .elementStrides = elementStrides,
                                              .interleave = interleave,
                                              .swizzle = swizzle,
                                              .l2Promotion = l2Promotion,
                                              .fill = fill});
    if (!map)
      return report("cuTensorMapEncodeTiled", map.error(), invalidValue);
    write(to, *map);
    return success;
  });
}

FA_SHIM_ENTRY int cuTensorMapReplaceAddress(void *at, void *base) {
  return entry([&]() -> int {
    if (!isAligned(at))
      return invalidValue;
    auto map = emulator::decodeTensorMap(std::span<const uint8_t, 128>(static_cast<const uint8_t *>(at), 128));
    if (!map)
      return report("cuTensorMapReplaceAddress", map.error(), invalidValue);
    if (!base || reinterpret_cast<uint64_t>(base) % 16)
      return invalidValue;
    map->base = reinterpret_cast<uint64_t>(base);
    write(at, *map);
    return success;
  });
}
