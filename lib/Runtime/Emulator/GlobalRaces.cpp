// Race detection over global memory.
#include "GlobalRaces.h"
#include <cstdlib>

namespace fa::runtime::emulator {

GlobalShadow::GlobalShadow(size_t bytes) {
  size_t cells = bytes / 4 + 2; // calloc: pages that nobody touches cost nothing
  writers = static_cast<uint64_t *>(std::calloc(cells, sizeof *writers));
  readers = static_cast<uint64_t *>(std::calloc(cells, sizeof *readers));
  lines = static_cast<uint32_t *>(std::calloc(cells, sizeof *lines));
}

GlobalShadow::~GlobalShadow() {
  std::free(writers);
  std::free(readers);
  std::free(lines);
}

namespace {

/// Who touched a cell, in 64 bits: CTA + 1 (24), rank in the cluster (4), dimension (8), epoch (20), proxy (1), bytes
/// (4).
struct Access {
  uint32_t cta, rank, dimension, epoch;
  bool async;
  uint32_t bytes;

  static constexpr uint32_t epochs = (1u << 20) - 1;
  uint64_t pack() const {
    return uint64_t(cta + 1) << 40 | uint64_t(rank) << 36 | uint64_t(dimension) << 28 |
           uint64_t(std::min(epoch, epochs)) << 8 | uint64_t(async) << 4 | bytes;
  }
  static Access unpack(uint64_t word) {
    return {static_cast<uint32_t>(word >> 40) - 1,
            static_cast<uint32_t>(word >> 36 & 15),
            static_cast<uint32_t>(word >> 28 & 255),
            static_cast<uint32_t>(word >> 8 & epochs),
            (word >> 4 & 1) != 0,
            static_cast<uint32_t>(word & 15)};
  }
};

GlobalShadow *shadowOf(Launch &launch, const Allocation &allocation, bool create) {
  if (allocation.index >= launch.globalShadows.size())
    return nullptr;
  std::atomic<GlobalShadow *> &slot = launch.globalShadows[allocation.index];
  GlobalShadow *shadow = slot.load(std::memory_order_acquire);
  if (shadow || !create)
    return shadow;
  auto fresh = std::make_unique<GlobalShadow>(allocation.bytes);
  if (!fresh->writers || !fresh->readers || !fresh->lines)
    return nullptr;
  if (slot.compare_exchange_strong(shadow, fresh.get(), std::memory_order_acq_rel))
    return fresh.release();
  return shadow;
}

struct Judge {
  const RaceDetector::Agent &agent;
  const Cta &cta;
  const Allocation &allocation;
  uint32_t perCta;

  void report(uint64_t address, const std::string &message, int otherLine) const {
    reportAt(*agent.warp, *agent.instr, ReportKind::Race, false, message, -1, address,
             cta.cluster->launch->memory->describeNearest(address), otherLine);
  }

  /// Compares with an earlier access to the same bytes. `what` names the pair of accesses.
  void compare(uint64_t word, uint32_t bytes, uint64_t address, const char *what, bool earlierWrote, int line) const {
    if (!word)
      return;
    Access earlier = Access::unpack(word);
    if (!(earlier.bytes & bytes) || earlier.epoch == Access::epochs)
      return;
    const auto &ctas = cta.cluster->ctas;
    bool sameCluster = earlier.rank < ctas.size() && ctas[earlier.rank]->linear == earlier.cta;
    if (!sameCluster) {
      if (!cta.cluster->synchronisedGlobally)
        report(address,
               std::string("expected a ") + what + " to be ordered, but got no synchronisation with block " +
                   std::to_string(earlier.cta),
               line);
      return;
    }
    uint32_t dimension = earlier.rank * perCta + earlier.dimension;
    if (dimension == agent.dimension)
      return;
    if (agent.clock->ordered[dimension] < earlier.epoch)
      report(address, std::string("expected a ") + what + " to be ordered, but got no synchronisation inside the block",
             line);
    else if (earlierWrote && agent.proxy == Proxy::Async && !earlier.async &&
             agent.clock->fenced[dimension] < earlier.epoch)
      report(address, "expected fence.proxy.async between an ordinary write and a bulk copy of it, but got none", line);
  }
};

} // namespace

void checkGlobalAccess(const RaceDetector::Agent &agent, const Cta &cta, const Allocation &allocation, uint64_t address,
                       size_t bytes, bool write) {
  Launch &launch = *cta.cluster->launch;
  GlobalShadow *shadow = shadowOf(launch, allocation, write);
  if (!shadow)
    return;
  uint32_t perCta = cta.cluster->races->dimensionsPerCta();
  Judge judge{agent, cta, allocation, perCta};
  Access mine{cta.linear, cta.rank, agent.dimension - cta.rank * perCta, agent.epoch, agent.proxy == Proxy::Async, 0};
  size_t from = address - allocation.address, to = from + bytes;
  while (from < to) {
    size_t cell = from / 4, count = std::min<size_t>(4 - from % 4, to - from);
    mine.bytes = ((1u << count) - 1) << (from % 4);
    uint64_t word = mine.pack(), at = allocation.address + from;
    int line = static_cast<int>(__atomic_load_n(shadow->lines + cell, __ATOMIC_RELAXED));
    if (write) {
      uint64_t writer = __atomic_exchange_n(shadow->writers + cell, word, __ATOMIC_ACQ_REL);
      judge.compare(writer, mine.bytes, at, "write after write", true, line);
      judge.compare(__atomic_load_n(shadow->readers + cell, __ATOMIC_ACQUIRE), mine.bytes, at, "write after a read",
                    false, 0);
      __atomic_store_n(shadow->lines + cell, static_cast<uint32_t>(agent.line), __ATOMIC_RELAXED);
    } else {
      judge.compare(__atomic_load_n(shadow->writers + cell, __ATOMIC_ACQUIRE), mine.bytes, at, "read after write", true,
                    line);
      __atomic_store_n(shadow->readers + cell, word, __ATOMIC_RELEASE);
    }
    from += count;
  }
}

} // namespace fa::runtime::emulator
