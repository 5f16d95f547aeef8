// The libcuda shim's objects: contexts (each an emulated device memory with its own sticky error), modules, functions,
// streams, events. Handles are checked against tables, so that a stale or foreign one gives an error, not a crash.
#pragma once
#include "fa/Runtime/Emulator/Emulator.h"
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#define FA_SHIM_ENTRY extern "C" __attribute__((visibility("default")))

namespace fa::shim {

/// CUresult values (CUDA driver API reference).
enum Result : int {
  success = 0,
  invalidValue = 1,
  outOfMemory = 2,
  notInitialized = 3,
  invalidDevice = 101,
  invalidImage = 200,
  invalidContext = 201,
  noBinaryForGpu = 209,
  invalidPtx = 218,
  invalidHandle = 400,
  notFound = 500,
  launchFailed = 719,
  notSupported = 801,
  unknown = 999
};

constexpr uint64_t deviceMemoryBytes = 80ull << 30;
constexpr int maxSharedPerBlock = 232448; ///< opt-in limit of sm_90
constexpr int defaultSharedPerBlock = 48 * 1024;

struct Function {
  struct Module *module = nullptr;
  runtime::emulator::EntryInfo info;
  int maxDynamicShared = defaultSharedPerBlock;
};

struct Context;
struct Module {
  Context *context = nullptr;
  std::shared_ptr<runtime::emulator::Program> program;
  std::map<std::string, std::unique_ptr<Function>> functions;
};

struct Context {
  std::unique_ptr<runtime::emulator::Emulator> emulator;
  std::map<Module *, std::unique_ptr<Module>> modules;
  bool isPrimary = false;
};

struct Stream {
  unsigned flags = 0;
};
struct Event {
  std::chrono::steady_clock::time_point time;
  bool recorded = false;
  bool timing = true;
};

/// Everything behind one lock: the emulator runs a launch to its end before the call returns.
struct State {
  std::recursive_mutex mutex;
  bool initialised = false;
  runtime::emulator::Options options; ///< from FA_SHIM_OPTIONS, see docs/Shim.md
  std::map<Context *, std::unique_ptr<Context>> contexts;
  Context *primary = nullptr;
  unsigned primaryUsers = 0;
  std::map<Function *, Module *> functions;
  std::map<Stream *, std::unique_ptr<Stream>> streams;
  std::map<Event *, std::unique_ptr<Event>> events;
  std::map<void *, std::unique_ptr<char[]>> hostMemory;
};
State &state();
/// The calling thread's stack of contexts; the last is current.
std::vector<Context *> &contextStack();

/// The current context, or null.
Context *currentContext();
/// Default streams (0, 1 legacy, 2 per thread) or one that cuStreamCreate made.
bool isStream(Stream *stream);

/// Tells on stderr what a bare code cannot, and gives the code back.
int report(const char *call, const Error &error, int fallback);

/// Runs the body under the lock, after cuInit; no exception leaves the library.
template <typename Body> int entry(Body &&body) noexcept {
  try {
    std::lock_guard lock(state().mutex);
    return state().initialised ? body() : notInitialized;
  } catch (const std::bad_alloc &) {
    return outOfMemory;
  } catch (...) {
    return unknown;
  }
}

/// The same with a current context whose sticky error, if any, is the result.
template <typename Body> int entryInContext(Body &&body) noexcept {
  return entry([&]() -> int {
    Context *context = currentContext();
    if (!context)
      return invalidContext;
    if (const Status &sticky = context->emulator->stickyError(); !sticky)
      return sticky.error().code ? sticky.error().code : launchFailed;
    return body(*context);
  });
}

} // namespace fa::shim
