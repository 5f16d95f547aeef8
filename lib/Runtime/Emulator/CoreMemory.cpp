// Loads, stores, atomics, address conversions, ldmatrix, stmatrix, cp.async, mma.sync.
#include "AtomicOps.h"
#include "CoreValues.h"
#include "Handlers.h"
#include "MemoryAccess.h"
#include "Races.h"
#include "fa/Runtime/Emulator/Engine/MatrixLoad.h"

namespace fa::runtime::emulator {

/// Flags through memory: strong accesses that release or acquire publish the warp's clock at their address.
static void synchroniseThrough(WarpAccess &access, bool release, bool acquire) {
  Cluster &cluster = *access.warp.cta->cluster;
  if (!cluster.races)
    return;
  for (uint32_t rest = access.mask; rest; rest &= rest - 1) {
    int lane = __builtin_ctz(rest);
    if (!(access.sharedMask >> lane & 1)) {
      cluster.synchronisedGlobally |= acquire || access.kind == AccessKind::Atomic;
      continue;
    }
    uint32_t offset = static_cast<uint32_t>(access.host[lane] - access.warp.cta->shared);
    Clock &clock = access.warp.cta->atomicClocks[{0, offset}];
    if (acquire)
      cluster.races->acquire(access.warp, clock);
    if (release)
      cluster.races->release(access.warp, clock);
  }
}

static WarpAccess makeAccess(Warp &warp, const Instr &instr, uint32_t mask, unsigned bytes, AccessKind kind) {
  WarpAccess access{warp, instr};
  access.mask = mask;
  access.bytes = bytes;
  access.alignment = bytes;
  access.kind = kind;
  access.space = static_cast<Space>(instr.mode & access::spaceMask);
  access.strong = instr.mode & access::strong;
  access.take(instr.a, instr.mode & access::wideAddress, instr.imm);
  return access;
}

void handleLoad(Warp &warp, const Instr &instr, uint32_t mask) {
  WarpAccess access = makeAccess(warp, instr, mask, instr.size * instr.listSize, AccessKind::Read);
  if (!access.resolve())
    return;
  if (instr.mode & access::synchronises)
    synchroniseThrough(access, false, true);
  const uint32_t *slots = warp.kernel->lists.data() + instr.list;
  unsigned size = instr.size, width = instr.extra;
  bool extend = (instr.mode & access::signExtend) && size < width;
  for (unsigned i = 0; i < instr.listSize; ++i)
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
      int lane = __builtin_ctz(rest);
      uint64_t value = 0;
      std::memcpy(&value, access.host[lane] + size * i, size);
      if (extend && (value >> (8 * size - 1) & 1))
        value |= ~0ull << (8 * size);
      writeValue(warp, slots[i], width, lane, value);
    }
}

void handleStore(Warp &warp, const Instr &instr, uint32_t mask) {
  WarpAccess access = makeAccess(warp, instr, mask, instr.size * instr.listSize, AccessKind::Write);
  if (!access.resolve())
    return;
  ++warp.cta->cluster->events;
  const uint32_t *slots = warp.kernel->lists.data() + instr.list;
  unsigned size = instr.size, width = instr.extra;
  if (instr.mode & access::strong)
    __atomic_thread_fence(__ATOMIC_RELEASE);
  for (unsigned i = 0; i < instr.listSize; ++i)
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
      int lane = __builtin_ctz(rest);
      uint64_t value = readValue(warp, slots[i], width, lane);
      std::memcpy(access.host[lane] + size * i, &value, size);
    }
  if (instr.mode & access::synchronises)
    synchroniseThrough(access, true, false);
}

void handleAtomic(Warp &warp, const Instr &instr, uint32_t mask) {
  auto type = static_cast<AtomicType>(instr.target & 255);
  auto operation = static_cast<AtomicOperation>(instr.target >> 8 & 255);
  bool isReduction = instr.target >> 16 & 1;
  WarpAccess access = makeAccess(warp, instr, mask, instr.size * instr.listSize, AccessKind::Atomic);
  if (!access.resolve())
    return;
  ++warp.cta->cluster->events;
  const uint32_t *slots = warp.kernel->lists.data() + instr.list;
  uint64_t old[32] = {};
  for (uint32_t rest = mask; rest; rest &= rest - 1) {
    int lane = __builtin_ctz(rest);
    for (unsigned i = 0; i < instr.listSize; ++i) {
      uint64_t value = readValue(warp, slots[i], instr.size, lane);
      uint64_t compare = operation == AtomicOperation::Cas ? value : 0;
      if (operation == AtomicOperation::Cas)
        value = readValue(warp, instr.c, instr.size, lane);
      old[lane] = updateAtomically(access.host[lane] + instr.size * i, operation, type, value, compare);
    }
  }
  if (!isReduction)
    for (uint32_t rest = mask; rest; rest &= rest - 1)
      writeValue(warp, instr.d, instr.size, __builtin_ctz(rest), old[__builtin_ctz(rest)]);
  synchroniseThrough(access, true, !isReduction);
}

