// Aligned memory with a checked limit, and arenas made of it.
#include "fa/Runtime/CPU/ScratchArena.h"
#include "fa/Support/Text.h"
#include <algorithm>
#include <cstdlib>
#include <string>
#include <unistd.h>

namespace fa::runtime {

static uint64_t physicalMemory() {
  const long pages = ::sysconf(_SC_PHYS_PAGES), size = ::sysconf(_SC_PAGE_SIZE);
  return pages > 0 && size > 0 ? static_cast<uint64_t>(pages) * static_cast<uint64_t>(size) : UINT64_MAX;
}

void AlignedDeleter::operator()(void *memory) const { std::free(memory); }

Expected<AlignedMemory> allocateAligned(uint64_t bytes, size_t alignment, const char *what) {
  const std::string wanted = std::string("cannot allocate ") + formatBytes(bytes) + " for " + what;
  if (bytes > physicalMemory())
    return makeError(wanted + ": the machine has " + formatBytes(physicalMemory()));
  const size_t rounded = (std::max<uint64_t>(bytes, 1) + alignment - 1) / alignment * alignment;
  AlignedMemory memory(std::aligned_alloc(alignment, rounded));
  if (!memory)
    return makeError(wanted + ": out of memory");
  return memory;
}

Status ScratchArena::reserve(uint64_t wanted) {
  if (wanted <= bytes)
    return Status::success();
  Expected<AlignedMemory> larger = allocateAligned(wanted, alignment, "scratch memory");
  if (!larger)
    return larger.error();
  memory = std::move(*larger);
  bytes = wanted;
  return Status::success();
}

} // namespace fa::runtime
