// Happens-before race detection over global memory. Only buffers that the kernel writes get a shadow, from their first
// write on. CTAs of different clusters run on different host threads; a cell is therefore one atomic word.
#pragma once
#include "Races.h"

namespace fa::runtime::emulator {

/// The last writer and the last reader of every 4 bytes of an allocation.
struct GlobalShadow {
  explicit GlobalShadow(size_t bytes);
  ~GlobalShadow();
  GlobalShadow(const GlobalShadow &) = delete;
  GlobalShadow &operator=(const GlobalShadow &) = delete;
  uint64_t *writers = nullptr, *readers = nullptr; ///< see Access in GlobalRaces.cpp; 0: nobody
  uint32_t *lines = nullptr;                       ///< of the writers
};

/// Judges one access of `bytes` bytes by an agent of `cta`, and remembers it. An access after which the cluster
/// synchronised through global atomics is not judged against other clusters: that order is not tracked.
void checkGlobalAccess(const RaceDetector::Agent &agent, const Cta &cta, const Allocation &allocation, uint64_t address,
                       size_t bytes, bool write);

} // namespace fa::runtime::emulator
