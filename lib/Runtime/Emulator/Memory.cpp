// Allocations of device memory.
#include "fa/Runtime/Emulator/Memory.h"
#include "fa/Runtime/Emulator/Emulator.h"
#include <cstdio>
#include <cstring>
#include <new>

namespace fa::runtime::emulator {

static constexpr size_t redZone = 4096;
static constexpr size_t alignment = 256;
static constexpr size_t quarantineLimit = size_t(64) << 20;

Expected<uint64_t> GlobalMemory::allocate(size_t bytes, const std::string &name) {
  if (bytes > limit || inUse > limit - bytes)
    return makeError("expected at most " + std::to_string(limit - inUse) +
                         " more bytes of device memory, but got a request for " + std::to_string(bytes),
                     OutOfMemory);
  auto allocation = std::make_unique<Allocation>();
  allocation->bytes = bytes;
  allocation->storage.reset(new (std::nothrow) uint8_t[bytes + 2 * redZone + alignment]);
  allocation->initialised.reset(new (std::nothrow) uint8_t[bytes / 8 + 1]());
  if (!allocation->storage || !allocation->initialised)
    return makeError("expected " + std::to_string(bytes) +
                         " bytes of host memory for a device allocation, but got none",
                     OutOfMemory);
  auto start = reinterpret_cast<uintptr_t>(allocation->storage.get()) + redZone;
  allocation->address = (start + alignment - 1) / alignment * alignment;
  allocation->name = name;
  allocation->index = made++;
  inUse += bytes;
  uint64_t address = allocation->address;
  table[address] = std::move(allocation);
  return address;
}

Status GlobalMemory::release(uint64_t address) {
  if (!address)
    return Status::success();
  auto found = table.find(address);
  if (found == table.end() || found->second->released) {
    char text[32];
    std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(address));
    return makeError(std::string("expected the start of a live allocation to release, but got ") + text +
                         (describeNearest(address).empty() ? "" : " (" + describeNearest(address) + ")"),
                     InvalidValue);
  }
  Allocation &allocation = *found->second;
  allocation.released = true;
  inUse -= allocation.bytes;
  quarantined += allocation.bytes;
  // Released memory stays in quarantine, so that a use after release is recognised; the oldest addresses go first.
  for (auto it = table.begin(); it != table.end() && quarantined > quarantineLimit;) {
    if (it->second->released) {
      quarantined -= it->second->bytes;
      it = table.erase(it);
    } else {
      ++it;
    }
  }
  return Status::success();
}

Allocation *GlobalMemory::find(uint64_t address, size_t size) {
  auto after = table.upper_bound(address);
  if (after == table.begin())
    return nullptr;
  Allocation *allocation = std::prev(after)->second.get();
  return !allocation->released && allocation->contains(address, size) ? allocation : nullptr;
}

static std::string describe(const Allocation &allocation) {
  char text[64];
  std::snprintf(text, sizeof text, "%zu bytes at 0x%llx", allocation.bytes,
                static_cast<unsigned long long>(allocation.address));
  std::string name = allocation.name.empty() ? "an allocation" : "\"" + allocation.name + "\"";
  return name + " (" + text + (allocation.released ? ", released)" : ")");
}

std::string GlobalMemory::describeNearest(uint64_t address) const {
  const Allocation *best = nullptr;
  uint64_t distance = ~0ull;
  bool after = false;
  auto next = table.upper_bound(address);
  if (next != table.end()) {
    best = next->second.get();
    distance = best->address - address;
  }
  if (next != table.begin()) {
    const Allocation *before = std::prev(next)->second.get();
    uint64_t end = before->address + before->bytes;
    if (address < end || (before->bytes == 0 && address == before->address))
      return std::to_string(address - before->address) + " bytes into " + describe(*before);
    if (address - end < distance) {
      best = before;
      distance = address - end;
      after = true;
    }
  }
  if (!best || distance > (1ull << 40))
    return "";
  return std::to_string(distance) + (after ? " bytes after the end of " : " bytes before ") + describe(*best);
}

void GlobalMemory::markInitialised(Allocation &allocation, uint64_t address, size_t size) {
  uint8_t *bits = allocation.initialised.get();
  size_t from = address - allocation.address, to = from + size;
  auto mark = [&](size_t byte, uint8_t mask) {
    if ((__atomic_load_n(bits + byte, __ATOMIC_RELAXED) & mask) != mask)
      __atomic_fetch_or(bits + byte, mask, __ATOMIC_RELAXED);
  };
  while (from < to) {
    size_t inByte = std::min<size_t>(8 - from % 8, to - from);
    mark(from / 8, static_cast<uint8_t>(((1u << inByte) - 1) << (from % 8)));
    from += inByte;
  }
}

bool GlobalMemory::isInitialised(const Allocation &allocation, uint64_t address, size_t size) const {
  const uint8_t *bits = allocation.initialised.get();
  size_t from = address - allocation.address, to = from + size;
  while (from < to) {
    size_t inByte = std::min<size_t>(8 - from % 8, to - from);
    uint8_t mask = static_cast<uint8_t>(((1u << inByte) - 1) << (from % 8));
    if ((__atomic_load_n(bits + from / 8, __ATOMIC_RELAXED) & mask) != mask)
      return false;
    from += inByte;
  }
  return true;
}

} // namespace fa::runtime::emulator
