// The state of what executes: warps, CTAs, clusters, and the launch they belong to.
#pragma once
#include "Clock.h"
#include "Kernel.h"
#include "fa/Runtime/Emulator/Memory.h"
#include <atomic>
#include <deque>
#include <map>
#include <mutex>
#include <random>

namespace fa::runtime::emulator {

struct Cta;
struct Cluster;
struct Launch;
class RaceDetector;
struct GlobalShadow;

/// Where lanes that diverged come together again: all live lanes of `mask` must arrive at `pc`.
struct Join {
  int32_t pc = 0;
  uint32_t mask = 0;
};

/// Lanes of a warp at one pc.
struct Group {
  uint32_t pc = 0, mask = 0;
  bool parked = false;   ///< waits at joins.back()
  bool released = false; ///< its bar.warp.sync is complete
  std::vector<Join> joins;
};

enum class WarpStatus : uint8_t { Ready, Blocked, Spinning, Done };

enum class BlockReason : uint8_t {
  None,
  NamedBarrier,
  ClusterBarrier,
  WgmmaWait,
  WgmmaIssue,
  BulkWait,
  BulkReadWait,
  CpAsyncWait,
  Mbarrier,
  WarpSync,
  MaxRegisters
};

/// Ends of groups that were committed but may not be complete: counts of operations.
struct GroupQueue {
  uint64_t issued = 0;              ///< operations started
  std::vector<uint64_t> boundaries; ///< value of `issued` at each commit
  void commit() { boundaries.push_back(issued); }
  /// Operations that must be complete so that at most `pending` groups are not.
  uint64_t required(uint64_t pending) const {
    return boundaries.size() > pending ? boundaries[boundaries.size() - 1 - pending] : 0;
  }
};

/// A wgmma that a warp issued and has not waited for.
struct FlightRecord {
  uint64_t sequence = 0;
  const WgmmaInfo *info = nullptr;
  int line = 0;
};

struct Warp {
  uint8_t *registers = nullptr;
  uint32_t *predicates = nullptr;
  uint32_t pc = 0, active = 0, alive = 0;
  uint16_t slowFlags = 0; ///< instruction flags that need a second look now
  WarpStatus status = WarpStatus::Ready;
  BlockReason reason = BlockReason::None;
  uint16_t id = 0;           ///< in the CTA
  uint64_t reasonDetail = 0; ///< barrier number or mbarrier address
  Cta *cta = nullptr;
  const Kernel *kernel = nullptr;
  std::vector<Join> joins; ///< of the running group
  bool released = false;   ///< of the running group
  std::vector<Group> others;
  uint64_t laneCount = 0, instructionCount = 0;
  uint64_t time = 0, runningSince = 0; ///< of the nominal clock (Timeline.h)
  uint64_t bulkTime = 0;               ///< when its bulk stores are done

  // Named barriers: the generation this warp waits for.
  bool arrived = false;
  uint64_t ticket = 0;
  bool clusterArrived = false, clusterWaiting = false;
  uint64_t clusterTicket = 0;

  // wgmma.
  GroupQueue wgmmaGroups;
  uint64_t wgmmaComplete = 0; ///< operations whose wait this warp has passed
  std::vector<FlightRecord> flights;
  std::vector<uint16_t> inFlight; ///< for each tensor slot: WgmmaInfo::accumulator of the operation in flight whose D
                                  ///< it is in, `flightA` when it is an A fragment, 0: none
  static constexpr uint16_t flightA = 0xffff;
  std::vector<uint8_t> unfenced; ///< for each tensor register: touched since the last wgmma.fence
  bool everFenced = false;

  // Bulk copies and cp.async, by commit groups of this warp's threads (the union of its lanes).
  GroupQueue bulkGroups, cpAsyncGroups;
  uint64_t bulkRead = 0, bulkDone = 0;
  uint64_t cpAsyncDone = 0;

  std::vector<uint32_t> initialised; ///< lane masks of the tracked slots
  uint32_t registersPerThread = 0;   ///< setmaxnreg
  bool changedRegisters = false;
  uint32_t carry = 0; ///< condition code of add.cc, one bit a lane
  Clock clock;

