// The turn-taking of warps: round robin with a quantum; adversarial order and timing when a seed asks for it.
#include "Scheduler.h"
#include "AsyncBulk.h"
#include "AsyncWgmma.h"
#include "Divergence.h"
#include "RegisterChecks.h"
#include "Timeline.h"
#include <numeric>

namespace fa::runtime::emulator {

static constexpr unsigned maxIdleRounds = 64;
/// Instructions without a store, an arrival, an exit or any other change that another warp could see: an endless loop.
static constexpr uint64_t maxQuietTicks = 1'000'000'000;

bool Cluster::adversarial() const { return launch->options->seed != 0; }

bool ClusterRunner::lookTwice(Warp &warp, const Instr &instr, uint32_t mask) {
  if ((instr.flags & flag::JoinPoint) && (warp.slowFlags & flag::JoinPoint) && arriveAtJoin(warp))
    return false;
  if ((instr.flags & flag::Aligned) && mask && mask != warp.alive) {
    reportAt(warp, instr, ReportKind::Divergence, true,
             "expected all live lanes of the warp at an .aligned instruction, but got " +
                 std::to_string(__builtin_popcount(mask)) + " of " + std::to_string(__builtin_popcount(warp.alive)),
             __builtin_ctz(mask));
    return false;
  }
  if (mask && (instr.flags & warp.slowFlags & (flag::ReadsTracked | flag::WritesTracked | flag::TouchesTensor)))
    checkRegisterUse(warp, instr, mask);
  return true;
}

/// Executes up to `quantum` instructions; returns how many.
uint64_t ClusterRunner::takeTurn(Warp &warp, uint32_t quantum) {
  const Instr *code = warp.kernel->code.data();
  uint64_t *executed = counters.executed.empty() ? nullptr : counters.executed.data();
  uint64_t lanes = 0;
  uint32_t left = quantum;
  while (left) {
    const Instr &instr = code[warp.pc];
    uint32_t mask = warp.active & (warp.predicates[instr.guard] ^ instr.guardXor);
    if ((instr.flags & warp.slowFlags) && !lookTwice(warp, instr, mask)) {
      if (launch.stop.load(std::memory_order_relaxed))
        break;
      continue;
    }
    --left;
    if (executed)
      ++executed[warp.pc];
    lanes += static_cast<uint64_t>(__builtin_popcount(mask));
    ++warp.pc;
    ++warp.time;
    if (mask | (instr.flags & flag::Always))
      instr.handler(warp, instr, mask);
    if (warp.status != WarpStatus::Ready)
      break;
  }
  uint64_t count = quantum - left;
  cluster.ticks += count;
  counters.total.warpInstructions += count;
  counters.total.threadInstructions += lanes;
  if (launch.budget.fetch_sub(static_cast<int64_t>(count), std::memory_order_relaxed) < static_cast<int64_t>(count) &&
      !launch.stop)
    reportAt(warp, code[std::min<size_t>(warp.pc, warp.kernel->code.size() - 1)], ReportKind::Budget, true,
             "expected the kernel to end within " + std::to_string(launch.options->instructionBudget) +
                 " warp instructions, but got more (an endless loop?)");
  return count;
}

void ClusterRunner::runWarp(Warp &warp) {
  bool waited = warp.status != WarpStatus::Ready;
  if (waited)
    rotateGroups(warp);
  warp.status = WarpStatus::Ready;
  uint64_t before = warp.time;
  uint32_t quantum = cluster.adversarial() ? 1 + static_cast<uint32_t>(cluster.random() % 200) : 2000;
  uint64_t executed = takeTurn(warp, quantum);
  // Trying again takes no nominal time: how often that happens is the scheduler's affair.
  if (waited && warp.status != WarpStatus::Ready && executed < 8 && warp.time - before == executed)
    warp.time = before;
}

bool ClusterRunner::everythingDone() const {
  for (const auto &cta : cluster.ctas)
    for (const Warp &warp : cta->warps)
      if (warp.status != WarpStatus::Done)
        return false;
  return true;
}

void ClusterRunner::reportEndless(Warp &warp) {
  reportAt(warp, warp.kernel->code[std::min<size_t>(warp.pc, warp.kernel->code.size() - 1)], ReportKind::Budget, true,
           "expected some effect within " + std::to_string(maxQuietTicks) +
               " instructions of a block, but got none (an endless loop, or a wait for another block?)");
}

/// One turn for every warp. False when nobody got anywhere.
bool ClusterRunner::round() {
  uint64_t events = cluster.events;
  bool progress = false;
  size_t total = cluster.ctas.size() * launch.warpsPerCta;
  size_t start = cluster.adversarial() ? cluster.random() % total : 0;
  size_t step = 1;
  if (cluster.adversarial() && total > 2)
    do
      step = 1 + cluster.random() % (total - 1);
    while (std::gcd(step, total) != 1);
  for (size_t i = 0; i < total && !launch.stop; ++i) {
    size_t index = (start + i * step) % total;
    Warp &warp = cluster.ctas[index / launch.warpsPerCta]->warps[index % launch.warpsPerCta];
    if (warp.status == WarpStatus::Done)
      continue;
    if (cluster.chance(4)) {
      progress = true;
      continue;
    }
    runWarp(warp);
    progress |= warp.status == WarpStatus::Ready;
    ++cluster.ticks;
  }
  if (events != cluster.events)
    lastEvent = cluster.ticks;
  if (cluster.ticks - lastEvent > maxQuietTicks && !launch.stop) {
    Warp *running = &cluster.ctas[0]->warps[0];
    for (auto &cta : cluster.ctas)
      for (Warp &warp : cta->warps)
        running = warp.status == WarpStatus::Ready ? &warp : running;
    reportEndless(*running);
  }
  bool pending = !cluster.bulk.empty();
  stepBulk(cluster);
  return progress || pending || events != cluster.events;
}

void ClusterRunner::finish() {
  for (auto &cta : cluster.ctas)
    drainWgmma(*cta);
  for (const BulkOperation &operation : cluster.bulk)
    if (launch.options->checkProtocol && operation.kind != BulkInfo::Kind::TensorLoad &&
        operation.kind != BulkInfo::Kind::Load && !launch.stop) {
      reportAt(
          *operation.warp, *operation.instr, ReportKind::Protocol, false,
          "expected a wait for the bulk store before the CTA ends, but got its shared memory released while it is read",
          operation.lane);
      break;
    }
  drainBulk(cluster);
  for (auto &cta : cluster.ctas)
    for (Warp &warp : cta->warps)
      endOfWarp(warp);
  if (launch.options->checkProtocol && !launch.stop)
    for (auto &cta : cluster.ctas)
      checkEnd(*cta);
}

void ClusterRunner::run(uint64_t index) {
  setUp(index);
  idleRounds = 0;
  lastEvent = cluster.ticks;
  while (!launch.stop && !everythingDone()) {
    if (round()) {
      idleRounds = 0;
      continue;
    }
    if (++idleRounds < maxIdleRounds)
      continue;
    bool released = false;
    for (auto &cta : cluster.ctas)
      for (Warp &warp : cta->warps)
        released |= warp.status != WarpStatus::Done && releaseParked(warp);
    if (!released)
      reportDeadlock();
    idleRounds = 0;
  }
  finish();
}

} // namespace fa::runtime::emulator
