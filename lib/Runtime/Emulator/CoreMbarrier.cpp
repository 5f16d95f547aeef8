// mbarrier instructions.
#include "CoreValues.h"
#include "Handlers.h"
#include "MbarrierUnit.h"
#include "Races.h"
#include "SyncModes.h"
#include "Timeline.h"

namespace fa::runtime::emulator {

static constexpr int64_t limit = (1 << 20) - 1;

static bool protocol(const Warp &warp) { return warp.cta->cluster->launch->options->checkProtocol; }

static uint64_t laneAddress(const Warp &warp, const Instr &instr, int lane) {
  return addressOf(warp, {instr.a, (instr.mode & mbarrier::wideAddress) != 0, instr.imm}, lane);
}

Mbarrier *locateMbarrier(Warp &warp, const Instr &instr, uint64_t address, int lane, Cta *&cta) {
  uint32_t offset = 0;
  cta = resolveShared(warp, address, 8, offset);
  if (!cta) {
    reportAt(warp, instr, ReportKind::OutOfBounds, true,
             "expected an mbarrier in shared memory, but got an address outside it", lane, address);
    return nullptr;
  }
  if (offset % 8) {
    reportAt(warp, instr, ReportKind::Misaligned, true, "expected an 8-byte aligned mbarrier, but got another address",
             lane, address);
    return nullptr;
  }
  Mbarrier *barrier = cta->findMbarrier(offset);
  if (!barrier || !barrier->live) {
    reportAt(warp, instr, ReportKind::Protocol, true, "expected an initialised mbarrier, but got plain memory", lane,
             offset, describeShared(*cta, offset));
    return nullptr;
  }
  const Clock &clock = warp.clock;
  if (!clock.ordered.empty() && clock.ordered[barrier->initDimension] < barrier->initEpoch)
    reportAt(warp, instr, ReportKind::Race, false,
             "expected the initialisation of the mbarrier to be ordered before its use, but got no synchronisation "
             "between them",
             lane, offset, describeShared(*cta, offset), barrier->line);
  return barrier;
}

void tryComplete(Cta &cta, Mbarrier &barrier) {
  if (barrier.pending != 0 || barrier.transactions != 0)
    return;
  Clock &done = barrier.done[barrier.phase & 1];
  done = std::move(barrier.arriving);
  barrier.arriving.clear();
  barrier.doneTime[barrier.phase & 1] = barrier.time;
  barrier.time = 0;
  ++barrier.phase;
  barrier.pending = barrier.expected;
  barrier.waitedSinceCompletion = false;
  ++cta.cluster->events;
  if (cta.cluster->races) {
    if (done.ordered.empty())
      cta.cluster->races->emptyClock(done);
    done.ordered[barrier.dimension] = done.fenced[barrier.dimension] = barrier.phase;
  }
}

void completeTransactions(Cta &cta, Mbarrier &barrier, int64_t bytes, uint64_t time) {
  barrier.time = std::max(barrier.time, time);
  barrier.transactions -= bytes;
  ++cta.cluster->events;
  tryComplete(cta, barrier);
}

void arrive(Warp &warp, const Instr &instr, Cta &cta, Mbarrier &barrier, int64_t count, int lane) {
  if (count < 1 || count > barrier.pending) {
    reportAt(warp, instr, ReportKind::Protocol, true,
             "expected at most " + std::to_string(barrier.pending) + " more arrivals in this phase, but got " +
                 std::to_string(count),
             lane, barrier.offset, describeShared(cta, barrier.offset), barrier.line);
    return;
  }
  if (!barrier.waitedSinceCompletion && barrier.phase > 0 && barrier.pending == barrier.expected && protocol(warp))
    reportAt(warp, instr, ReportKind::Protocol, false,
             "expected a successful wait on the previous phase before an arrival of the next, but got none", lane,
             barrier.offset, describeShared(cta, barrier.offset), barrier.line);
  if (RaceDetector *races = warp.cta->cluster->races; races && !(instr.mode & mbarrier::relaxed))
    races->release(warp, barrier.arriving);
  barrier.pending -= count;
  barrier.time = std::max(barrier.time, warp.time);
  ++cta.cluster->events;
  tryComplete(cta, barrier);
}

static void expectTransactions(Warp &warp, const Instr &instr, Cta &cta, Mbarrier &barrier, int64_t bytes, int lane) {
  barrier.transactions += bytes;
  if (barrier.transactions > limit || barrier.transactions < -limit)
    reportAt(warp, instr, ReportKind::Protocol, true,
             "expected a transaction count within +-(2^20 - 1), but got " + std::to_string(barrier.transactions), lane,
             barrier.offset, describeShared(cta, barrier.offset));
}

void handleMbarrierInit(Warp &warp, const Instr &instr, uint32_t mask) {
  for (uint32_t rest = mask; rest; rest &= rest - 1) {
    int lane = __builtin_ctz(rest);
    uint64_t address = laneAddress(warp, instr, lane);
    uint32_t offset = 0, count = warp.slot<uint32_t>(instr.b)[lane];
    Cta *cta = resolveShared(warp, address, 8, offset);
    if (!cta || cta != warp.cta || offset % 8) {
      reportAt(warp, instr, cta ? ReportKind::Misaligned : ReportKind::OutOfBounds, true,
               "expected an 8-byte aligned mbarrier in this CTA's shared memory, but got another address", lane,
               address);
      return;
    }
    if (count < 1 || count > limit) {
      reportAt(warp, instr, ReportKind::Protocol, true,
               "expected an arrival count of 1 to 2^20 - 1, but got " + std::to_string(count), lane, offset);
      return;
    }
    Mbarrier *barrier = cta->findMbarrier(offset);
    if (barrier && barrier->live && protocol(warp))
      reportAt(warp, instr, ReportKind::Protocol, false,
               "expected memory without a live mbarrier, but got one initialised before", lane, offset,
               describeShared(*cta, offset), barrier->line);
    if (!barrier) {
      if (cta->mbarriers.size() >= 255) {
        reportAt(warp, instr, ReportKind::Protocol, true, "expected at most 255 mbarriers in a CTA, but got more", lane,
                 offset);
        return;
      }
      cta->mbarriers.emplace_back();
      cta->mbarrierAt[offset / 8] = static_cast<uint8_t>(cta->mbarriers.size());
      barrier = &cta->mbarriers.back();
      if (cta->cluster->races)
        barrier->dimension = cta->cluster->races->newMbarrierDimension(*cta);
      barrier->lastPhaseSeen.assign(cta->warps.size(), 0);
    }
    uint32_t dimension = barrier->dimension;
    std::vector<uint32_t> seen(cta->warps.size(), 0);
    *barrier = Mbarrier();
    barrier->offset = offset;
    barrier->live = true;
    barrier->expected = count;
    barrier->pending = count;
    barrier->line = instr.line;
    barrier->initWarp = warp.id;
    barrier->dimension = dimension;
    barrier->lastPhaseSeen = std::move(seen);
    if (cta->cluster->races) {
      barrier->initDimension = cta->cluster->races->warpDimension(*cta, warp.id);
      barrier->initEpoch = warp.clock.ordered[barrier->initDimension];
    }
    ++cta->cluster->events;
  }
}

void handleMbarrierInvalidate(Warp &warp, const Instr &instr, uint32_t mask) {
  for (uint32_t rest = mask; rest; rest &= rest - 1) {
    int lane = __builtin_ctz(rest);
    Cta *cta = nullptr;
    Mbarrier *barrier = locateMbarrier(warp, instr, laneAddress(warp, instr, lane), lane, cta);
    if (!barrier)
      return;
    barrier->live = false;
  }
}

void handleMbarrierExpect(Warp &warp, const Instr &instr, uint32_t mask) {
  for (uint32_t rest = mask; rest; rest &= rest - 1) {
    int lane = __builtin_ctz(rest);
    Cta *cta = nullptr;
    Mbarrier *barrier = locateMbarrier(warp, instr, laneAddress(warp, instr, lane), lane, cta);
    if (!barrier)
      return;
    int64_t bytes = warp.slot<uint32_t>(instr.b)[lane];
    if (instr.size)
      completeTransactions(*cta, *barrier, bytes, warp.time);
    else
      expectTransactions(warp, instr, *cta, *barrier, bytes, lane);
  }
}

void handleMbarrierArrive(Warp &warp, const Instr &instr, uint32_t mask) {
  for (uint32_t rest = mask; rest; rest &= rest - 1) {
    int lane = __builtin_ctz(rest);
    Cta *cta = nullptr;
    Mbarrier *barrier = locateMbarrier(warp, instr, laneAddress(warp, instr, lane), lane, cta);
    if (!barrier)
      return;
    uint32_t operand = instr.mode & mbarrier::hasCount ? warp.slot<uint32_t>(instr.b)[lane] : 1;
    uint64_t state = static_cast<uint64_t>(barrier->pending) << 32 | barrier->phase;
    int64_t count = instr.mode & mbarrier::expect ? 1 : operand;
    if (instr.mode & mbarrier::expect)
      expectTransactions(warp, instr, *cta, *barrier, operand, lane);
    if (instr.mode & mbarrier::drop) {
      if (count > barrier->expected) {
        reportAt(warp, instr, ReportKind::Protocol, true,
                 "expected to drop at most " + std::to_string(barrier->expected) + " arrivals, but got " +
                     std::to_string(count),
                 lane, barrier->offset);
        return;
      }
      barrier->expected -= static_cast<uint32_t>(count);
    }
    arrive(warp, instr, *cta, *barrier, count, lane);
    if (instr.mode & mbarrier::hasState)
      warp.slot<uint64_t>(instr.d)[lane] = state;
  }
}

/// A waiter that stands exactly two phases behind tests a parity that now means another phase.
static void checkLag(Warp &warp, const Instr &instr, Cta &cta, Mbarrier &barrier, uint32_t parity, int lane) {
  uint32_t seen = barrier.lastPhaseSeen[warp.id];
  if (seen && barrier.phase >= seen + 2 && parity == (seen & 1) && protocol(warp))
    reportAt(warp, instr, ReportKind::Protocol, false,
             "expected a wait at most one phase behind, but got one that missed phase " + std::to_string(seen), lane,
             barrier.offset, describeShared(cta, barrier.offset), barrier.line);
}

void handleMbarrierTest(Warp &warp, const Instr &instr, uint32_t mask) {
  uint32_t result = 0;
  Cluster &cluster = *warp.cta->cluster;
  Mbarrier *previous = nullptr;
  uint64_t previousAddress = 0;
  Cta *cta = nullptr;
  uint32_t seenPhase = 0;
  for (uint32_t rest = mask; rest; rest &= rest - 1) {
    int lane = __builtin_ctz(rest);
    uint64_t address = laneAddress(warp, instr, lane);
    Mbarrier *barrier =
        previous && address == previousAddress ? previous : locateMbarrier(warp, instr, address, lane, cta);
    if (!barrier)
      return;
    if (cta != warp.cta) {
      reportAt(warp, instr, ReportKind::Protocol, true,
               "expected a wait on an mbarrier of this CTA, but got one of another", lane, address);
      return;
    }
    bool first = barrier != previous;
    previous = barrier;
    previousAddress = address;
    bool complete;
    if (instr.mode & mbarrier::parity) {
      uint32_t parity = warp.slot<uint32_t>(instr.b)[lane] & 1;
      complete = (barrier->phase & 1) != parity;
      if (!complete && first)
        checkLag(warp, instr, *cta, *barrier, parity, lane);
    } else {
      complete = static_cast<uint32_t>(warp.slot<uint64_t>(instr.b)[lane]) != barrier->phase;
    }
    if (!complete)
      continue;
    result |= 1u << lane;
    seenPhase = barrier->phase;
  }
  if (result && (instr.mode & mbarrier::mayFail) && cluster.chance(16)) {
    ++cluster.events;
    result = 0; // the time limit ran out
  }
  if (result && previous) {
    previous->waitedSinceCompletion = true;
    previous->lastPhaseSeen[warp.id] = seenPhase;
    if (seenPhase)
      waitUntil(warp, previous->doneTime[(seenPhase - 1) & 1], "mbarrier wait", instr.line);
    if (cluster.races && seenPhase && !(instr.mode & mbarrier::relaxed))
      cluster.races->acquire(warp, previous->done[(seenPhase - 1) & 1]);
  }
  if (result != mask) {
    ++cluster.counters->total.failedTryWaits;
    warp.status = WarpStatus::Spinning;
    warp.reason = BlockReason::Mbarrier;
    warp.reasonDetail = previous ? previous->offset : 0;
  }
  uint32_t &p = warp.predicates[instr.d];
  p = (p & ~mask) | result;
}

void handleMbarrierPending(Warp &warp, const Instr &instr, uint32_t mask) {
  for (uint32_t rest = mask; rest; rest &= rest - 1)
    warp.slot<uint32_t>(instr.d)[__builtin_ctz(rest)] =
        static_cast<uint32_t>(warp.slot<uint64_t>(instr.a)[__builtin_ctz(rest)] >> 32);
}

void handleCpAsyncArrive(Warp &warp, const Instr &instr, uint32_t mask) {
  for (uint32_t rest = mask; rest; rest &= rest - 1) {
    int lane = __builtin_ctz(rest);
    Cta *cta = nullptr;
    Mbarrier *barrier =
        locateMbarrier(warp, instr, addressOf(warp, {instr.a, (instr.mode & 2) != 0, instr.imm}, lane), lane, cta);
    if (!barrier)
      return;
    if (!(instr.mode & 1))
      ++barrier->pending;
    Instr plain = instr;
    plain.mode = 0;
    if (RaceDetector *races = warp.cta->cluster->races) { // its copies are published too
      Clock copies = warp.clock;
      uint32_t dimension = races->cpAsyncDimension(*warp.cta, warp.id);
      copies.ordered[dimension] = static_cast<uint32_t>(warp.cpAsyncGroups.issued);
      barrier->arriving.join(copies);
    }
    arrive(warp, plain, *cta, *barrier, 1, lane);
  }
}

} // namespace fa::runtime::emulator
