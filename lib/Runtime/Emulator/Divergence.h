// Lanes of a warp that went different ways: groups of lanes, each with its pc and the joins it owes.
#pragma once
#include "Machine.h"

namespace fa::runtime::emulator {

/// Sends the lanes of `taken` to `target` and lets the rest go on at warp.pc; `join` is where they meet again (-1:
/// never).
void diverge(Warp &warp, uint32_t taken, uint32_t target, int32_t join);
/// Called when the running group stands at a join it owes: waits there, and continues with another group (or merged).
/// False when the group has to run on (nothing owed here).
bool arriveAtJoin(Warp &warp);
/// Removes `mask` from the warp for good. Sets Done when nobody is left.
void retireLanes(Warp &warp, uint32_t mask);
/// Lets another group of the warp run, if there is one that can. True when the running group changed.
bool rotateGroups(Warp &warp);
/// Last resort before a deadlock report: lets groups that wait at a join run on alone. True when one could.
bool releaseParked(Warp &warp);

} // namespace fa::runtime::emulator
