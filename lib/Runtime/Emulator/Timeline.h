// A nominal clock, so that a trace shows what overlaps: a warp instruction takes one tick, a wgmma N/2, a bulk copy its
// bytes at 32 a tick after a latency; waiting ends when what is waited for ends. Not a prediction of hardware time.
#pragma once
#include "Machine.h"

namespace fa::runtime::emulator {

/// The warp has waited for something that was ready at `time`: closes its span of work and notes the wait.
void waitUntil(Warp &warp, uint64_t time, const char *reason, int line);
/// Closes the warp's last span of work.
void endOfWarp(Warp &warp);
/// Occupies the CTA's tensor cores from `ready` on; returns the end.
uint64_t occupyTensorCores(Cta &cta, uint32_t group, uint64_t ready, unsigned n, int line);
/// Occupies the CTA's copy engine; returns the end.
uint64_t occupyCopyEngine(Cta &cta, uint64_t issued, uint32_t bytes, const char *name, int line);

} // namespace fa::runtime::emulator
