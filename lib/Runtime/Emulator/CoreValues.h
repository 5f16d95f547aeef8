// One lane's value of a register, whatever its width; and the host's rounding mode for a while.
#pragma once
#include "Machine.h"
#include <cfenv>
#include <cstring>

namespace fa::runtime::emulator {

/// Registers of 1 to 4 bytes live in 32-bit lanes, of 8 in 64-bit lanes.
inline uint64_t readValue(Warp &warp, uint32_t offset, unsigned registerBytes, int lane) {
  return registerBytes == 8 ? warp.slot<uint64_t>(offset)[lane] : warp.slot<uint32_t>(offset)[lane];
}
inline void writeValue(Warp &warp, uint32_t offset, unsigned registerBytes, int lane, uint64_t value) {
  if (registerBytes == 8)
    warp.slot<uint64_t>(offset)[lane] = value;
  else
    warp.slot<uint32_t>(offset)[lane] = static_cast<uint32_t>(registerBytes == 2 ? value & 0xffff : value);
}

/// Keeps the compiler from computing with `value` at compile time or moving it across a change of the rounding mode.
template <typename T> inline T opaque(T value) {
  asm volatile("" : "+m"(value) : : "memory");
  return value;
}

class RoundingScope {
public:
  explicit RoundingScope(int mode) : before(std::fegetround()) {
    if (mode != before)
      std::fesetround(mode);
    changed = mode != before;
  }
  ~RoundingScope() {
    if (changed)
      std::fesetround(before);
  }
  RoundingScope(const RoundingScope &) = delete;
  RoundingScope &operator=(const RoundingScope &) = delete;

private:
  int before;
  bool changed = false;
};

} // namespace fa::runtime::emulator
