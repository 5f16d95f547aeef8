// Divergence and reconvergence of the lanes of a warp at immediate post-dominators.
#include "Divergence.h"
#include <algorithm>

namespace fa::runtime::emulator {

static void saveRunning(Warp &warp) {
  Group group;
  group.pc = warp.pc;
  group.mask = warp.active;
  group.joins = std::move(warp.joins);
  group.released = warp.released;
  warp.others.push_back(std::move(group));
  warp.active = 0;
  warp.joins.clear();
  warp.released = false;
}

static void updateFlags(Warp &warp) {
  warp.slowFlags =
      static_cast<uint16_t>(warp.joins.empty() ? warp.slowFlags & ~flag::JoinPoint : warp.slowFlags | flag::JoinPoint);
}

static void resume(Warp &warp, size_t index) {
  Group group = std::move(warp.others[index]);
  warp.others.erase(warp.others.begin() + static_cast<ptrdiff_t>(index));
  warp.pc = group.pc;
  warp.active = group.mask;
  warp.joins = std::move(group.joins);
  warp.released = group.released;
  updateFlags(warp);
}

/// Merges parked groups whose joins are complete. A merged group may be parked again at an outer join.
static void mergeParked(Warp &warp) {
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t i = 0; i < warp.others.size() && !changed; ++i) {
      if (!warp.others[i].parked)
        continue;
      Join join = warp.others[i].joins.back();
      uint32_t arrived = 0;
      for (const Group &group : warp.others)
        if (group.parked && group.joins.back().pc == join.pc && group.joins.back().mask == join.mask)
          arrived |= group.mask;
      if ((join.mask & warp.alive & ~arrived) != 0)
        continue;
      Group merged = std::move(warp.others[i]);
      merged.mask = arrived;
      merged.joins.pop_back();
      merged.parked = !merged.joins.empty() && merged.joins.back().pc == join.pc;
      std::erase_if(warp.others, [&](const Group &group) { return group.mask == 0 || (group.mask & arrived) != 0; });
      warp.others.push_back(std::move(merged));
      changed = true;
    }
  }
}

/// Continues with the group at the smallest pc; false when all are parked (or none is left).
static bool pickLowest(Warp &warp) {
  size_t best = warp.others.size();
  for (size_t i = 0; i < warp.others.size(); ++i)
    if (!warp.others[i].parked && (best == warp.others.size() || warp.others[i].pc < warp.others[best].pc))
      best = i;
  if (best == warp.others.size())
    return false;
  resume(warp, best);
  return true;
}

static void chooseNext(Warp &warp) {
  mergeParked(warp);
  if (!pickLowest(warp))
    releaseParked(warp);
}

void diverge(Warp &warp, uint32_t taken, uint32_t target, int32_t join) {
  uint32_t all = warp.active;
  if (join >= 0 && (warp.joins.empty() || warp.joins.back().pc != join))
    warp.joins.push_back({join, all});
  Group branch;
  branch.pc = target;
  branch.mask = taken;
  branch.joins = warp.joins;
  branch.parked = !branch.joins.empty() && branch.joins.back().pc == static_cast<int32_t>(target);
  warp.others.push_back(std::move(branch));
  warp.active = all & ~taken;
  saveRunning(warp);
  Group &rest = warp.others.back();
  rest.parked = !rest.joins.empty() && rest.joins.back().pc == static_cast<int32_t>(rest.pc);
  chooseNext(warp);
}

bool arriveAtJoin(Warp &warp) {
  if (warp.joins.empty() || warp.joins.back().pc != static_cast<int32_t>(warp.pc))
    return false;
  saveRunning(warp);
  warp.others.back().parked = true;
  chooseNext(warp);
  return true;
}

void retireLanes(Warp &warp, uint32_t mask) {
  warp.alive &= ~mask;
  warp.active &= ~mask;
  if (!warp.alive) {
    warp.status = WarpStatus::Done;
    return;
  }
  if (warp.active) {
    mergeParked(warp);
    return;
  }
  warp.joins.clear();
  chooseNext(warp);
}

bool rotateGroups(Warp &warp) {
  size_t runnable = 0;
  for (const Group &group : warp.others)
    runnable += !group.parked;
  if (!runnable)
    return false;
  for (size_t i = 0; i < warp.others.size(); ++i)
    if (!warp.others[i].parked) { // oldest first: each gets its turn
      saveRunning(warp);
      resume(warp, i);
      return true;
    }
  return false;
}

bool releaseParked(Warp &warp) {
  for (size_t i = 0; i < warp.others.size(); ++i)
    if (warp.others[i].parked) {
      Group &group = warp.others[i];
      group.parked = false;
      while (!group.joins.empty() && group.joins.back().pc == static_cast<int32_t>(group.pc))
        group.joins.pop_back();
      if (warp.active)
        saveRunning(warp);
      for (size_t k = 0; k < warp.others.size(); ++k)
        if (k == i) {
          resume(warp, k);
          return true;
        }
    }
  return false;
}

} // namespace fa::runtime::emulator
