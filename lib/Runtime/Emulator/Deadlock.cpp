// The deadlock report: who waits for what, and the state of every barrier.
#include "Scheduler.h"

namespace fa::runtime::emulator {

static std::string describeMbarrier(const Cta &cta, const Mbarrier &barrier) {
  return describeShared(cta, barrier.offset) + ": phase " + std::to_string(barrier.phase) + ", pending " +
         std::to_string(barrier.pending) + " of " + std::to_string(barrier.expected) + ", " +
         std::to_string(barrier.transactions) + " bytes expected";
}

static std::string describeReason(const Cta &cta, const Warp &warp) {
  switch (warp.reason) {
  case BlockReason::NamedBarrier: {
    const NamedBarrier &named = cta.barriers[warp.reasonDetail & 15];
    return "barrier " + std::to_string(warp.reasonDetail) + " with " + std::to_string(named.count) + " of " +
           std::to_string(named.need) + " threads";
  }
  case BlockReason::ClusterBarrier:
    return "barrier.cluster";
  case BlockReason::WgmmaWait:
    return "a wgmma that not all warps of the warpgroup have issued";
  case BlockReason::BulkWait:
  case BlockReason::BulkReadWait:
    return "a bulk store";
  case BlockReason::WarpSync:
    return "bar.warp.sync";
  case BlockReason::MaxRegisters:
    return "registers for setmaxnreg.inc " + std::to_string(warp.reasonDetail) + " (" +
           std::to_string(cta.registerPool) + " in the pool)";
  case BlockReason::Mbarrier:
    for (const Mbarrier &barrier : cta.mbarriers)
      if (barrier.offset == warp.reasonDetail)
        return "mbarrier " + describeMbarrier(cta, barrier);
    return "an mbarrier";
  default:
    return "nothing known";
  }
}

void ClusterRunner::reportDeadlock() {
  std::string details;
  unsigned waiting = 0;
  Warp *first = nullptr;
  for (auto &cta : cluster.ctas) {
    for (Warp &warp : cta->warps) {
      if (warp.status == WarpStatus::Done)
        continue;
      ++waiting;
      first = first ? first : &warp;
      details += (details.empty() ? "" : "; ") + std::string("block rank ") + std::to_string(cta->rank) + " warp " +
                 std::to_string(warp.id) + " at line " + std::to_string(warp.kernel->code[warp.pc].line) +
                 " waits for " + describeReason(*cta, warp);
    }
    for (const Mbarrier &barrier : cta->mbarriers)
      if (barrier.live)
        details += "; mbarrier " + describeMbarrier(*cta, barrier);
    for (size_t i = 0; i < cta->barriers.size(); ++i)
      if (cta->barriers[i].count)
        details += "; barrier " + std::to_string(i) + " has " + std::to_string(cta->barriers[i].count) + " of " +
                   std::to_string(cta->barriers[i].need) + " threads";
  }
  reportAt(*first, first->kernel->code[first->pc], ReportKind::Deadlock, true,
           "expected somebody to go on, but got " + std::to_string(waiting) + " warps that wait for ever: " + details);
}

} // namespace fa::runtime::emulator
