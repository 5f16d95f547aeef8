// Device memory of the emulator: real allocations with red zones in an interval table, so that a device address is a
// host pointer and every access can be judged. Initialised bytes are tracked with one bit each.
#pragma once
#include "fa/Support/Expected.h"
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace fa::runtime::emulator {

/// One device allocation. `host` equals the device address.
struct Allocation {
  uint64_t address = 0;
  size_t bytes = 0;
  std::string name;
  bool released = false;
  std::unique_ptr<uint8_t[]> storage;     ///< red zone, bytes, red zone
  std::unique_ptr<uint8_t[]> initialised; ///< one bit a byte
  size_t index = 0;                       ///< position among all allocations ever made (for counters)

  bool contains(uint64_t from, size_t size) const {
    return from >= address && size <= bytes && from - address <= bytes - size;
  }
};

class GlobalMemory {
public:
  explicit GlobalMemory(uint64_t limit) : limit(limit) {}
  Expected<uint64_t> allocate(size_t bytes, const std::string &name);
  Status release(uint64_t address);
  /// The live allocation that holds [address, address + size), or null.
  Allocation *find(uint64_t address, size_t size);
  /// For reports: `8 bytes after "q" (4096 bytes at 0x...)`.
  std::string describeNearest(uint64_t address) const;
  void markInitialised(Allocation &allocation, uint64_t address, size_t size);
  bool isInitialised(const Allocation &allocation, uint64_t address, size_t size) const;
  size_t bytesInUse() const { return inUse; }
  size_t allocationsMade() const { return made; }
  const std::map<uint64_t, std::unique_ptr<Allocation>> &allocations() const { return table; }

private:
  std::map<uint64_t, std::unique_ptr<Allocation>>
      table; ///< by address; released ones stay while they fit the quarantine
  uint64_t limit;
  size_t inUse = 0, made = 0, quarantined = 0;
};

/// Address windows of generic addresses that are not global memory. Global addresses are host pointers (bit 63..48 =
/// 0).
namespace window {
inline constexpr uint64_t shared = 0x5A00'0000'0000'0000ull; ///< + (CTA rank in cluster << 24) + byte offset
inline constexpr uint64_t local = 0x5B00'0000'0000'0000ull;
inline constexpr uint64_t param = 0x5C00'0000'0000'0000ull;
inline constexpr uint64_t mask = 0xFF00'0000'0000'0000ull;
/// The first shared byte handed out: catches null pointers, keeps 1024-byte alignment.
inline constexpr uint32_t sharedBase = 1024;
} // namespace window

} // namespace fa::runtime::emulator
