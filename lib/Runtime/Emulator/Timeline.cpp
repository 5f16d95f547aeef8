// The nominal clock and the spans of a timeline.
#include "Timeline.h"
#include <algorithm>

namespace fa::runtime::emulator {

static constexpr uint64_t copyLatency = 600, copyBytesPerTick = 32;

static bool enabled(const Cta &cta) { return cta.cluster->launch->options->timeline; }

static void addSpan(Cta &cta, std::string track, const char *name, uint64_t begin, uint64_t end, int line) {
  if (end > begin)
    cta.cluster->timeline.push_back({cta.linear, std::move(track), name, begin, end, line});
}

void waitUntil(Warp &warp, uint64_t time, const char *reason, int line) {
  if (time <= warp.time)
    return;
  if (enabled(*warp.cta)) {
    std::string track = "warp " + std::to_string(warp.id);
    addSpan(*warp.cta, track, "run", warp.runningSince, warp.time, line);
    addSpan(*warp.cta, track, reason, warp.time, time, line);
  }
  warp.time = warp.runningSince = time;
}

void endOfWarp(Warp &warp) {
  if (enabled(*warp.cta))
    addSpan(*warp.cta, "warp " + std::to_string(warp.id), "run", warp.runningSince, warp.time,
            warp.kernel->code.back().line);
}

uint64_t occupyTensorCores(Cta &cta, uint32_t group, uint64_t ready, unsigned n, int line) {
  uint64_t begin = std::max(ready, cta.tensorCoresFree), end = begin + n / 2;
  cta.tensorCoresFree = end;
  if (!enabled(cta))
    return end;
  // The k steps of one product follow each other: one span.
  Warpgroup &warpgroup = cta.warpgroups[group];
  auto &timeline = cta.cluster->timeline;
  std::string name = "wgmma m64n" + std::to_string(n);
  if (warpgroup.lastSpan && timeline[warpgroup.lastSpan - 1].end == begin &&
      timeline[warpgroup.lastSpan - 1].name == name) {
    timeline[warpgroup.lastSpan - 1].end = end;
    return end;
  }
  timeline.push_back({cta.linear, "wgmma " + std::to_string(group), name, begin, end, line});
  warpgroup.lastSpan = timeline.size();
  return end;
}

uint64_t occupyCopyEngine(Cta &cta, uint64_t issued, uint32_t bytes, const char *name, int line) {
  uint64_t begin = std::max(issued + copyLatency, cta.copyEngineFree), end = begin + bytes / copyBytesPerTick + 1;
  cta.copyEngineFree = end;
  if (enabled(cta))
    addSpan(cta, "tma", name, begin, end, line);
  return end;
}

} // namespace fa::runtime::emulator
