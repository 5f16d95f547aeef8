// State changes of mbarrier objects, shared by the instructions and by bulk copies (PTX 9.7.13.15).
#pragma once
#include "Machine.h"

namespace fa::runtime::emulator {

/// Finds the mbarrier an address names; reports and returns null when it names none.
Mbarrier *locateMbarrier(Warp &warp, const Instr &instr, uint64_t address, int lane, Cta *&cta);
/// Ends the phase when nothing is pending.
void tryComplete(Cta &cta, Mbarrier &barrier);
/// `count` arrivals of a warp's lane.
void arrive(Warp &warp, const Instr &instr, Cta &cta, Mbarrier &barrier, int64_t count, int lane);
/// Bytes of an asynchronous copy that landed at `time` of the nominal clock.
void completeTransactions(Cta &cta, Mbarrier &barrier, int64_t bytes, uint64_t time);

} // namespace fa::runtime::emulator
