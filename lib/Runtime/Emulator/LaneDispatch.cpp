// Chooses the vector code of the core: the widest that the machine supports, or the one that a test asks for.
#include "LaneOps.h"
#include <atomic>

namespace fa::runtime::emulator {

const Handler *laneHandlersSse2();
const Handler *laneHandlersAvx2();
const Handler *laneHandlersAvx512();

namespace {
struct Choice {
  const char *name;
  const Handler *handlers;
  bool supported;
};

/// Widest first.
const Choice *choices() {
#if defined(__x86_64__)
  static const bool wide = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
                           __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq");
  static const bool medium = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
  static const bool wide = false, medium = false;
#endif
  static const Choice table[] = {{"avx512", laneHandlersAvx512(), wide},
                                 {"avx2", laneHandlersAvx2(), medium},
                                 {"sse2", laneHandlersSse2(), true},
                                 {nullptr, nullptr, false}};
  return table;
}

std::atomic<const Choice *> &selected() {
  static std::atomic<const Choice *> choice = [] {
    const Choice *best = choices();
    while (!best->supported)
      ++best;
    return best;
  }();
  return choice;
}
} // namespace

const Handler *laneHandlers() { return selected().load()->handlers; }
const char *coreIsa() { return selected().load()->name; }

Status selectCoreIsa(const std::string &name) {
  for (const Choice *choice = choices(); choice->name; ++choice)
    if (choice->name == name) {
      if (!choice->supported)
        return makeError("expected an instruction set of this machine, but got " + name);
      selected() = choice;
      return Status::success();
    }
  return makeError("expected avx512, avx2 or sse2, but got " + name);
}

} // namespace fa::runtime::emulator