void handleToGeneric(Warp &warp, const Instr &instr, uint32_t mask) {
  const uint64_t *a = warp.slot<uint64_t>(instr.a);
  uint64_t *d = warp.slot<uint64_t>(instr.d);
  for (int l = 0; l < 32; ++l)
    d[l] = mask >> l & 1 ? a[l] + static_cast<uint64_t>(instr.imm) : d[l];
}

void handleFromGeneric(Warp &warp, const Instr &instr, uint32_t mask) {
  const uint64_t *a = warp.slot<uint64_t>(instr.a);
  uint64_t *d = warp.slot<uint64_t>(instr.d);
  for (int l = 0; l < 32; ++l)
    d[l] = mask >> l & 1 ? a[l] - static_cast<uint64_t>(instr.imm) : d[l];
}

void handleIsSpace(Warp &warp, const Instr &instr, uint32_t mask) {
  const uint64_t *a = warp.slot<uint64_t>(instr.a);
  uint32_t result = 0;
  for (int l = 0; l < 32; ++l) {
    uint64_t top = a[l] & window::mask;
    bool elsewhere = top == window::shared || top == window::local || top == window::param;
    result |= (instr.imm ? top == static_cast<uint64_t>(instr.imm) : !elsewhere) ? 1u << l : 0;
  }
  uint32_t &p = warp.predicates[instr.d];
  p = (p & ~mask) | (result & mask);
}

void handleMapA(Warp &warp, const Instr &instr, uint32_t mask) {
  const uint32_t *rank = warp.slot<uint32_t>(instr.b);
  for (uint32_t rest = mask; rest; rest &= rest - 1) {
    int lane = __builtin_ctz(rest);
    uint64_t address = readValue(warp, instr.a, instr.size, lane);
    if (rank[lane] >= warp.cta->cluster->ctas.size()) {
      reportAt(warp, instr, ReportKind::OutOfBounds, true,
               "expected a CTA rank below " + std::to_string(warp.cta->cluster->ctas.size()) + ", but got " +
                   std::to_string(rank[lane]),
               lane);
      return;
    }
    uint64_t top = instr.size == 8 ? address & ~0xffffffffull : 0;
    uint64_t mapped = top | clusterAddress(rank[lane], static_cast<uint32_t>(address) & 0xffffff);
    writeValue(warp, instr.d, instr.size, lane, mapped);
  }
}

void handleGetCtaRank(Warp &warp, const Instr &instr, uint32_t mask) {
  for (uint32_t rest = mask; rest; rest &= rest - 1) {
    int lane = __builtin_ctz(rest);
    uint32_t rank = static_cast<uint32_t>(readValue(warp, instr.a, instr.size, lane)) >> 24;
    warp.slot<uint32_t>(instr.d)[lane] = rank ? rank - 1 : warp.cta->rank;
  }
}

/// Row r of matrix i comes from lane 8 i + r.
static bool matrixRows(WarpAccess &access, unsigned count) {
  access.mask = count == 4 ? ~0u : (1u << (8 * count)) - 1;
  access.bytes = 16;
  access.alignment = 16;
  return access.resolve();
}

void handleMatrixLoad(Warp &warp, const Instr &instr, uint32_t mask) {
  WarpAccess access = makeAccess(warp, instr, mask, 16, AccessKind::Read);
  if (!matrixRows(access, instr.listSize))
    return;
  const uint32_t *slots = warp.kernel->lists.data() + instr.list;
  uint32_t *registers[4] = {};
  for (unsigned i = 0; i < instr.listSize; ++i)
    registers[i] = warp.slot<uint32_t>(slots[i]);
  ldmatrix(instr.listSize, instr.size, access.host, registers);
}

