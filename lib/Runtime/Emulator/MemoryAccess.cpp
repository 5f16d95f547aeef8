// Judges and resolves the addresses of one memory instruction.
#include "MemoryAccess.h"
#include "GlobalRaces.h"
#include <bit>
#include <cstdio>

namespace fa::runtime::emulator {

void setBits(uint8_t *bits, size_t from, size_t count) {
  while (count && from % 8) {
    bits[from / 8] |= static_cast<uint8_t>(1u << (from % 8));
    ++from, --count;
  }
  for (; count >= 8; from += 8, count -= 8)
    bits[from / 8] = 0xff;
  for (; count; ++from, --count)
    bits[from / 8] |= static_cast<uint8_t>(1u << (from % 8));
}

bool allBits(const uint8_t *bits, size_t from, size_t count) {
  for (; count && from % 8; ++from, --count)
    if (!(bits[from / 8] >> (from % 8) & 1))
      return false;
  for (; count >= 8; from += 8, count -= 8)
    if (bits[from / 8] != 0xff)
      return false;
  for (; count; ++from, --count)
    if (!(bits[from / 8] >> (from % 8) & 1))
      return false;
  return true;
}

void WarpAccess::take(uint32_t slot, bool wide, int64_t offset) {
  if (wide) {
    const uint64_t *base = warp.slot<uint64_t>(slot);
    for (int l = 0; l < 32; ++l)
      address[l] = base[l] + static_cast<uint64_t>(offset);
  } else {
    const uint32_t *base = warp.slot<uint32_t>(slot);
    for (int l = 0; l < 32; ++l)
      address[l] = static_cast<uint32_t>(base[l] + static_cast<uint32_t>(offset));
  }
}

static std::string hex(uint64_t value) {
  char text[32];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

bool WarpAccess::fail(ReportKind reportKind, int lane, const std::string &what, const std::string &nearest) {
  reportAt(warp, instr, reportKind, true, what, lane, address[lane], nearest);
  return false;
}

static const char *verb(AccessKind kind) {
  switch (kind) {
  case AccessKind::Read:
  case AccessKind::AsyncCopyRead:
    return "read";
  case AccessKind::Atomic:
    return "update";
  default:
    return "write";
  }
}

bool WarpAccess::resolve() {
  uint64_t misaligned = 0;
  for (uint32_t rest = mask; rest; rest &= rest - 1)
    misaligned |= address[__builtin_ctz(rest)] & (alignment - 1);
  if (misaligned)
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
      int lane = __builtin_ctz(rest);
      if (address[lane] & (alignment - 1))
        return fail(ReportKind::Misaligned, lane,
                    "expected a " + std::to_string(alignment) + "-byte aligned address to " + verb(kind) +
                        ", but got " + hex(address[lane]),
                    "");
    }
  if (space != Space::Generic)
    return resolveSpace(space, mask);
  uint32_t masks[5] = {};
  for (uint32_t rest = mask; rest; rest &= rest - 1) {
    int lane = __builtin_ctz(rest);
    uint64_t top = address[lane] & window::mask;
    Space where = top == window::shared  ? Space::Shared
                  : top == window::local ? Space::Local
                  : top == window::param ? Space::Param
                                         : Space::Global;
    masks[static_cast<unsigned>(where)] |= 1u << lane;
    if (where != Space::Global)
      address[lane] &= ~window::mask;
  }
  for (unsigned i = 1; i < 5; ++i)
    if (masks[i] && !resolveSpace(static_cast<Space>(i), masks[i]))
      return false;
  return true;
}

bool WarpAccess::resolveSpace(Space where, uint32_t lanes) {
  Cta &cta = *warp.cta;
  switch (where) {
  case Space::Global:
  case Space::Generic:
    return resolveGlobal(lanes);
  case Space::Shared:
    return resolveShared(lanes);
  case Space::Local: {
    uint32_t size = warp.kernel->localBytes;
    for (uint32_t rest = lanes; rest; rest &= rest - 1) {
      int lane = __builtin_ctz(rest);
      if (address[lane] >= size || bytes > size - address[lane])
        return fail(ReportKind::OutOfBounds, lane,
                    "expected a local address below " + std::to_string(size) + ", but got " + hex(address[lane]), "");
      host[lane] =
          cta.local.data() + (static_cast<size_t>(warp.id) * 32 + static_cast<size_t>(lane)) * size + address[lane];
    }
    return true;
  }
  case Space::Param: {
    size_t size = warp.kernel->info.parameterBytes;
    for (uint32_t rest = lanes; rest; rest &= rest - 1) {
      int lane = __builtin_ctz(rest);
      if (kind != AccessKind::Read)
        return fail(ReportKind::OutOfBounds, lane, "expected parameters to be read only, but got a write", "");
      if (address[lane] >= size || bytes > size - address[lane])
        return fail(ReportKind::OutOfBounds, lane,
                    "expected a parameter address below " + std::to_string(size) + ", but got " + hex(address[lane]),
                    "");
      host[lane] = cta.cluster->launch->parameters.data() + address[lane];
    }
    return true;
  }
  }
  return true;
}

bool WarpAccess::resolveGlobal(uint32_t lanes) {
  Cluster &cluster = *warp.cta->cluster;
  Launch &launch = *cluster.launch;
  Allocation *allocation = cluster.lastAllocation;
  bool writes = kind == AccessKind::Write || kind == AccessKind::Atomic;
  bool reads = kind != AccessKind::Write;
  for (uint32_t rest = lanes; rest; rest &= rest - 1) {
    int lane = __builtin_ctz(rest);
    if (!allocation || !allocation->contains(address[lane], bytes)) {
      allocation = launch.memory->find(address[lane], bytes);
      if (!allocation)
        return fail(ReportKind::OutOfBounds, lane,
                    "expected to " + std::string(verb(kind)) + " " + std::to_string(bytes) +
                        " bytes inside an allocation, but got " + hex(address[lane]),
                    launch.memory->describeNearest(address[lane]));
      cluster.lastAllocation = allocation;
    }
    host[lane] = reinterpret_cast<uint8_t *>(address[lane]);
    LocalCounters::Traffic &traffic = cluster.counters->of(*allocation);
    traffic.read += reads ? bytes : 0;
    traffic.written += writes ? bytes : 0;
    if (cluster.races && !strong && kind != AccessKind::Atomic)
      checkGlobalAccess(cluster.races->warpAgent(warp, instr), *warp.cta, *allocation, address[lane], bytes, writes);
    if (!launch.options->checkMemory)
      continue;
    if (reads && !launch.memory->isInitialised(*allocation, address[lane], bytes))
      reportAt(warp, instr, ReportKind::Uninitialised, false,
               "expected bytes that somebody wrote, but got uninitialised global memory", lane, address[lane],
               launch.memory->describeNearest(address[lane]));
    if (writes)
      launch.memory->markInitialised(*allocation, address[lane], bytes);
  }
  if (launch.options->countConflicts) {
    uint64_t sectors[32 * 2];
    unsigned count = 0;
    for (uint32_t rest = lanes; rest; rest &= rest - 1)
      for (uint64_t sector = address[__builtin_ctz(rest)] / 32, last = (address[__builtin_ctz(rest)] + bytes - 1) / 32;
           sector <= last; ++sector) {
        bool known = false;
        for (unsigned i = 0; i < count; ++i)
          known |= sectors[i] == sector;
        if (!known && count < 64)
          sectors[count++] = sector;
      }
    cluster.counters->total.globalSectors += count;
  }
  return true;
}

bool WarpAccess::resolveShared(uint32_t lanes) {
  Cta *cta = nullptr;
  uint32_t offsets[32];
  sharedMask |= lanes;
  for (uint32_t left = lanes; left;) {
    // Lanes of one CTA at a time.
    uint32_t here = 0;
    cta = nullptr;
    for (uint32_t rest = left; rest; rest &= rest - 1) {
      int lane = __builtin_ctz(rest);
      Cta *target = locateShared(lane, offsets[lane]);
      if (!target)
        return fail(ReportKind::OutOfBounds, lane,
                    "expected a shared address in [" + hex(window::sharedBase) + ", " + hex(warp.cta->sharedEnd) +
                        "), but got " + hex(address[lane]) + " for " + std::to_string(bytes) + " bytes",
                    describeShared(*warp.cta, static_cast<uint32_t>(address[lane]) & 0xffffff));
      if (cta && target != cta)
        continue;
      cta = target;
      here |= 1u << lane;
      host[lane] = target->shared + offsets[lane];
    }
    left &= ~here;
    const Options &options = *cta->cluster->launch->options;
    if (options.checkProtocol && !cta->mbarriers.empty())
      checkMbarriers(*cta, here, offsets);
    if (options.checkMemory)
      checkSharedInitialised(*cta, here, offsets);
    if (RaceDetector *races = cta->cluster->races; races && !strong && kind != AccessKind::Atomic) {
      RaceDetector::Agent agent = races->warpAgent(warp, instr);
      if (kind == AccessKind::AsyncCopyWrite) {
        agent.dimension = races->cpAsyncDimension(*warp.cta, warp.id);
        agent.epoch = static_cast<uint32_t>(warp.cpAsyncGroups.issued);
      }
      races->accessShared(agent, *cta, here, offsets, bytes,
                          kind != AccessKind::Read && kind != AccessKind::AsyncCopyRead);
    }
  }
  if (warp.cta->cluster->launch->options->countConflicts)
    countShared(lanes);
  return true;
}

void WarpAccess::checkMbarriers(Cta &cta, uint32_t lanes, const uint32_t *offsets) {
  for (uint32_t rest = lanes; rest; rest &= rest - 1) {
    int lane = __builtin_ctz(rest);
    for (uint32_t at = offsets[lane] & ~7u; at < offsets[lane] + bytes; at += 8)
      if (Mbarrier *barrier = cta.findMbarrier(at); barrier && barrier->live) {
        reportAt(warp, instr, ReportKind::Protocol, false,
                 "expected only mbarrier instructions on a live mbarrier, but got an ordinary access", lane,
                 offsets[lane], describeShared(cta, at), barrier->line);
        return;
      }
  }
}

void WarpAccess::checkSharedInitialised(Cta &cta, uint32_t lanes, const uint32_t *offsets) {
  bool writes = kind == AccessKind::Write || kind == AccessKind::Atomic || kind == AccessKind::AsyncCopyWrite;
  for (uint32_t rest = lanes; rest; rest &= rest - 1) {
    int lane = __builtin_ctz(rest);
    if (kind != AccessKind::Write && kind != AccessKind::AsyncCopyWrite &&
        !allBits(cta.sharedInitialised.data(), offsets[lane], bytes))
      reportAt(warp, instr, ReportKind::Uninitialised, false,
               "expected bytes that somebody wrote, but got uninitialised shared memory", lane, offsets[lane],
               describeShared(cta, offsets[lane]));
    if (writes)
      setBits(cta.sharedInitialised.data(), offsets[lane], bytes);
  }
}

/// Wavefronts: a warp moves at most 128 bytes at once; within one, each bank serves one 4-byte word.
void WarpAccess::countShared(uint32_t lanes) {
  Counters &total = warp.cta->cluster->counters->total;
  unsigned lanesAtOnce = bytes >= 16 ? 8 : bytes >= 8 ? 16 : 32;
  bool writes = kind == AccessKind::Write || kind == AccessKind::AsyncCopyWrite;
  for (unsigned first = 0; first < 32; first += lanesAtOnce) {
    uint32_t words[32 * 4];
    unsigned count = 0, perBank[32] = {}, most = 0;
    for (unsigned lane = first; lane < first + lanesAtOnce; ++lane) {
      if (!(lanes >> lane & 1))
        continue;
      for (unsigned word = static_cast<unsigned>(address[lane] & 0xffffff) / 4;
           word <= ((address[lane] & 0xffffff) + bytes - 1) / 4; ++word) {
        bool known = false;
        for (unsigned i = 0; i < count; ++i)
          known |= words[i] == word;
        if (known || count >= 128)
          continue;
        words[count++] = word;
        most = std::max(most, ++perBank[word % 32]);
      }
    }
    if (!most)
      continue;
    (writes ? total.sharedWriteTransactions : total.sharedReadTransactions) += most;
    total.sharedBankConflicts += most - (count + 31) / 32;
  }
}

Cta *resolveShared(Warp &warp, uint64_t address, uint32_t bytes, uint32_t &offset) {
  address = (address & window::mask) == window::shared ? address & ~window::mask : address;
  if (address >> 32)
    return nullptr;
  uint32_t rank = static_cast<uint32_t>(address) >> 24;
  offset = static_cast<uint32_t>(address) & 0xffffff;
  Cta *cta = warp.cta;
  if (rank) {
    if (rank > cta->cluster->ctas.size())
      return nullptr;
    cta = cta->cluster->ctas[rank - 1].get();
  }
  return offset >= window::sharedBase && offset <= cta->sharedEnd && bytes <= cta->sharedEnd - offset ? cta : nullptr;
}

Cta *WarpAccess::locateShared(int lane, uint32_t &offset) {
  return emulator::resolveShared(warp, address[lane], bytes, offset);
}

} // namespace fa::runtime::emulator
