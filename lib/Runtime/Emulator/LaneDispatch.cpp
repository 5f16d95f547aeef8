// Chooses the vector code of the core once, by what the machine supports.
#include "LaneOps.h"

namespace fa::runtime::emulator {

const Handler *laneHandlersSse2();
const Handler *laneHandlersAvx2();
const Handler *laneHandlersAvx512();

namespace {
struct Choice {
  const Handler *handlers;
  const char *name;
};
Choice choose() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq"))
    return {laneHandlersAvx512(), "avx512"};
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    return {laneHandlersAvx2(), "avx2"};
#endif
  return {laneHandlersSse2(), "sse2"};
}
const Choice &choice() {
  static const Choice chosen = choose();
  return chosen;
}
} // namespace

const Handler *laneHandlers() { return choice().handlers; }
const char *laneIsa() { return choice().name; }

} // namespace fa::runtime::emulator
