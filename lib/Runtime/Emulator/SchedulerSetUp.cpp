// Fresh state for the CTAs of a cluster: register files, special registers, shared memory.
#include "Scheduler.h"
#include <cstring>

namespace fa::runtime::emulator {

static constexpr size_t registerFileLines = 64;

ClusterRunner::ClusterRunner(Launch &launch) : launch(launch) {
  cluster.launch = &launch;
  cluster.counters = &counters;
  registerBytes = static_cast<size_t>(std::max(1u, launch.kernel->slots)) * slotBytes;
  if (launch.options->countOpcodes)
    counters.executed.assign(launch.kernel->code.size(), 0);
  for (uint32_t i = 0; i < launch.ctasPerCluster; ++i) {
    cluster.ctas.push_back(std::make_unique<Cta>());
    registerFiles.emplace_back(new uint8_t[registerBytes * launch.warpsPerCta + registerFileLines]);
    sharedWindows.emplace_back(new uint8_t[launch.sharedEnd + 128]);
  }
  predicateFiles.resize(static_cast<size_t>(launch.ctasPerCluster) * launch.warpsPerCta * launch.kernel->predicates);
  if (launch.options->checkRaces) {
    races = std::make_unique<RaceDetector>(launch);
    cluster.races = races.get();
  }
}

uint32_t ClusterRunner::specialValue(const Cta &cta, Special kind, uint32_t thread) const {
  const LaunchRequest &r = launch.request;
  const uint32_t *block = r.block, *grid = r.grid, *cluster = r.cluster;
  uint32_t lane = thread % 32;
  switch (kind) {
  case Special::TidX:
    return thread % block[0];
  case Special::TidY:
    return thread / block[0] % block[1];
  case Special::TidZ:
    return thread / block[0] / block[1];
  case Special::NTidX:
  case Special::NTidY:
  case Special::NTidZ:
    return block[static_cast<int>(kind) - static_cast<int>(Special::NTidX)];
  case Special::CtaIdX:
  case Special::CtaIdY:
  case Special::CtaIdZ:
    return cta.id[static_cast<int>(kind) - static_cast<int>(Special::CtaIdX)];
  case Special::NCtaIdX:
  case Special::NCtaIdY:
  case Special::NCtaIdZ:
    return grid[static_cast<int>(kind) - static_cast<int>(Special::NCtaIdX)];
  case Special::LaneId:
    return lane;
  case Special::WarpId:
    return thread / 32;
  case Special::NWarpId:
    return 64;
  case Special::SmId:
    return cta.linear % 132;
  case Special::NSmId:
    return 132;
  case Special::ClusterIdX:
  case Special::ClusterIdY:
  case Special::ClusterIdZ: {
    int i = static_cast<int>(kind) - static_cast<int>(Special::ClusterIdX);
    return cta.id[i] / cluster[i];
  }
  case Special::NClusterIdX:
  case Special::NClusterIdY:
  case Special::NClusterIdZ: {
    int i = static_cast<int>(kind) - static_cast<int>(Special::NClusterIdX);
    return grid[i] / cluster[i];
  }
  case Special::ClusterCtaIdX:
  case Special::ClusterCtaIdY:
  case Special::ClusterCtaIdZ: {
    int i = static_cast<int>(kind) - static_cast<int>(Special::ClusterCtaIdX);
    return cta.id[i] % cluster[i];
  }
  case Special::ClusterNCtaIdX:
  case Special::ClusterNCtaIdY:
  case Special::ClusterNCtaIdZ:
    return cluster[static_cast<int>(kind) - static_cast<int>(Special::ClusterNCtaIdX)];
  case Special::ClusterCtaRank:
    return cta.rank;
  case Special::ClusterNCtaRank:
    return launch.ctasPerCluster;
  case Special::LaneMaskEq:
    return 1u << lane;
  case Special::LaneMaskLe:
    return (2u << lane) - 1;
  case Special::LaneMaskLt:
    return (1u << lane) - 1;
  case Special::LaneMaskGe:
    return ~((1u << lane) - 1);
  case Special::LaneMaskGt:
    return ~((2u << lane) - 1);
  case Special::DynamicSharedSize:
    return static_cast<uint32_t>(r.dynamicSharedBytes);
  case Special::TotalSharedSize:
    return launch.sharedEnd - window::sharedBase;
  default:
    return 0;
  }
}

void ClusterRunner::setUpWarp(Cta &cta, Warp &warp) {
  const Kernel &kernel = *launch.kernel;
  // NaN patterns where nobody wrote: a read that the checks miss shows in the result.
  std::memset(warp.registers, cluster.adversarial() ? 0xff : 0, registerBytes);
  std::fill_n(warp.predicates, kernel.predicates, 0u);
  warp.predicates[predicateTrue] = ~0u;
  for (const ConstantSlot &constant : kernel.constants)
    for (int lane = 0; lane < 32; ++lane)
      if (constant.wide)
        warp.slot<uint64_t>(constant.offset)[lane] = constant.bits;
      else
        warp.slot<uint32_t>(constant.offset)[lane] = static_cast<uint32_t>(constant.bits);
  for (const SpecialSlot &special : kernel.specials)
    for (uint32_t lane = 0; lane < 32; ++lane) {
      uint32_t value = specialValue(cta, special.kind, warp.id * 32u + lane);
      if (special.kind == Special::GridId || special.kind == Special::Clock64)
        warp.slot<uint64_t>(special.offset)[lane] = value;
      else
        warp.slot<uint32_t>(special.offset)[lane] = value;
    }
  uint32_t threads = launch.threadsPerCta - std::min(launch.threadsPerCta, warp.id * 32u);
  warp.alive = warp.active = threads >= 32 ? ~0u : (1u << threads) - 1;
  const Options &options = *launch.options;
  warp.slowFlags = flag::Aligned;
  if (options.checkRegisters) {
    warp.slowFlags |= flag::ReadsTracked | flag::WritesTracked | flag::TouchesTensor;
    warp.initialised.assign(kernel.trackedSlots, 0);
    warp.inFlight.assign(kernel.tensorSlotEnd - kernel.tensorSlotBegin, 0);
    warp.unfenced.assign(kernel.tensorRegisters, 0);
  }
  if (races)
    races->startWarp(warp);
}

void ClusterRunner::setUpCta(Cta &cta, uint64_t index, uint32_t rank) {
  uint8_t *window = sharedWindows[rank].get();
  cta = Cta();
  cta.cluster = &cluster;
  cta.rank = rank;
  const uint32_t *c = launch.request.cluster;
  uint32_t inCluster[3] = {rank % c[0], rank / c[0] % c[1], rank / c[0] / c[1]};
  uint64_t position[3] = {index % launch.clusterGrid[0], index / launch.clusterGrid[0] % launch.clusterGrid[1],
                          index / launch.clusterGrid[0] / launch.clusterGrid[1]};
  for (int i = 0; i < 3; ++i)
    cta.id[i] = static_cast<uint32_t>(position[i]) * c[i] + inCluster[i];
  const uint32_t *g = launch.request.grid;
  cta.linear = (cta.id[2] * g[1] + cta.id[1]) * g[0] + cta.id[0];
  cta.shared = reinterpret_cast<uint8_t *>((reinterpret_cast<uintptr_t>(window) + 127) / 128 * 128);
  cta.sharedEnd = launch.sharedEnd;
  std::memset(cta.shared, cluster.adversarial() ? 0xff : 0, launch.sharedEnd);
  cta.sharedInitialised.assign(launch.sharedEnd / 8 + 2, 0);
  cta.mbarrierAt.assign(launch.sharedEnd / 8 + 1, 0);
  cta.tileSwizzle.assign(launch.sharedEnd / 1024 + 1, 0);
  cta.mbarriers.reserve(256);
  cta.local.assign(static_cast<size_t>(launch.kernel->localBytes) * launch.warpsPerCta * 32, 0);
  uint32_t perThread = launch.kernel->maxRegisters
                           ? launch.kernel->maxRegisters
                           : std::min(248u, 65536u / std::max(1u, launch.warpsPerCta * 32) / 8 * 8);
  cta.warpgroups.resize(launch.warpsPerCta / 4);
  cta.warps.resize(launch.warpsPerCta);
  uint8_t *file =
      reinterpret_cast<uint8_t *>((reinterpret_cast<uintptr_t>(registerFiles[rank].get()) + registerFileLines - 1) /
                                  registerFileLines * registerFileLines);
  for (uint32_t w = 0; w < launch.warpsPerCta; ++w) {
    Warp &warp = cta.warps[w];
    warp.cta = &cta;
    warp.kernel = launch.kernel;
    warp.id = static_cast<uint16_t>(w);
    warp.registers = file + w * registerBytes;
    warp.predicates =
        predicateFiles.data() + (static_cast<size_t>(rank) * launch.warpsPerCta + w) * launch.kernel->predicates;
    warp.registersPerThread = perThread;
    setUpWarp(cta, warp);
  }
}

void ClusterRunner::setUp(uint64_t index) {
  cluster.random.seed(launch.options->seed * 0x9E3779B97F4A7C15ull + index);
  cluster.bulk.clear();
  cluster.synchronisedGlobally = false;
  cluster.clusterGeneration = 0;
  cluster.clusterTime = cluster.clusterDoneTime = 0;
  cluster.clusterArriving.clear();
  cluster.clusterDone.clear();
  if (races)
    races->reset();
  for (uint32_t rank = 0; rank < launch.ctasPerCluster; ++rank)
    setUpCta(*cluster.ctas[rank], index, rank);
}

} // namespace fa::runtime::emulator