void handleMatrixStore(Warp &warp, const Instr &instr, uint32_t mask) {
  WarpAccess access = makeAccess(warp, instr, mask, 16, AccessKind::Write);
  if (!matrixRows(access, instr.listSize))
    return;
  ++warp.cta->cluster->events;
  const uint32_t *slots = warp.kernel->lists.data() + instr.list;
  const uint32_t *registers[4] = {};
  for (unsigned i = 0; i < instr.listSize; ++i)
    registers[i] = warp.slot<uint32_t>(slots[i]);
  stmatrix(instr.listSize, instr.size, access.host, registers);
}

void handleCpAsync(Warp &warp, const Instr &instr, uint32_t mask) {
  uint32_t wanted[32];
  for (int l = 0; l < 32; ++l) {
    wanted[l] = instr.size;
    if (instr.mode & 4)
      wanted[l] = std::min<uint32_t>(instr.size, warp.slot<uint32_t>(instr.c)[l]);
    if ((instr.mode & 8) && ((warp.predicates[instr.c] >> l & 1) != (instr.mode & 16 ? 1u : 0u)))
      wanted[l] = 0; // ignore-src
  }
  ++warp.cpAsyncGroups.issued;
  WarpAccess to{warp, instr};
  to.mask = mask;
  to.bytes = to.alignment = instr.size;
  to.kind = AccessKind::AsyncCopyWrite;
  to.space = Space::Shared;
  to.take(instr.a, instr.mode & 1, instr.imm);
  if (!to.resolve())
    return;
  uint8_t staged[32][16] = {};
  for (uint32_t bytes : {4u, 8u, 16u, 1u}) { // lanes of one size at a time
    WarpAccess from{warp, instr};
    for (int l = 0; l < 32; ++l)
      if ((mask >> l & 1) && wanted[l] &&
          (bytes == 1 ? wanted[l] != 4 && wanted[l] != 8 && wanted[l] != 16 : wanted[l] == bytes))
        from.mask |= 1u << l;
    if (!from.mask)
      continue;
    from.alignment = instr.size;
    from.bytes = bytes == 1 ? wanted[__builtin_ctz(from.mask)] : bytes;
    from.kind = AccessKind::AsyncCopyRead;
    from.space = Space::Global;
    from.take(instr.b, instr.mode & 2, instr.target);
    if (!from.resolve())
      return;
    for (uint32_t rest = from.mask; rest; rest &= rest - 1)
      std::memcpy(staged[__builtin_ctz(rest)], from.host[__builtin_ctz(rest)], wanted[__builtin_ctz(rest)]);
  }
  for (uint32_t rest = mask; rest; rest &= rest - 1)
    std::memcpy(to.host[__builtin_ctz(rest)], staged[__builtin_ctz(rest)], instr.size);
}

void handleCpAsyncCommit(Warp &warp, const Instr &, uint32_t) { warp.cpAsyncGroups.commit(); }

void handleCpAsyncWait(Warp &warp, const Instr &instr, uint32_t) {
  uint64_t required =
      instr.mode ? warp.cpAsyncGroups.issued : warp.cpAsyncGroups.required(static_cast<uint64_t>(instr.imm));
  if (RaceDetector *races = warp.cta->cluster->races; races && required)
    races->observe(warp, races->cpAsyncDimension(*warp.cta, warp.id), static_cast<uint32_t>(required));
}

void handleMma(Warp &warp, const Instr &instr, uint32_t) {
  const MmaInfo &info = warp.kernel->mma[instr.extra];
  const uint32_t *a[8] = {}, *b[4] = {}, *c[4] = {};
  uint32_t results[4][32], *d[4] = {};
  auto point = [&](const std::vector<uint32_t> &slots, const uint32_t **pointers) {
    for (size_t i = 0; i < slots.size(); ++i)
      pointers[i] = warp.slot<uint32_t>(slots[i]);
  };
  point(info.a, a);
  point(info.b, b);
  point(info.c, c);
  for (int i = 0; i < 4; ++i)
    d[i] = results[i];
  mmaSync(info.shape, a, b, c, d);
  for (size_t i = 0; i < info.d.size(); ++i)
    std::memcpy(warp.slot<uint32_t>(info.d[i]), results[i], sizeof results[i]);
  warp.cta->cluster->counters->total.mmaMacs += 16 * 8 * info.shape.k;
}

} // namespace fa::runtime::emulator
