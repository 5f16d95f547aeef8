// Registers that nobody wrote, registers that belong to a wgmma in flight, and what must hold when a CTA ends.
#pragma once
#include "Machine.h"

namespace fa::runtime::emulator {

void checkRegisterUse(Warp &warp, const Instr &instr, uint32_t mask);
/// Lints at the end of a CTA: mbarriers with unmatched transactions. (Arrivals left at a named barrier are
/// legal: ping-pong schedules end with one.)
void checkEnd(Cta &cta);

} // namespace fa::runtime::emulator
