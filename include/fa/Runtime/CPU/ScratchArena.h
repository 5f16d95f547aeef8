// Scratch memory of one thread, kept from launch to launch.
#pragma once
#include "fa/Support/Expected.h"
#include <cstddef>
#include <cstdint>
#include <memory>

namespace fa::runtime {

/// Frees memory of allocateAligned.
struct AlignedDeleter {
  void operator()(void *memory) const;
};
using AlignedMemory = std::unique_ptr<void, AlignedDeleter>;

/// `bytes` (0 included) at a multiple of `alignment`, a power of two. Refuses more than the machine's memory: the
/// system would overcommit and end the process later. `what` is named in the error.
Expected<AlignedMemory> allocateAligned(uint64_t bytes, size_t alignment, const char *what);

/// Grows to the largest size asked for and never shrinks: the same warm pages serve every launch. Starts on a page, so
/// that distances modulo 4 KiB inside it are those of the kernel's layout.
class ScratchArena {
public:
  static constexpr size_t alignment = 4096;

  /// At least `bytes`, uninitialised; a former address is invalid after growth. Fails when there is no memory.
  Status reserve(uint64_t bytes);
  void *data() const { return memory.get(); }
  uint64_t size() const { return bytes; }

private:
  AlignedMemory memory;
  uint64_t bytes = 0;
};

} // namespace fa::runtime
