// Bulk copies: tensor maps and plain spans, loads that complete on mbarriers, stores in bulk groups (PTX 9.7.9.27).
#include "AsyncBulk.h"
#include "GlobalRaces.h"
#include "Handlers.h"
#include "MbarrierUnit.h"
#include "MemoryAccess.h"
#include "Timeline.h"
#include <cstdio>
#include <cstring>

namespace fa::runtime::emulator {

using Kind = BulkInfo::Kind;

static bool isLoad(Kind kind) {
  return kind == Kind::TensorLoad || kind == Kind::Load || kind == Kind::SharedToCluster;
}
static bool isTensor(Kind kind) {
  return kind == Kind::TensorLoad || kind == Kind::TensorStore || kind == Kind::TensorReduce;
}

static std::string hex(uint64_t value) {
  char text[32];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

static const Instr &instrOf(const BulkOperation &operation) { return *operation.instr; }

/// Reads 128 bytes of a tensor map at a generic address.
static bool readTensorMap(Warp &warp, const Instr &instr, int lane, uint64_t address, TensorMap &map) {
  Launch &launch = *warp.cta->cluster->launch;
  const uint8_t *bytes = nullptr;
  std::string nearest;
  if ((address & window::mask) == window::param) {
    uint64_t offset = address & ~window::mask;
    if (offset + 128 <= launch.parameters.size())
      bytes = launch.parameters.data() + offset;
  } else if (launch.memory->find(address, 128)) {
    bytes = reinterpret_cast<const uint8_t *>(address);
  } else {
    nearest = launch.memory->describeNearest(address);
  }
  if (!bytes || address % 64) {
    reportAt(warp, instr, bytes ? ReportKind::Misaligned : ReportKind::OutOfBounds, true,
             "expected a 64-byte aligned tensor map in parameters or global memory, but got " + hex(address), lane,
             address, nearest);
    return false;
  }
  Expected<TensorMap> decoded = decodeTensorMap(std::span<const uint8_t, 128>(bytes, 128));
  if (!decoded) {
    reportAt(warp, instr, ReportKind::Protocol, true, decoded.message(), lane, address);
    return false;
  }
  map = *decoded;
  return true;
}

static bool locateShared(Warp &warp, const Instr &instr, int lane, uint64_t address, uint32_t bytes, uint32_t alignment,
                         Cta *&cta, uint32_t &offset) {
  cta = resolveShared(warp, address, bytes, offset);
  if (!cta || offset % alignment) {
    reportAt(warp, instr, cta ? ReportKind::Misaligned : ReportKind::OutOfBounds, true,
             "expected " + std::to_string(bytes) + " bytes of shared memory aligned to " + std::to_string(alignment) +
                 ", but got address " + hex(address),
             lane, address, describeShared(*warp.cta, static_cast<uint32_t>(address & 0xffffff)));
    return false;
  }
  return true;
}

static bool fillTensor(Warp &warp, const Instr &instr, const BulkInfo &info, int lane, BulkOperation &operation) {
  if (!readTensorMap(warp, instr, lane, addressOf(warp, info.global, lane), operation.map))
    return false;
  if (operation.map.rank != info.rank) {
    reportAt(warp, instr, ReportKind::Protocol, true,
             "expected a tensor map of rank " + std::to_string(info.rank) + ", but got rank " +
                 std::to_string(operation.map.rank),
             lane);
    return false;
  }
  for (unsigned i = 0; i < info.rank; ++i)
    operation.coordinates[i] = warp.slot<int32_t>(info.coordinates[i])[lane];
  operation.bytes = operation.map.boxBytes();
  return locateShared(warp, instr, lane, addressOf(warp, info.shared, lane), operation.bytes, 128, operation.sharedCta,
                      operation.shared);
}

static bool fillSpan(Warp &warp, const Instr &instr, const BulkInfo &info, int lane, BulkOperation &operation) {
  operation.bytes = warp.slot<uint32_t>(info.bytes)[lane];
  uint64_t global = addressOf(warp, info.global, lane);
  if (operation.bytes % 16) {
    reportAt(warp, instr, ReportKind::Misaligned, true,
             "expected a bulk copy of a multiple of 16 bytes, but got " + std::to_string(operation.bytes), lane);
    return false;
  }
  if (info.kind == Kind::SharedToCluster) {
    Cta *source = nullptr;
    if (!locateShared(warp, instr, lane, global, operation.bytes, 16, source, operation.sourceShared))
      return false;
  } else {
    Launch &launch = *warp.cta->cluster->launch;
    if (global % 16 || (operation.bytes && !launch.memory->find(global, operation.bytes))) {
      reportAt(warp, instr, global % 16 ? ReportKind::Misaligned : ReportKind::OutOfBounds, true,
               "expected " + std::to_string(operation.bytes) + " bytes of global memory aligned to 16, but got " +
                   hex(global),
               lane, global, launch.memory->describeNearest(global));
      return false;
    }
  }
  operation.global = global;
  return locateShared(warp, instr, lane, addressOf(warp, info.shared, lane), operation.bytes, 16, operation.sharedCta,
                      operation.shared);
}

static void execute(Cluster &cluster, BulkOperation &operation);

void handleBulk(Warp &warp, const Instr &instr, uint32_t mask) {
  Cta &cta = *warp.cta;
  Cluster &cluster = *cta.cluster;
  const BulkInfo &info = warp.kernel->bulk[instr.extra];
  for (uint32_t rest = mask; rest; rest &= rest - 1) {
    int lane = __builtin_ctz(rest);
    BulkOperation operation;
    operation.kind = info.kind;
    operation.info = &info;
    operation.instr = &instr;
    operation.issuer = &cta;
    operation.warp = &warp;
    operation.lane = lane;
    operation.line = instr.line;
    operation.issuedAt = warp.time;
    if (!(isTensor(info.kind) ? fillTensor(warp, instr, info, lane, operation)
                              : fillSpan(warp, instr, info, lane, operation)))
      return;
    if (isLoad(info.kind)) {
      Mbarrier *barrier =
          locateMbarrier(warp, instr, addressOf(warp, info.mbarrier, lane), lane, operation.mbarrierCta);
      if (!barrier)
        return;
      if (!barrier->fencedInit && cluster.launch->options->checkProtocol) {
        reportAt(warp, instr, ReportKind::Protocol, false,
                 "expected fence.mbarrier_init or fence.proxy.async between the initialisation of an mbarrier and a "
                 "bulk copy that completes on it, but got none",
                 lane, barrier->offset, describeShared(*operation.mbarrierCta, barrier->offset), barrier->line);
        barrier->fencedInit = true;
      }
      operation.mbarrier = barrier->offset;
      if (operation.mbarrierCta != operation.sharedCta) {
        reportAt(warp, instr, ReportKind::Protocol, true,
                 "expected the mbarrier in the CTA of the destination, but got another CTA", lane);
        return;
      }
      if (info.multicast)
        operation.ctaMask = static_cast<uint16_t>(warp.slot<uint32_t>(info.multicastMask)[lane]);
      ++cluster.counters->total.tmaLoads;
    } else {
      operation.sequence = ++warp.bulkGroups.issued;
      ++cluster.counters->total.tmaStores;
    }
    if (cluster.races)
      cluster.races->joinIssuer(operation.clock, warp);
    operation.delay = cluster.adversarial() ? static_cast<int>(cluster.random() % 24) : 0;
    ++cluster.events;
    if (operation.delay == 0 && cluster.bulk.empty())
      execute(cluster, operation);
    else
      cluster.bulk.push_back(std::move(operation));
  }
}

/// Bytes of shared memory that a box occupies, 16 at a time, whatever the swizzle (it permutes whole chunks of a row
/// block).
template <typename Visit> static void forEachChunk(const BulkOperation &operation, Visit visit) {
  Swizzle swizzle = isTensor(operation.kind) ? operation.map.swizzle : Swizzle::None;
  for (uint32_t at = 0; at < operation.bytes; at += 16)
    visit(swizzleAddress(operation.shared + at, swizzle), std::min(16u, operation.bytes - at));
}

static RaceDetector::Agent agentOf(Cluster &cluster, BulkOperation &operation) {
  RaceDetector::Agent agent;
  agent.proxy = Proxy::Async;
  agent.clock = &operation.clock;
  agent.line = operation.line;
  agent.warp = operation.warp;
  agent.instr = operation.instr;
  return agent;
}

static GlobalResolver resolver(Cluster &cluster, BulkOperation &operation, bool write) {
  return [&cluster, &operation, write](uint64_t address, size_t bytes) -> uint8_t * {
    Launch &launch = *cluster.launch;
    Allocation *allocation = cluster.lastAllocation;
    if (!allocation || !allocation->contains(address, bytes)) {
      allocation = launch.memory->find(address, bytes);
      if (!allocation)
        return nullptr;
      cluster.lastAllocation = allocation;
    }
    LocalCounters::Traffic &traffic = cluster.counters->of(*allocation);
    (write ? traffic.written : traffic.read) += bytes;
    (write ? traffic.tmaWritten : traffic.tmaRead) += bytes;
    if (write)
      launch.memory->markInitialised(*allocation, address, bytes);
    else if (launch.options->checkMemory && !launch.memory->isInitialised(*allocation, address, bytes))
      cluster.sawUninitialised = address;
    bool reduces = operation.kind == Kind::TensorReduce || operation.kind == Kind::Reduce;
    if (cluster.races && !reduces) {
      RaceDetector::Agent agent = agentOf(cluster, operation);
      agent.dimension = cluster.races->bulkWriteDimension(*operation.issuer, operation.warp->id);
      agent.epoch = write ? static_cast<uint32_t>(operation.sequence) : 0;
      checkGlobalAccess(agent, *operation.issuer, *allocation, address, bytes, write);
    }
    return reinterpret_cast<uint8_t *>(address);
  };
}

static bool failed(BulkOperation &operation, const Status &status) {
  if (status)
    return false;
  reportAt(*operation.warp, instrOf(operation), ReportKind::OutOfBounds, true, status.message(), operation.lane,
           isTensor(operation.kind) ? operation.map.base : operation.global,
           operation.issuer->cluster->launch->memory->describeNearest(isTensor(operation.kind) ? operation.map.base
                                                                                               : operation.global));
  return true;
}

static void reportUninitialised(Cluster &cluster, BulkOperation &operation) {
  if (!cluster.sawUninitialised)
    return;
  uint64_t address = cluster.sawUninitialised;
  cluster.sawUninitialised = 0;
  reportAt(*operation.warp, instrOf(operation), ReportKind::Uninitialised, false,
           "expected a bulk copy to read bytes that somebody wrote, but got uninitialised global memory",
           operation.lane, address, cluster.launch->memory->describeNearest(address));
}

/// Writes one CTA's copy of the box and completes its mbarrier.
static void loadInto(Cluster &cluster, BulkOperation &operation, Cta &target) {
  SharedWindow shared{target.shared, target.sharedEnd};
  if (operation.kind == Kind::TensorLoad) {
    auto moved = loadBox(operation.map, operation.coordinates.data(), shared, operation.shared,
                         resolver(cluster, operation, false));
    if (!moved) {
      failed(operation, moved.error());
      return;
    }
    if (cluster.launch->options->checkProtocol)
      for (uint32_t block = operation.shared / 1024;
           block <= (operation.shared + operation.bytes - 1) / 1024 && block < target.tileSwizzle.size(); ++block)
        target.tileSwizzle[block] = static_cast<uint8_t>(1 + static_cast<unsigned>(operation.map.swizzle));
  } else if (operation.bytes) {
    const uint8_t *source = operation.kind == Kind::SharedToCluster
                                ? operation.issuer->shared + operation.sourceShared
                                : resolver(cluster, operation, false)(operation.global, operation.bytes);
    if (operation.kind == Kind::SharedToCluster && cluster.races) {
      RaceDetector::Agent reader = agentOf(cluster, operation);
      Mbarrier *completes = target.findMbarrier(operation.mbarrier);
      reader.dimension = completes ? completes->dimension : 0;
      reader.epoch = completes ? completes->phase + 1 : 0;
      cluster.races->readShared(reader, *operation.issuer, operation.sourceShared, operation.bytes);
    }
    std::memmove(target.shared + operation.shared, source, operation.bytes);
  }
  reportUninitialised(cluster, operation);
  if (cluster.launch->options->checkMemory)
    setBits(target.sharedInitialised.data(), operation.shared, operation.bytes);
  Mbarrier *barrier = target.findMbarrier(operation.mbarrier);
  if (!barrier || !barrier->live) {
    reportAt(*operation.warp, instrOf(operation), ReportKind::Protocol, true,
             "expected an initialised mbarrier in CTA " + std::to_string(target.rank) + ", but got plain memory",
             operation.lane, operation.mbarrier, describeShared(target, operation.mbarrier));
    return;
  }
  if (cluster.races) {
    RaceDetector::Agent agent = agentOf(cluster, operation);
    agent.dimension = barrier->dimension;
    agent.epoch = barrier->phase + 1;
    forEachChunk(operation,
                 [&](uint32_t offset, uint32_t bytes) { cluster.races->writeShared(agent, target, offset, bytes); });
  }
  completeTransactions(target, *barrier, operation.bytes, operation.endsAt);
}

static void readSource(Cluster &cluster, BulkOperation &operation) {
  Cta &source = *operation.sharedCta;
  bool reported = false;
  RaceDetector::Agent agent;
  if (cluster.races) {
    agent = agentOf(cluster, operation);
    agent.dimension = cluster.races->bulkReadDimension(*operation.issuer, operation.warp->id);
    agent.epoch = static_cast<uint32_t>(operation.sequence);
  }
  forEachChunk(operation, [&](uint32_t offset, uint32_t bytes) {
    if (cluster.launch->options->checkMemory && !reported && !allBits(source.sharedInitialised.data(), offset, bytes)) {
      reported = true;
      reportAt(*operation.warp, instrOf(operation), ReportKind::Uninitialised, false,
               "expected a bulk store of bytes that somebody wrote, but got uninitialised shared memory",
               operation.lane, offset, describeShared(source, offset));
    }
    if (cluster.races)
      cluster.races->readShared(agent, source, offset, bytes);
  });
}

static void store(Cluster &cluster, BulkOperation &operation) {
  readSource(cluster, operation);
  SharedWindow shared{operation.sharedCta->shared, operation.sharedCta->sharedEnd};
  const uint8_t *source = operation.sharedCta->shared + operation.shared;
  switch (operation.kind) {
  case Kind::TensorStore: {
    auto moved = storeBox(operation.map, operation.coordinates.data(), shared, operation.shared,
                          resolver(cluster, operation, true));
    if (!moved)
      failed(operation, moved.error());
    break;
  }
  case Kind::TensorReduce: {
    std::lock_guard lock(cluster.launch->atomicMutex);
    auto moved = reduceBox(operation.map, operation.coordinates.data(), shared, operation.shared,
                           operation.info->reduction, resolver(cluster, operation, true));
    if (!moved)
      failed(operation, moved.error());
    break;
  }
  case Kind::Reduce: {
    std::lock_guard lock(cluster.launch->atomicMutex);
    if (uint8_t *target =
            operation.bytes ? resolver(cluster, operation, true)(operation.global, operation.bytes) : nullptr)
      reduceBulk(operation.info->reduction, operation.info->type, target, source, operation.bytes);
    break;
  }
  default:
    if (uint8_t *target =
            operation.bytes ? resolver(cluster, operation, true)(operation.global, operation.bytes) : nullptr)
      std::memcpy(target, source, operation.bytes);
  }
}

static void execute(Cluster &cluster, BulkOperation &operation) {
  ++cluster.events;
  operation.endsAt = occupyCopyEngine(*operation.issuer, operation.issuedAt, operation.bytes,
                                      isLoad(operation.kind) ? "load" : "store", operation.line);
  if (isLoad(operation.kind)) {
    if (!operation.ctaMask) {
      loadInto(cluster, operation, *operation.sharedCta);
    } else {
      for (uint32_t rank = 0; rank < 16; ++rank)
        if (operation.ctaMask >> rank & 1) {
          if (rank >= cluster.ctas.size()) {
            reportAt(*operation.warp, instrOf(operation), ReportKind::Protocol, true,
                     "expected CTAs of the cluster in the multicast mask, but got rank " + std::to_string(rank),
                     operation.lane);
            return;
          }
          loadInto(cluster, operation, *cluster.ctas[rank]);
        }
    }
  } else {
    operation.warp->bulkTime = std::max(operation.warp->bulkTime, operation.endsAt);
    store(cluster, operation);
  }
}

void stepBulk(Cluster &cluster) {
  // Adversarial mode: any order. A store's source is read when it executes, as late as its wait allows.
  for (size_t i = 0; i < cluster.bulk.size() && !cluster.launch->stop;) {
    if (--cluster.bulk[i].delay > 0) {
      ++i;
      continue;
    }
    BulkOperation operation = std::move(cluster.bulk[i]);
    cluster.bulk.erase(cluster.bulk.begin() + static_cast<ptrdiff_t>(i));
    execute(cluster, operation);
  }
}

void drainBulk(Cluster &cluster) {
  while (!cluster.bulk.empty() && !cluster.launch->stop)
    stepBulk(cluster);
}

void handleBulkCommit(Warp &warp, const Instr &, uint32_t) { warp.bulkGroups.commit(); }

void handleBulkWait(Warp &warp, const Instr &instr, uint32_t) {
  Cluster &cluster = *warp.cta->cluster;
  uint64_t required = warp.bulkGroups.required(static_cast<uint64_t>(instr.imm));
  for (const BulkOperation &operation : cluster.bulk)
    if (operation.warp == &warp && !isLoad(operation.kind) && operation.sequence <= required) {
      warp.block(instr.mode ? BlockReason::BulkReadWait : BlockReason::BulkWait, required);
      return;
    }
  if (required)
    waitUntil(warp, warp.bulkTime, "bulk wait", instr.line);
  uint64_t &known = instr.mode ? warp.bulkRead : warp.bulkDone;
  known = std::max(known, required);
  if (!instr.mode)
    warp.bulkRead = std::max(warp.bulkRead, required);
  if (RaceDetector *races = cluster.races; races && required) {
    races->observe(warp, races->bulkReadDimension(*warp.cta, warp.id), static_cast<uint32_t>(required));
    if (!instr.mode)
      races->observe(warp, races->bulkWriteDimension(*warp.cta, warp.id), static_cast<uint32_t>(required));
  }
}

void handlePrefetchTensorMap(Warp &warp, const Instr &instr, uint32_t mask) {
  int lane = __builtin_ctz(mask);
  uint64_t address = addressOf(warp, {instr.a, instr.size == 8, instr.imm}, lane);
  if (instr.mode)
    address |= window::param;
  TensorMap map;
  readTensorMap(warp, instr, lane, address, map);
}

} // namespace fa::runtime::emulator
