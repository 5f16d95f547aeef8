// Checks of register use, and lints at the end of a CTA.
#include "RegisterChecks.h"
#include "AsyncWgmma.h"

namespace fa::runtime::emulator {

int lineInFlight(const Warp &warp, uint32_t slot) {
  for (const FlightRecord &record : warp.flights)
    for (const auto *list : {&record.info->d, &record.info->a})
      for (uint32_t offset : *list)
        if (offset / slotBytes == slot)
          return record.line;
  return 0;
}

void checkRegisterUse(Warp &warp, const Instr &instr, uint32_t mask) {
  const Kernel &kernel = *warp.kernel;
  const Kernel::Touch &touch = kernel.touches[static_cast<size_t>(&instr - kernel.code.data())];
  bool tensor = instr.flags & flag::TouchesTensor;
  for (unsigned i = 0; i < touch.readCount; ++i) {
    uint32_t slot = kernel.lists[touch.reads + 2 * i];
    if ((instr.flags & flag::ReadsTracked) && slot < kernel.trackedSlots)
      if (uint32_t missing = mask & ~warp.initialised[slot]) {
        reportAt(warp, instr, ReportKind::Uninitialised, false,
                 "expected register " + kernel.slotNames[slot] +
                     " to be written before it is read, but got an undefined value",
                 __builtin_ctz(missing));
        warp.initialised[slot] |= mask;
      }
    if (tensor && slot >= kernel.tensorSlotBegin && slot < kernel.tensorSlotEnd) {
      uint32_t bit = slot - kernel.tensorSlotBegin;
      if (warp.inFlight[bit])
        reportAt(warp, instr, ReportKind::RegisterInFlight, false,
                 "expected register " + kernel.slotNames[slot] +
                     " to be covered by wgmma.wait_group before it is read, but got a wgmma in flight that uses it",
                 -1, 0, {}, lineInFlight(warp, slot));
      warp.unfenced[kernel.lists[touch.reads + 2 * i + 1]] = 1;
    }
  }
  for (unsigned i = 0; i < touch.writeCount; ++i) {
    uint32_t slot = kernel.lists[touch.writes + 2 * i];
    if (slot < kernel.trackedSlots)
      warp.initialised[slot] |= mask;
    if (tensor && slot >= kernel.tensorSlotBegin && slot < kernel.tensorSlotEnd) {
      uint32_t bit = slot - kernel.tensorSlotBegin;
      if (warp.inFlight[bit])
        reportAt(warp, instr, ReportKind::RegisterInFlight, false,
                 "expected register " + kernel.slotNames[slot] +
                     " to be covered by wgmma.wait_group before it is written, but got a wgmma in flight that uses it",
                 -1, 0, {}, lineInFlight(warp, slot));
      warp.unfenced[kernel.lists[touch.writes + 2 * i + 1]] = 1;
    }
  }
}

void checkInitialised(Warp &warp, const Instr &instr, const WgmmaInfo &info, bool accumulate) {
  for (uint32_t offset : info.d) {
    uint32_t slot = offset / slotBytes;
    if (slot >= warp.kernel->trackedSlots)
      continue;
    if (accumulate && warp.initialised[slot] != ~0u) {
      reportAt(warp, instr, ReportKind::Uninitialised, false,
               "expected accumulator " + warp.kernel->slotNames[slot] +
                   " to be written before a wgmma adds to it, but got an undefined value");
      return;
    }
    warp.initialised[slot] = ~0u;
  }
}

void checkEnd(Cta &cta) {
  Warp &warp = cta.warps[0];
  const Instr &end = warp.kernel->code.back();
  for (const Mbarrier &barrier : cta.mbarriers)
    if (barrier.live && barrier.transactions) {
      Instr at = end;
      at.line = barrier.line;
      reportAt(warp, at, ReportKind::Protocol, false,
               "expected every transaction of an mbarrier to be matched before the CTA ends, but got " +
                   std::to_string(barrier.transactions) + " bytes left",
               -1, barrier.offset, describeShared(cta, barrier.offset));
    }
}

} // namespace fa::runtime::emulator
