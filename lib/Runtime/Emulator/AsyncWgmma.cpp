// wgmma: a rendezvous of four warps, one operation for all of them, commit and wait groups (PTX 9.7.15).
#include "AsyncWgmma.h"
#include "Handlers.h"
#include "Races.h"
#include "Timeline.h"
#include <cstdio>

namespace fa::runtime::emulator {

static std::string hex(uint64_t value) {
  char text[32];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

/// Marks the bytes that an operand reads: initialised? ordered by the right proxy?
static void checkOperand(Warp &warp, const Instr &instr, const MatrixDescriptor &descriptor, MmaType type, Major major,
                         unsigned rows, const RaceDetector::Agent *agent) {
  Cta &cta = *warp.cta;
  const Options &options = *cta.cluster->launch->options;
  bool reported = false;
  for (unsigned chunk = 0; chunk < 2 * rows; ++chunk) {
    uint32_t address = chunkAddress(descriptor, type, major, chunk);
    if (address < window::sharedBase || address + 16 > cta.sharedEnd)
      continue; // gatherOperand reports it
    if (options.checkMemory && !reported &&
        (cta.sharedInitialised[address / 8] & cta.sharedInitialised[address / 8 + 1]) != 0xff) {
      reported = true;
      reportAt(warp, instr, ReportKind::Uninitialised, false,
               "expected wgmma to read bytes that somebody wrote, but got uninitialised shared memory", -1, address,
               describeShared(cta, address));
    }
    if (agent)
      cta.cluster->races->readShared(*agent, cta, address, 16);
  }
  if (options.checkProtocol && descriptor.swizzle != Swizzle::None &&
      descriptor.start / 1024 < cta.tileSwizzle.size()) {
    uint8_t written = cta.tileSwizzle[descriptor.start / 1024];
    if (written && written - 1 != static_cast<int>(descriptor.swizzle))
      reportAt(warp, instr, ReportKind::Protocol, false,
               "expected the swizzle of the tensor map that wrote the tile (" + std::to_string(written - 1) +
                   " bytes), but got " + std::to_string(static_cast<int>(descriptor.swizzle)) +
                   " bytes in the descriptor",
               -1, descriptor.start, describeShared(cta, descriptor.start));
  }
}

static bool gather(Warp &warp, const Instr &instr, uint64_t bits, MmaType type, Major major, unsigned rows,
                   OperandTile &tile, const RaceDetector::Agent *agent) {
  Expected<MatrixDescriptor> descriptor = decodeMatrixDescriptor(bits);
  if (!descriptor) {
    reportAt(warp, instr, ReportKind::Protocol, true, descriptor.message() + " in descriptor " + hex(bits));
    return false;
  }
  const Options &options = *warp.cta->cluster->launch->options;
  if (agent || options.checkMemory || options.checkProtocol)
    checkOperand(warp, instr, *descriptor, type, major, rows, agent);
  Status status = gatherOperand({warp.cta->shared, warp.cta->sharedEnd}, *descriptor, type, major, rows, tile);
  if (!status)
    reportAt(warp, instr, ReportKind::OutOfBounds, true, status.message(), -1, descriptor->start,
             describeShared(*warp.cta, descriptor->start));
  return static_cast<bool>(status);
}

void executeWgmma(Cta &cta, uint32_t group) {
  Warpgroup &warpgroup = cta.warpgroups[group];
  WgmmaOperation &operation = warpgroup.operations[warpgroup.executed - warpgroup.first];
  const Instr &instr = *operation.instr;
  const WgmmaInfo &info = cta.cluster->launch->kernel->wgmma[instr.extra];
  Warp *warps[4];
  for (uint32_t w = 0; w < 4; ++w)
    warps[w] = &cta.warps[group * 4 + w];
  operation.executed = true;
  ++warpgroup.executed;
  ++cta.cluster->events;
  RaceDetector::Agent agent;
  RaceDetector *races = cta.cluster->races;
  if (races)
    agent = {races->wgmmaDimension(cta, group),
             static_cast<uint32_t>(warpgroup.executed),
             Proxy::Async,
             &operation.clock,
             instr.line,
             warps[0],
             &instr};
  static thread_local OperandTile a, b;
  if (!info.aInRegisters) {
    if (!gather(*warps[0], instr, operation.descriptorA[0], info.shape.aType, info.aMajor, 64, a,
                races ? &agent : nullptr))
      return;
  } else {
    const uint32_t *registers[16];
    for (int w = 0; w < 4; ++w)
      for (int r = 0; r < 4; ++r)
        registers[4 * w + r] = warps[w]->slot<uint32_t>(info.a[static_cast<size_t>(r)]);
    gatherOperandA(registers, info.shape.aType, a);
  }
  if (!gather(*warps[0], instr, operation.descriptorB[0], info.shape.bType, info.bMajor, info.shape.n, b,
              races ? &agent : nullptr))
    return;
  WgmmaShape shape = info.shape;
  shape.accumulate = operation.accumulate[0];
  shape.arithmetic = cta.cluster->launch->options->h100Arithmetic ? Arithmetic::H100 : Arithmetic::Fast;
  uint32_t *d[4 * 128];
  size_t count = info.d.size();
  for (size_t w = 0; w < 4; ++w)
    for (size_t r = 0; r < count; ++r)
      d[w * count + r] = warps[w]->slot<uint32_t>(info.d[r]);
  wgmma(shape, a, b, d);
  Counters &total = cta.cluster->counters->total;
  ++total.wgmmaInstructions;
  total.wgmmaMacs += uint64_t(64) * shape.n * (32 / sizeOf(shape.aType));
  warpgroup.endTimes.push_back(occupyTensorCores(cta, group, operation.time, shape.n, instr.line));
}

/// Executes operations that are complete rendezvous, up to sequence number `until`.
static void executeReady(Cta &cta, uint32_t group, uint64_t until) {
  Warpgroup &warpgroup = cta.warpgroups[group];
  while (warpgroup.executed < until && warpgroup.executed < warpgroup.first + warpgroup.operations.size() &&
         warpgroup.operations[warpgroup.executed - warpgroup.first].arrived == 15 && !cta.cluster->launch->stop)
    executeWgmma(cta, group);
  while (!warpgroup.operations.empty() && warpgroup.operations.front().executed) {
    warpgroup.operations.pop_front();
    ++warpgroup.first;
  }
}

void drainWgmma(Cta &cta) {
  for (uint32_t group = 0; group < cta.warpgroups.size(); ++group)
    executeReady(cta, group, ~0ull);
}

static void setFlight(Warp &warp, const WgmmaInfo &info, bool sameAccumulator) {
  uint32_t begin = warp.kernel->tensorSlotBegin;
  if (!sameAccumulator)
    for (uint32_t offset : info.d)
      warp.inFlight[offset / slotBytes - begin] = info.accumulator;
  for (uint32_t offset : info.a)
    warp.inFlight[offset / slotBytes - begin] = Warp::flightA;
}

/// R8: no register of D or A may have been touched by another instruction since the last wgmma.fence, nor be in flight
/// as another shape.
static void checkRegisters(Warp &warp, const Instr &instr, const WgmmaInfo &info) {
  auto name = [&](uint32_t offset) { return warp.kernel->slotNames[offset / slotBytes]; };
  if (!warp.everFenced) {
    reportAt(warp, instr, ReportKind::Protocol, false,
             "expected wgmma.fence before the first wgmma.mma_async, but got none");
    warp.everFenced = true;
  }
  auto fenced = [&](const std::vector<uint32_t> &slots, const std::vector<uint32_t> &registers, const char *what) {
    for (size_t i = 0; i < slots.size() && i < registers.size(); ++i)
      if (warp.unfenced[registers[i]]) {
        reportAt(warp, instr, ReportKind::Protocol, false,
                 "expected wgmma.fence after the last use of " + std::string(what) + " " + name(slots[i]) +
                     ", but got none");
        return false;
      }
    return true;
  };
  if (!fenced(info.a, info.aRegisters, "A fragment") || !fenced(info.d, info.dRegisters, "accumulator"))
    return;
  uint32_t begin = warp.kernel->tensorSlotBegin;
  for (uint32_t offset : info.a)
    if (uint16_t owner = warp.inFlight[offset / slotBytes - begin]; owner && owner != Warp::flightA)
      return reportAt(warp, instr, ReportKind::RegisterInFlight, false,
                      "expected A fragment " + name(offset) + " to be complete, but got a wgmma that still writes it",
                      -1, 0, {}, lineInFlight(warp, offset / slotBytes));
  for (uint32_t offset : info.d)
    if (uint16_t owner = warp.inFlight[offset / slotBytes - begin]; owner && owner != info.accumulator)
      return reportAt(warp, instr, ReportKind::RegisterInFlight, false,
                      "expected accumulator " + name(offset) + " to be free, but got a wgmma in flight that uses it",
                      -1, 0, {}, lineInFlight(warp, offset / slotBytes));
}

void handleWgmma(Warp &warp, const Instr &instr, uint32_t mask) {
  Cta &cta = *warp.cta;
  const WgmmaInfo &info = warp.kernel->wgmma[instr.extra];
  uint32_t group = warp.id / 4, member = warp.id % 4;
  if (group >= cta.warpgroups.size() || group * 4 + 4 > cta.warps.size()) {
    reportAt(warp, instr, ReportKind::Protocol, true,
             "expected a whole warpgroup of 4 warps, but got " + std::to_string(cta.warps.size() - group * 4));
    return;
  }
  Warpgroup &warpgroup = cta.warpgroups[group];
  uint64_t sequence = warp.wgmmaGroups.issued++;
  while (warpgroup.first + warpgroup.operations.size() <= sequence) {
    warpgroup.operations.emplace_back();
    warpgroup.operations.back().instr = &instr;
    warpgroup.operations.back().late = cta.cluster->chance(2);
  }
  WgmmaOperation &operation = warpgroup.operations[sequence - warpgroup.first];
  int lane = __builtin_ctz(mask);
  operation.descriptorA[member] = info.aInRegisters ? 0 : warp.slot<uint64_t>(info.descriptorA)[lane];
  operation.descriptorB[member] = warp.slot<uint64_t>(info.descriptorB)[lane];
  operation.accumulate[member] = warp.predicates[info.scaleD] >> lane & 1;
  bool same = operation.instr == &instr;
  if (operation.arrived) {
    int first = __builtin_ctz(operation.arrived);
    same &= operation.descriptorA[member] == operation.descriptorA[first] &&
            operation.descriptorB[member] == operation.descriptorB[first] &&
            operation.accumulate[member] == operation.accumulate[first];
  }
  if (!same) {
    reportAt(warp, instr, ReportKind::Protocol, true,
             "expected the four warps of a warpgroup to issue the same wgmma with the same descriptors, but got "
             "different ones",
             -1, 0, {}, operation.instr->line);
    return;
  }
  const Options &options = *cta.cluster->launch->options;
  if (options.checkRegisters && warp.kernel->trackedSlots)
    checkInitialised(warp, instr, info, operation.accumulate[member]);
  if (options.checkRegisters) {
    checkRegisters(warp, instr, info);
    setFlight(warp, info, !warp.flights.empty() && warp.flights.back().info->accumulator == info.accumulator);
    warp.flights.push_back({sequence, &info, instr.line});
  }
  operation.time = std::max(operation.time, warp.time);
  operation.arrived |= static_cast<uint8_t>(1u << member);
  ++cta.cluster->events;
  if (cta.cluster->races)
    cta.cluster->races->joinIssuer(operation.clock, warp);
  if (operation.arrived == 15 && !operation.late)
    executeReady(cta, group, sequence + 1);
}

void handleWgmmaFence(Warp &warp, const Instr &, uint32_t) {
  std::fill(warp.unfenced.begin(), warp.unfenced.end(), 0);
  warp.everFenced = true;
}

void handleWgmmaCommit(Warp &warp, const Instr &, uint32_t) {
  warp.wgmmaGroups.commit();
  ++warp.cta->cluster->events;
}

void handleWgmmaWait(Warp &warp, const Instr &instr, uint32_t) {
  Cta &cta = *warp.cta;
  uint64_t required = warp.wgmmaGroups.required(static_cast<uint64_t>(instr.imm));
  uint32_t group = warp.id / 4;
  if (group < cta.warpgroups.size() && required > cta.warpgroups[group].executed) {
    executeReady(cta, group, required);
    if (required > cta.warpgroups[group].executed) {
      warp.block(BlockReason::WgmmaWait, required);
      return;
    }
  }
  if (required <= warp.wgmmaComplete)
    return;
  warp.wgmmaComplete = required;
  if (required <= cta.warpgroups[group].endTimes.size())
    waitUntil(warp, cta.warpgroups[group].endTimes[required - 1], "wgmma wait", instr.line);
  if (RaceDetector *races = cta.cluster->races)
    races->observe(warp, races->wgmmaDimension(cta, group), static_cast<uint32_t>(required));
  if (!cta.cluster->launch->options->checkRegisters)
    return;
  std::erase_if(warp.flights, [&](const FlightRecord &record) { return record.sequence < required; });
  std::fill(warp.inFlight.begin(), warp.inFlight.end(), 0);
  for (const FlightRecord &record : warp.flights)
    setFlight(warp, *record.info, false);
}

} // namespace fa::runtime::emulator