  template <typename T> T *slot(uint32_t offset) { return reinterpret_cast<T *>(registers + offset); }
  /// Ends this turn; the instruction is executed again on the next one.
  void block(BlockReason why, uint64_t detail = 0) {
    status = WarpStatus::Blocked;
    reason = why;
    reasonDetail = detail;
    --pc;
  }
};

struct Mbarrier {
  uint32_t offset = 0;
  bool live = false;
  uint32_t expected = 0;
  int64_t pending = 0, transactions = 0;
  uint32_t phase = 0;
  int line = 0;
  bool waitedSinceCompletion = true;
  uint32_t dimension = 0;                    ///< of TMA writes in the race detector's clocks
  uint32_t initDimension = 0, initEpoch = 0; ///< who initialised it, when
  uint16_t initWarp = 0;
  bool fencedInit = false;             ///< visible to the async proxy and other CTAs
  std::vector<uint32_t> lastPhaseSeen; ///< for each warp: 1 + last phase whose completion it observed
  uint64_t time = 0, doneTime[2] = {};
  Clock arriving, done[2];
};

struct NamedBarrier {
  uint32_t count = 0, need = 0;
  uint64_t generation = 0;
  uint64_t arrivedWarps = 0;                       ///< bit mask
  uint32_t partial[3] = {0, 1, 0}, result[3] = {}; ///< bar.red: popc, and, or
  int line = 0;
  uint64_t time = 0, doneTime = 0;
  Clock arriving, done;
};

/// One warpgroup-wide wgmma.mma_async.
struct WgmmaOperation {
  const Instr *instr = nullptr;
  uint64_t descriptorA[4] = {}, descriptorB[4] = {};
  bool accumulate[4] = {};
  uint8_t arrived = 0;
  bool executed = false;
  bool late = false; ///< operands are read when somebody waits for it
  uint64_t time = 0; ///< of the last warp that issued it
  Clock clock;
};

struct Warpgroup {
  std::deque<WgmmaOperation> operations; ///< those not executed yet, plus issue order
  uint64_t first = 0;                    ///< sequence number of operations.front()
  uint64_t executed = 0;                 ///< operations done
  std::vector<uint64_t> endTimes;        ///< by sequence number
  size_t lastSpan = 0;                   ///< 1 + index in the timeline
};

/// A bulk copy under way.
struct BulkOperation {
  BulkInfo::Kind kind = BulkInfo::Kind::TensorLoad;
  const BulkInfo *info = nullptr;
  const Instr *instr = nullptr;
  TensorMap map;
  std::array<int32_t, 5> coordinates{};
  Cta *issuer = nullptr;
  Warp *warp = nullptr;
  int lane = 0;
  uint32_t shared = 0; ///< window offset
  Cta *sharedCta = nullptr;
  uint64_t global = 0;
  uint32_t bytes = 0;
  uint32_t mbarrier = 0;
  Cta *mbarrierCta = nullptr;
  uint32_t sourceShared = 0; ///< SharedToCluster
  uint16_t ctaMask = 0;      ///< multicast; 0: only the destination's CTA
  uint64_t sequence = 0;     ///< in the warp's bulk groups
  bool sourceRead = false;
  int delay = 0;
  int line = 0;
  uint64_t issuedAt = 0, endsAt = 0; ///< of the nominal clock
  Clock clock;
};

struct Cta {
  Cluster *cluster = nullptr;
  uint32_t rank = 0; ///< in the cluster
  uint32_t id[3] = {};
  uint32_t linear = 0;
  uint8_t *shared = nullptr; ///< the window; valid bytes are [window::sharedBase, sharedEnd)
  uint32_t sharedEnd = 0;
  std::vector<uint8_t> sharedInitialised; ///< one bit a byte
  std::vector<uint8_t> local;
  std::vector<Warp> warps;
  std::vector<Warpgroup> warpgroups;
  std::array<NamedBarrier, 16> barriers;
  std::vector<Mbarrier> mbarriers;
  std::vector<uint8_t> mbarrierAt;                  ///< window offset / 8 -> 1 + index in `mbarriers`, 0: none
  uint64_t tensorCoresFree = 0, copyEngineFree = 0; ///< Timeline.h
  int64_t registerPool = 0;                         ///< registers that setmaxnreg may still hand out
  std::vector<uint8_t> tileSwizzle; ///< window offset / 1024 -> 1 + swizzle code of the TMA that wrote it last
  std::map<std::pair<uint32_t, uint32_t>, Clock> atomicClocks;

