// The wgmma unit of a CTA.
#pragma once
#include "Machine.h"

namespace fa::runtime::emulator {

/// Executes the next operation of a warpgroup; its four warps must have issued it.
void executeWgmma(Cta &cta, uint32_t group);
/// Executes all operations that every warp has issued (end of a CTA).
void drainWgmma(Cta &cta);
/// Line of the operation in flight that uses a slot; 0: none.
int lineInFlight(const Warp &warp, uint32_t slot);
/// Reports operands of a wgmma that no instruction wrote. D counts only when it is accumulated into.
void checkInitialised(Warp &warp, const Instr &instr, const WgmmaInfo &info, bool accumulate);

} // namespace fa::runtime::emulator
