// Device and pinned host memory. "Async" calls are done when they return.
#include "Shim.h"
#include <algorithm>

namespace fa::shim {
namespace {

int result(const char *call, const Status &status, int fallback = invalidValue) {
  return status ? success : report(call, status.error(), fallback);
}

int allocate(const char *call, uint64_t *address, size_t bytes) {
  return entryInContext([&](Context &context) -> int {
    if (!address || bytes == 0)
      return invalidValue;
    const Expected<runtime::DeviceAddress> memory = context.emulator->allocate(bytes);
    if (!memory)
      return report(call, memory.error(), outOfMemory);
    *address = *memory;
    return success;
  });
}

int release(const char *call, uint64_t address) {
  return entryInContext([&](Context &context) -> int {
    return address == 0 ? success : result(call, context.emulator->release(address));
  });
}

int fill(const char *call, uint64_t to, uint32_t pattern, unsigned width, size_t count) {
  return entryInContext([&](Context &context) -> int {
    return to % width ? invalidValue : result(call, context.emulator->fill(to, pattern, width, count));
  });
}

int copyToDevice(const char *call, uint64_t to, const void *from, size_t bytes) {
  return entryInContext([&](Context &context) -> int {
    return !from && bytes ? invalidValue : result(call, context.emulator->copyToDevice(to, from, bytes));
  });
}
int copyToHost(const char *call, void *to, uint64_t from, size_t bytes) {
  return entryInContext([&](Context &context) -> int {
    return !to && bytes ? invalidValue : result(call, context.emulator->copyToHost(to, from, bytes));
  });
}
int copyOnDevice(const char *call, uint64_t to, uint64_t from, size_t bytes) {
  return entryInContext(
      [&](Context &context) -> int { return result(call, context.emulator->copyOnDevice(to, from, bytes)); });
}

template <typename Body> int onStream(Stream *stream, Body &&body) {
  const int known = entry([&]() -> int { return isStream(stream) ? success : invalidHandle; });
  return known == success ? body() : known;
}

} // namespace
} // namespace fa::shim

using namespace fa::shim;

FA_SHIM_ENTRY int cuMemAlloc_v2(uint64_t *address, size_t bytes) { return allocate("cuMemAlloc", address, bytes); }
FA_SHIM_ENTRY int cuMemFree_v2(uint64_t address) { return release("cuMemFree", address); }
FA_SHIM_ENTRY int cuMemAllocAsync(uint64_t *address, size_t bytes, Stream *stream) {
  return onStream(stream, [&] { return allocate("cuMemAllocAsync", address, bytes); });
}
FA_SHIM_ENTRY int cuMemFreeAsync(uint64_t address, Stream *stream) {
  return onStream(stream, [&] { return release("cuMemFreeAsync", address); });
}

FA_SHIM_ENTRY int cuMemGetInfo_v2(size_t *freeBytes, size_t *totalBytes) {
  return entryInContext([&](Context &context) -> int {
    if (!freeBytes || !totalBytes)
      return invalidValue;
    *totalBytes = deviceMemoryBytes;
    *freeBytes = deviceMemoryBytes - std::min<uint64_t>(deviceMemoryBytes, context.emulator->bytesAllocated());
    return success;
  });
}

FA_SHIM_ENTRY int cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t bytes) {
  return copyToDevice("cuMemcpyHtoD", to, from, bytes);
}
FA_SHIM_ENTRY int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t bytes) {
  return copyToHost("cuMemcpyDtoH", to, from, bytes);
}
FA_SHIM_ENTRY int cuMemcpyDtoD_v2(uint64_t to, uint64_t from, size_t bytes) {
  return copyOnDevice("cuMemcpyDtoD", to, from, bytes);
}
FA_SHIM_ENTRY int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, Stream *stream) {
  return onStream(stream, [&] { return copyToDevice("cuMemcpyHtoDAsync", to, from, bytes); });
}
FA_SHIM_ENTRY int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, Stream *stream) {
  return onStream(stream, [&] { return copyToHost("cuMemcpyDtoHAsync", to, from, bytes); });
}
FA_SHIM_ENTRY int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t bytes, Stream *stream) {
  return onStream(stream, [&] { return copyOnDevice("cuMemcpyDtoDAsync", to, from, bytes); });
}

FA_SHIM_ENTRY int cuMemsetD8_v2(uint64_t to, unsigned char value, size_t count) {
  return fill("cuMemsetD8", to, value, 1, count);
}
FA_SHIM_ENTRY int cuMemsetD16_v2(uint64_t to, unsigned short value, size_t count) {
  return fill("cuMemsetD16", to, value, 2, count);
}
FA_SHIM_ENTRY int cuMemsetD32_v2(uint64_t to, unsigned value, size_t count) {
  return fill("cuMemsetD32", to, value, 4, count);
}

FA_SHIM_ENTRY int cuMemHostAlloc(void **memory, size_t bytes, unsigned) {
  return entryInContext([&](Context &) -> int {
    if (!memory || bytes == 0)
      return invalidValue;
    auto storage = std::make_unique<char[]>(bytes);
    *memory = storage.get();
    state().hostMemory[*memory] = std::move(storage);
    return success;
  });
}
FA_SHIM_ENTRY int cuMemFreeHost(void *memory) {
  return entryInContext([&](Context &) -> int { return state().hostMemory.erase(memory) ? success : invalidValue; });
}