  Mbarrier *findMbarrier(uint32_t offset) {
    uint8_t index = offset % 8 == 0 && offset / 8 < mbarrierAt.size() ? mbarrierAt[offset / 8] : 0;
    return index ? &mbarriers[index - 1] : nullptr;
  }
};

/// Counters of one host thread; merged at the end.
struct LocalCounters {
  Counters total;
  std::vector<uint64_t> executed; ///< per instruction, when opcodes are counted
  struct Traffic {
    uint64_t read = 0, written = 0, tmaRead = 0, tmaWritten = 0;
  };
  std::vector<Traffic> traffic; ///< by Allocation::index
  Traffic &of(const Allocation &allocation) {
    if (allocation.index >= traffic.size())
      traffic.resize(allocation.index + 1);
    return traffic[allocation.index];
  }
};

/// CTAs that run together on one host thread.
struct Cluster {
  Launch *launch = nullptr;
  std::vector<std::unique_ptr<Cta>> ctas;
  std::vector<BulkOperation> bulk;
  uint64_t events = 0; ///< changes of state that may wake somebody
  uint64_t ticks = 0;
  std::mt19937_64 random;
  RaceDetector *races = nullptr;
  LocalCounters *counters = nullptr;
  // barrier.cluster
  uint64_t clusterGeneration = 0;
  uint64_t clusterTime = 0, clusterDoneTime = 0;
  Clock clusterArriving, clusterDone;
  Allocation *lastAllocation = nullptr;
  bool synchronisedGlobally = false; ///< used atomics or acquire loads on global memory
  uint64_t sawUninitialised = 0;     ///< address that a bulk copy read and nobody wrote
  std::vector<TimelineEvent> timeline;

  bool adversarial() const;
  /// True once in `n` on average, in adversarial mode only.
  bool chance(unsigned n) { return adversarial() && random() % n == 0; }
};

/// One kernel launch; shared by the host threads.
struct Launch {
  const Kernel *kernel = nullptr;
  const Options *options = nullptr;
  GlobalMemory *memory = nullptr;
  LaunchRequest request;
  std::vector<uint8_t> parameters; ///< padded
  uint32_t threadsPerCta = 0, warpsPerCta = 0, ctasPerCluster = 1;
  uint32_t clusterGrid[3] = {1, 1, 1};
  uint32_t sharedEnd = 0;
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> nextCluster{0};
  std::atomic<int64_t> budget{0};
  std::mutex reportMutex;
  std::vector<Report> reports;
  std::map<std::tuple<int, int, int>, size_t> reportIndex;
  std::mutex atomicMutex;
  std::vector<std::atomic<GlobalShadow *>> globalShadows; ///< by Allocation::index; owned
  ~Launch();
  bool anyFatal = false;

  void report(Report report);
};

/// Adds where and who to a finding and files it. `lane` < 0: the whole warp.
void reportAt(Warp &warp, const Instr &instr, ReportKind kind, bool fatal, std::string message, int lane = -1,
              uint64_t address = 0, std::string nearest = {}, int otherLine = 0);
/// The shared variable or mbarrier at or before a window offset.
std::string describeShared(const Cta &cta, uint32_t offset);

/// The address that lane `lane` computes.
inline uint64_t addressOf(const Warp &warp, const AddressRef &ref, int lane) {
  if (ref.wide)
    return reinterpret_cast<const uint64_t *>(warp.registers + ref.slot)[lane] + static_cast<uint64_t>(ref.offset);
  return static_cast<uint32_t>(reinterpret_cast<const uint32_t *>(warp.registers + ref.slot)[lane] +
                               static_cast<uint32_t>(ref.offset));
}

/// Splits a shared::cluster address into CTA and window offset; null when it names no CTA or lies outside.
Cta *resolveShared(Warp &warp, uint64_t address, uint32_t bytes, uint32_t &offset);
/// shared::cluster address of a window offset in CTA `rank`.
inline uint32_t clusterAddress(uint32_t rank, uint32_t offset) { return (rank + 1) << 24 | offset; }

} // namespace fa::runtime::emulator
