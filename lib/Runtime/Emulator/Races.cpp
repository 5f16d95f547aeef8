// Happens-before race detection over shared memory.
#include "Races.h"
#include <cstdio>

namespace fa::runtime::emulator {

RaceDetector::RaceDetector(Launch &launch) : launch(launch) {
  warps = launch.warpsPerCta;
  groups = (warps + 3) / 4;
  perCta = 4 * warps + groups + mbarriersPerCta;
  dimensions = perCta * launch.ctasPerCluster;
  shadows.resize(launch.ctasPerCluster);
  for (Shadow &shadow : shadows) {
    shadow.cells.resize(launch.sharedEnd / 16 + 1);
    shadow.split.resize(launch.sharedEnd / 16 + 1);
  }
}

void RaceDetector::reset() {
  mbarriersUsed.assign(launch.ctasPerCluster, 0);
  for (Shadow &shadow : shadows) {
    std::fill(shadow.cells.begin(), shadow.cells.end(), Cell());
    std::fill(shadow.split.begin(), shadow.split.end(), 0);
    shadow.bytes.clear();
    shadow.free.clear();
  }
}

uint32_t RaceDetector::newMbarrierDimension(const Cta &cta) {
  // Beyond the limit the last dimension is shared: phases of those barriers are then ordered too generously.
  uint32_t index = std::min(mbarriersUsed[cta.rank]++, mbarriersPerCta - 1);
  return cta.rank * perCta + 4 * warps + groups + index;
}

void RaceDetector::startWarp(Warp &warp) {
  emptyClock(warp.clock);
  uint32_t dimension = warpDimension(*warp.cta, warp.id);
  warp.clock.ordered[dimension] = 1;
}

void RaceDetector::release(Warp &warp, Clock &sync) {
  sync.join(warp.clock);
  ++warp.clock.ordered[warpDimension(*warp.cta, warp.id)];
}

void RaceDetector::proxyFence(Warp &warp) {
  warp.clock.fenced = warp.clock.ordered;
  ++warp.clock.ordered[warpDimension(*warp.cta, warp.id)];
}

void RaceDetector::observe(Warp &warp, uint32_t dimension, uint32_t count) {
  warp.clock.ordered[dimension] = std::max(warp.clock.ordered[dimension], count);
  warp.clock.fenced[dimension] = std::max(warp.clock.fenced[dimension], count);
}

RaceDetector::Agent RaceDetector::warpAgent(Warp &warp, const Instr &instr) const {
  uint32_t dimension = warpDimension(*warp.cta, warp.id);
  return {dimension, warp.clock.ordered[dimension], Proxy::Generic, &warp.clock, instr.line, &warp, &instr};
}

std::string RaceDetector::nameOfDimension(uint32_t dimension) const {
  uint32_t index = dimension % perCta;
  if (index < warps)
    return "warp " + std::to_string(index);
  index -= warps;
  if (index < groups)
    return "wgmma of warpgroup " + std::to_string(index);
  index -= groups;
  if (index < 2 * warps)
    return "bulk store of warp " + std::to_string(index % warps);
  index -= 2 * warps;
  if (index < warps)
    return "cp.async of warp " + std::to_string(index);
  return "bulk load";
}

void RaceDetector::report(const Agent &agent, Cta &cta, const Cell &, uint32_t address, const std::string &message,
                          int otherLine) {
  reportAt(*agent.warp, *agent.instr, ReportKind::Race, false, message, -1, address, describeShared(cta, address),
           otherLine);
}

void RaceDetector::check(const Agent &agent, Cta &cta, Cell &cell, uint32_t address, bool write) {
  const Clock &clock = *agent.clock;
  bool sameAgent =
      cell.writer == agent.dimension && (agent.proxy == Proxy::Generic || cell.writeEpoch != agent.epoch || !write);
  if (cell.writer != none && !sameAgent) {
    const char *what = write ? "write after write" : "read after write";
    if (!sees(clock, cell.writer, cell.writeEpoch))
      report(agent, cta, cell, address,
             std::string("expected a ") + what + " to be ordered, but got no synchronisation with " +
                 nameOfDimension(cell.writer),
             cell.writeLine);
    else if (agent.proxy == Proxy::Async && cell.writeProxy == Proxy::Generic &&
             clock.fenced[cell.writer] < cell.writeEpoch)
      report(agent, cta, cell, address,
             std::string("expected fence.proxy.async between an ordinary write and an asynchronous ") +
                 (write ? "write" : "read") + ", but got none",
             cell.writeLine);
  } else if (cell.writer != none && agent.proxy == Proxy::Async && cell.writeProxy == Proxy::Async && write &&
             cell.writeEpoch == agent.epoch && cell.writer == agent.dimension) {
    report(agent, cta, cell, address,
           "expected bulk loads of one phase to write disjoint bytes, but got two that overlap", cell.writeLine);
  }
  if (write) {
    for (unsigned i = 0; i < cell.readerCount; ++i)
      if (cell.readers[i].dimension != agent.dimension &&
          !sees(clock, cell.readers[i].dimension, cell.readers[i].epoch)) {
        report(agent, cta, cell, address,
               "expected a write after a read to be ordered, but got no synchronisation with " +
                   nameOfDimension(cell.readers[i].dimension) + " that reads it",
               cell.readers[i].line);
        break;
      }
    cell.writer = agent.dimension;
    cell.writeEpoch = agent.epoch;
    cell.writeLine = agent.line;
    cell.writeProxy = agent.proxy;
    cell.readerCount = 0;
    return;
  }
  if (cell.readerCount == 1 && cell.readers[0].dimension == agent.dimension) {
    cell.readers[0].epoch = agent.epoch;
    cell.readers[0].line = agent.line;
    return;
  }
  // Readers that this one is ordered after need not be remembered.
  unsigned kept = 0;
  for (unsigned i = 0; i < cell.readerCount; ++i)
    if (cell.readers[i].dimension != agent.dimension && !sees(clock, cell.readers[i].dimension, cell.readers[i].epoch))
      cell.readers[kept++] = cell.readers[i];
  if (kept == 4)
    kept = 3;
  cell.readers[kept++] = {agent.dimension, agent.epoch, agent.line};
  cell.readerCount = static_cast<uint8_t>(kept);
}

void RaceDetector::access(const Agent &agent, Cta &cta, uint32_t index, uint32_t byteMask, bool write) {
  Shadow &shadow = shadows[cta.rank];
  Cell &cell = shadow.cells[index];
  uint32_t split = shadow.split[index];
  if (byteMask == 0xffff) {
    if (!split) {
      // The common case of a wgmma that reads its tile again: same reader, ordered after the writer.
      const Clock &clock = *agent.clock;
      if (!write && cell.readerCount == 1 && cell.readers[0].dimension == agent.dimension && cell.writer != none &&
          sees(clock, cell.writer, cell.writeEpoch) &&
          (cell.writeProxy == Proxy::Async || agent.proxy == Proxy::Generic)) {
        cell.readers[0].epoch = agent.epoch;
        cell.readers[0].line = agent.line;
        return;
      }
      check(agent, cta, cell, index * 16, write);
      return;
    }
    for (unsigned i = 0; i < 16; ++i)
      check(agent, cta, shadow.bytes[split - 1][i], index * 16 + i, write);
    if (write) { // all bytes have one writer and no reader again
      cell = shadow.bytes[split - 1][0];
      shadow.split[index] = 0;
      shadow.free.push_back(split);
    }
    return;
  }
  if (!split) {
    if (shadow.free.empty()) {
      shadow.bytes.emplace_back();
      split = static_cast<uint32_t>(shadow.bytes.size());
    } else {
      split = shadow.free.back();
      shadow.free.pop_back();
    }
    shadow.bytes[split - 1].fill(cell);
    shadow.split[index] = split;
  }
  for (; byteMask; byteMask &= byteMask - 1) {
    unsigned i = static_cast<unsigned>(__builtin_ctz(byteMask));
    check(agent, cta, shadow.bytes[split - 1][i], index * 16 + i, write);
  }
}

static uint32_t maskOf(uint32_t from, uint32_t count) { return ((count >= 32 ? 0 : 1u << count) - 1) << from; }

void RaceDetector::readShared(const Agent &agent, Cta &cta, uint32_t offset, uint32_t bytes) {
  for (uint32_t at = offset; at < offset + bytes;) {
    uint32_t count = std::min(16 - at % 16, offset + bytes - at);
    access(agent, cta, at / 16, maskOf(at % 16, count), false);
    at += count;
  }
}

void RaceDetector::writeShared(const Agent &agent, Cta &cta, uint32_t offset, uint32_t bytes) {
  for (uint32_t at = offset; at < offset + bytes;) {
    uint32_t count = std::min(16 - at % 16, offset + bytes - at);
    access(agent, cta, at / 16, maskOf(at % 16, count), true);
    at += count;
  }
}

void RaceDetector::accessShared(const Agent &agent, Cta &cta, uint32_t lanes, const uint32_t *offsets, unsigned bytes,
                                bool write) {
  // Neighbouring lanes usually fill whole cells together: collect runs of one cell first.
  uint32_t cell = ~0u, mask = 0;
  auto flush = [&] {
    if (mask)
      access(agent, cta, cell, mask, write);
    mask = 0;
  };
  for (uint32_t rest = lanes; rest; rest &= rest - 1) {
    uint32_t offset = offsets[__builtin_ctz(rest)];
    for (uint32_t at = offset; at < offset + bytes;) {
      uint32_t count = std::min(16 - at % 16, offset + bytes - at);
      if (at / 16 != cell) {
        flush();
        cell = at / 16;
      }
      mask |= maskOf(at % 16, count);
      at += count;
    }
  }
  flush();
}

} // namespace fa::runtime::emulator
