// Named barriers, cluster barriers, fences and setmaxnreg.
#include "Handlers.h"
#include "Races.h"
#include "SyncModes.h"
#include "Timeline.h"

namespace fa::runtime::emulator {

static bool protocol(const Warp &warp) { return warp.cta->cluster->launch->options->checkProtocol; }

/// The warp's arrival. Returns the barrier, or null after a fatal finding.
static NamedBarrier *arriveAtBarrier(Warp &warp, const Instr &instr, uint32_t mask) {
  Cta &cta = *warp.cta;
  int lane = __builtin_ctz(mask);
  uint32_t id = warp.slot<uint32_t>(instr.a)[lane];
  uint32_t threads = (cta.cluster->launch->threadsPerCta + 31) / 32 * 32;
  uint32_t need = instr.mode & barrier::hasCount ? warp.slot<uint32_t>(instr.b)[lane] : threads;
  if (id > 15) {
    reportAt(warp, instr, ReportKind::Protocol, true,
             "expected a barrier number of 0 to 15, but got " + std::to_string(id), lane);
    return nullptr;
  }
  if (need == 0 || need % 32 || need > threads) {
    reportAt(warp, instr, ReportKind::Protocol, true,
             "expected a thread count that is a multiple of 32 up to " + std::to_string(threads) + ", but got " +
                 std::to_string(need),
             lane);
    return nullptr;
  }
  NamedBarrier &named = cta.barriers[id];
  if (named.count && named.need != need) {
    reportAt(warp, instr, ReportKind::Protocol, true,
             "expected barrier " + std::to_string(id) + " to be used with " + std::to_string(named.need) +
                 " threads until it completes, but got " + std::to_string(need),
             lane, 0, {}, named.line);
    return nullptr;
  }
  if (named.arrivedWarps >> (warp.id % 64) & 1 && protocol(warp))
    reportAt(warp, instr, ReportKind::Protocol, false,
             "expected each warp to arrive once at barrier " + std::to_string(id) +
                 " before it completes, but got a second arrival",
             lane, 0, {}, named.line);
  named.need = need;
  named.line = instr.line;
  named.count += 32;
  named.time = std::max(named.time, warp.time);
  named.arrivedWarps |= 1ull << (warp.id % 64);
  ++cta.cluster->events;
  if (RaceDetector *races = cta.cluster->races)
    races->release(warp, named.arriving);
  if (named.count >= need) {
    named.done = std::move(named.arriving);
    named.arriving.clear();
    named.count = 0;
    named.arrivedWarps = 0;
    named.doneTime = named.time;
    named.time = 0;
    ++named.generation;
    named.result[0] = named.partial[0];
    named.result[1] = named.partial[1];
    named.result[2] = named.partial[2];
    named.partial[0] = named.partial[2] = 0;
    named.partial[1] = 1;
  }
  return &named;
}

/// True when the warp may go on; otherwise it is blocked.
static bool passBarrier(Warp &warp, const Instr &instr, uint32_t mask, NamedBarrier *&named) {
  Cta &cta = *warp.cta;
  if (!warp.arrived) {
    uint32_t id = warp.slot<uint32_t>(instr.a)[__builtin_ctz(mask)];
    uint64_t before = id < 16 ? cta.barriers[id].generation : 0;
    named = arriveAtBarrier(warp, instr, mask);
    if (!named || (instr.mode & barrier::arriveOnly))
      return false;
    warp.arrived = true;
    warp.ticket = before;
  }
  named = &cta.barriers[warp.slot<uint32_t>(instr.a)[__builtin_ctz(mask)] & 15];
  if (named->generation == warp.ticket) {
    ++cta.cluster->counters->total.barrierWaits;
    warp.block(BlockReason::NamedBarrier, static_cast<uint64_t>(named - cta.barriers.data()));
    return false;
  }
  warp.arrived = false;
  waitUntil(warp, named->doneTime, "bar.sync", instr.line);
  if (cta.cluster->races)
    cta.cluster->races->acquire(warp, named->done);
  return true;
}

void handleBarrier(Warp &warp, const Instr &instr, uint32_t mask) {
  NamedBarrier *named = nullptr;
  passBarrier(warp, instr, mask, named);
}

void handleBarrierReduce(Warp &warp, const Instr &instr, uint32_t mask) {
  uint32_t id = warp.slot<uint32_t>(instr.a)[__builtin_ctz(mask)];
  if (!warp.arrived && id < 16) {
    uint32_t value = (warp.predicates[instr.c] ^ (instr.mode & barrier::negate ? ~0u : 0)) & mask;
    NamedBarrier &named = warp.cta->barriers[id];
    if (!named.count)
      named.partial[1] = 1;
    named.partial[0] += static_cast<uint32_t>(__builtin_popcount(value));
    named.partial[1] &= value == mask;
    named.partial[2] |= value != 0;
  }
  NamedBarrier *named = nullptr;
  if (!passBarrier(warp, instr, mask, named))
    return;
  uint32_t value = named->result[instr.imm];
  if (instr.imm == 0) {
    uint32_t *d = warp.slot<uint32_t>(instr.d);
    for (int l = 0; l < 32; ++l)
      d[l] = mask >> l & 1 ? value : d[l];
  } else {
    uint32_t &p = warp.predicates[instr.extra];
    p = value ? p | mask : p & ~mask;
  }
}

static void completeClusterBarrier(Cluster &cluster) {
  for (const auto &cta : cluster.ctas)
    for (const Warp &warp : cta->warps)
      if (warp.status != WarpStatus::Done && !warp.clusterArrived)
        return;
  for (const auto &cta : cluster.ctas)
    for (Warp &warp : cta->warps)
      warp.clusterArrived = false;
  ++cluster.clusterGeneration;
  ++cluster.events;
  cluster.clusterDoneTime = cluster.clusterTime;
  cluster.clusterTime = 0;
  cluster.clusterDone = std::move(cluster.clusterArriving);
  cluster.clusterArriving.clear();
}

void handleClusterArrive(Warp &warp, const Instr &instr, uint32_t mask) {
  Cluster &cluster = *warp.cta->cluster;
  if (warp.clusterArrived) {
    reportAt(warp, instr, ReportKind::Protocol, true,
             "expected barrier.cluster.wait before the next arrive, but got a second arrive", __builtin_ctz(mask));
    return;
  }
  warp.clusterArrived = true;
  warp.clusterWaiting = true;
  warp.clusterTicket = cluster.clusterGeneration;
  cluster.clusterTime = std::max(cluster.clusterTime, warp.time);
  ++cluster.events;
  if (cluster.races && !instr.mode)
    cluster.races->release(warp, cluster.clusterArriving);
  completeClusterBarrier(cluster);
}

void handleClusterWait(Warp &warp, const Instr &instr, uint32_t mask) {
  Cluster &cluster = *warp.cta->cluster;
  if (!warp.clusterWaiting) {
    reportAt(warp, instr, ReportKind::Protocol, true, "expected barrier.cluster.arrive before wait, but got none",
             __builtin_ctz(mask));
    return;
  }
  completeClusterBarrier(cluster);
  if (cluster.clusterGeneration == warp.clusterTicket) {
    warp.block(BlockReason::ClusterBarrier);
    return;
  }
  warp.clusterWaiting = false;
  waitUntil(warp, cluster.clusterDoneTime, "cluster barrier", instr.line);
  if (cluster.races)
    cluster.races->acquire(warp, cluster.clusterDone);
}

void handleFence(Warp &, const Instr &, uint32_t) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }

void handleMbarrierInitFence(Warp &warp, const Instr &, uint32_t) {
  for (Mbarrier &barrier : warp.cta->mbarriers)
    barrier.fencedInit |= barrier.initWarp == warp.id;
}

void handleProxyFence(Warp &warp, const Instr &instr, uint32_t mask) {
  handleMbarrierInitFence(warp, instr, mask);
  if (RaceDetector *races = warp.cta->cluster->races)
    races->proxyFence(warp);
}

void handleSetMaxRegisters(Warp &warp, const Instr &instr, uint32_t) {
  Cta &cta = *warp.cta;
  const Kernel &kernel = *warp.kernel;
  if (!kernel.hasLaunchBounds) {
    if (protocol(warp))
      reportAt(warp, instr, ReportKind::Protocol, false,
               "expected launch bounds (.reqntid or .maxntid) for setmaxnreg to have an effect, but got none");
    return;
  }
  int64_t wanted = instr.imm, have = warp.registersPerThread;
  bool increase = instr.mode;
  // Without .maxnreg the registers at launch are ptxas's choice, at most what is assumed here: a first inc below that
  // says nothing.
  bool assumed = kernel.maxRegisters == 0 && !warp.changedRegisters;
  warp.changedRegisters = true;
  if (!(assumed && increase) && ((increase && wanted < have) || (!increase && wanted > have))) {
    reportAt(warp, instr, ReportKind::Protocol, true,
             "expected setmaxnreg." + std::string(increase ? "inc above " : "dec below ") + std::to_string(have) +
                 " registers, but got " + std::to_string(wanted));
    return;
  }
  int64_t change = (wanted - have) * 32;
  if (change > cta.registerPool) {
    warp.block(BlockReason::MaxRegisters, static_cast<uint64_t>(wanted));
    return;
  }
  cta.registerPool -= change;
  warp.registersPerThread = static_cast<uint32_t>(wanted);
  ++cta.cluster->events;
}

} // namespace fa::runtime::emulator
