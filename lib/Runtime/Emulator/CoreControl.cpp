// Branches, predicates and the warp-level exchanges: vote, match, redux, shfl, elect.
#include "Divergence.h"
#include "Handlers.h"

namespace fa::runtime::emulator {

void handleExit(Warp &warp, const Instr &instr, uint32_t mask) {
  if (!mask)
    return;
  ++warp.cta->cluster->events;
  retireLanes(warp, mask);
}

void handleBranch(Warp &warp, const Instr &instr, uint32_t mask) {
  if (mask == warp.active) {
    warp.pc = static_cast<uint32_t>(instr.target);
    return;
  }
  if (mask)
    diverge(warp, mask, static_cast<uint32_t>(instr.target), instr.join);
}

void handleBranchIndexed(Warp &warp, const Instr &instr, uint32_t mask) {
  const uint32_t *index = warp.slot<uint32_t>(instr.a);
  const uint32_t *targets = warp.kernel->lists.data() + instr.list;
  uint32_t pc = warp.pc, left = mask;
  while (left) {
    int lane = __builtin_ctz(left);
    uint32_t value = index[lane], same = 0;
    for (uint32_t rest = left; rest; rest &= rest - 1)
      if (index[__builtin_ctz(rest)] == value)
        same |= rest & -rest;
    if (value >= instr.listSize) {
      reportAt(warp, instr, ReportKind::IllegalInstruction, true,
               "expected an index below " + std::to_string(instr.listSize) + ", but got " + std::to_string(value),
               lane);
      return;
    }
    left &= ~same;
    if (same == warp.active) {
      warp.pc = targets[value];
      return;
    }
    // The rest stays at `pc`, where this loop sends it on: no other group may run in between.
    Group branch;
    branch.pc = targets[value];
    branch.mask = same;
    if (instr.join >= 0 && (warp.joins.empty() || warp.joins.back().pc != instr.join))
      warp.joins.push_back({instr.join, warp.active});
    branch.joins = warp.joins;
    branch.parked = !branch.joins.empty() && branch.joins.back().pc == static_cast<int32_t>(branch.pc);
    warp.others.push_back(std::move(branch));
    warp.active &= ~same;
    warp.slowFlags |= warp.joins.empty() ? 0 : flag::JoinPoint;
    warp.pc = pc;
  }
}

void handleTrap(Warp &warp, const Instr &instr, uint32_t mask) {
  reportAt(warp, instr, ReportKind::IllegalInstruction, true, "expected no trap, but got one executed",
           __builtin_ctz(mask));
}

void handleNothing(Warp &, const Instr &, uint32_t) {}

void handlePredicateLogic(Warp &warp, const Instr &instr, uint32_t mask) {
  uint32_t a = warp.predicates[instr.a] ^ (instr.mode & 16 ? ~0u : 0);
  uint32_t b = warp.predicates[instr.b] ^ (instr.mode & 32 ? ~0u : 0);
  uint32_t value = 0;
  switch (instr.mode & 15) {
  case 0:
    value = a & b;
    break;
  case 1:
    value = a | b;
    break;
  case 2:
    value = a ^ b;
    break;
  case 3:
    value = ~a;
    break;
  default:
    value = a;
  }
  uint32_t &d = warp.predicates[instr.d];
  d = (d & ~mask) | (value & mask);
}

static void writeUniform(Warp &warp, uint32_t offset, uint32_t mask, uint32_t value) {
  uint32_t *d = warp.slot<uint32_t>(offset);
  for (int l = 0; l < 32; ++l)
    d[l] = mask >> l & 1 ? value : d[l];
}

void handleReadClock(Warp &warp, const Instr &instr, uint32_t mask) {
  uint64_t now = warp.cta->cluster->ticks;
  if (instr.size != 8)
    return writeUniform(warp, instr.d, mask, static_cast<uint32_t>(now));
  uint64_t *d = warp.slot<uint64_t>(instr.d);
  for (int l = 0; l < 32; ++l)
    d[l] = mask >> l & 1 ? now : d[l];
}

void handleActiveMask(Warp &warp, const Instr &instr, uint32_t mask) { writeUniform(warp, instr.d, mask, mask); }

/// Reports a member mask that names live lanes which are elsewhere, or leaves out an executing lane.
static void checkMembers(Warp &warp, const Instr &instr, uint32_t mask, uint32_t members) {
  if (!warp.cta->cluster->launch->options->checkProtocol)
    return;
  uint32_t absent = members & warp.alive & ~mask, extra = mask & ~members;
  if (absent)
    reportAt(warp, instr, ReportKind::Divergence, false,
             "expected all lanes of the member mask to execute it together, but got lanes elsewhere",
             __builtin_ctz(absent));
  else if (extra)
    reportAt(warp, instr, ReportKind::Divergence, false,
             "expected the executing lane in its member mask, but got a mask without it", __builtin_ctz(extra));
}

void handleVote(Warp &warp, const Instr &instr, uint32_t mask) {
  uint32_t members = warp.slot<uint32_t>(instr.b)[__builtin_ctz(mask)];
  checkMembers(warp, instr, mask, members);
  uint32_t lanes = members & mask;
  uint32_t value = (warp.predicates[instr.a] ^ (instr.mode & 16 ? ~0u : 0)) & lanes;
  int mode = instr.mode & 15;
  if (mode == 3)
    return writeUniform(warp, instr.d, mask, value);
  bool result = mode == 0 ? value == lanes : mode == 1 ? value != 0 : value == lanes || value == 0;
  uint32_t &d = warp.predicates[instr.d];
  d = result ? d | mask : d & ~mask;
}

void handleMatch(Warp &warp, const Instr &instr, uint32_t mask) {
  uint32_t members = warp.slot<uint32_t>(instr.b)[__builtin_ctz(mask)];
  checkMembers(warp, instr, mask, members);
  uint64_t values[32];
  for (int l = 0; l < 32; ++l)
    values[l] = instr.size == 8 ? warp.slot<uint64_t>(instr.a)[l] : warp.slot<uint32_t>(instr.a)[l];
  uint32_t lanes = members & mask, result[32] = {};
  bool allSame = true;
  for (int l = 0; l < 32; ++l)
    for (int k = 0; k < 32; ++k)
      if (lanes >> l & lanes >> k & 1) {
        bool same = values[l] == values[k];
        allSame &= same;
        result[l] |= same ? 1u << k : 0;
      }
  uint32_t *d = warp.slot<uint32_t>(instr.d);
  for (int l = 0; l < 32; ++l)
    if (mask >> l & 1)
      d[l] = instr.mode ? (allSame ? lanes : 0) : result[l];
  if (instr.mode) {
    uint32_t &p = warp.predicates[instr.extra];
    p = allSame ? p | mask : p & ~mask;
  }
}

void handleReduce(Warp &warp, const Instr &instr, uint32_t mask) {
  uint32_t members = warp.slot<uint32_t>(instr.b)[__builtin_ctz(mask)];
  checkMembers(warp, instr, mask, members);
  const uint32_t *a = warp.slot<uint32_t>(instr.a);
  uint32_t lanes = members & mask, result = 0;
  bool first = true;
  for (; lanes; lanes &= lanes - 1) {
    uint32_t value = a[__builtin_ctz(lanes)];
    auto less = [&](bool isSigned) {
      return isSigned ? static_cast<int32_t>(value) < static_cast<int32_t>(result) : value < result;
    };
    switch (first ? -1 : static_cast<int>(instr.mode)) {
    case -1:
      result = value;
      break;
    case 0:
      result += value;
      break;
    case 1:
    case 2:
      result = less(instr.mode == 2) ? value : result;
      break;
    case 3:
    case 4:
      result = less(instr.mode == 4) ? result : value;
      break;
    case 5:
      result &= value;
      break;
    case 6:
      result |= value;
      break;
    default:
      result ^= value;
    }
    first = false;
  }
  writeUniform(warp, instr.d, mask, result);
}

void handleShuffle(Warp &warp, const Instr &instr, uint32_t mask) {
  uint32_t members = warp.slot<uint32_t>(warp.kernel->lists[instr.list])[__builtin_ctz(mask)];
  checkMembers(warp, instr, mask, members);
  const uint32_t *a = warp.slot<uint32_t>(instr.a), *b = warp.slot<uint32_t>(instr.b),
                 *c = warp.slot<uint32_t>(instr.c);
  uint32_t result[32], inRange = 0, lost = 0;
  for (int lane = 0; lane < 32; ++lane) {
    int bound = static_cast<int>(c[lane] & 31), segment = static_cast<int>(c[lane] >> 8 & 31),
        shift = static_cast<int>(b[lane] & 31);
    int lowest = lane & segment, highest = lowest | (bound & ~segment), from = lane;
    bool valid = false;
    switch (instr.mode) {
    case 0:
      from = lowest | (shift & ~segment);
      valid = from <= highest;
      break;
    case 1:
      from = lane - shift;
      valid = from >= highest;
      break;
    case 2:
      from = lane + shift;
      valid = from <= highest;
      break;
    default:
      from = lane ^ shift;
      valid = from <= highest;
    }
    from = valid ? from & 31 : lane;
    result[lane] = a[from];
    inRange |= valid ? 1u << lane : 0;
    if ((mask >> lane & 1) && !(mask >> from & 1))
      lost |= 1u << lane;
  }
  if (lost && warp.cta->cluster->launch->options->checkProtocol)
    reportAt(warp, instr, ReportKind::Divergence, false,
             "expected the source lane of shfl to take part, but got an inactive one", __builtin_ctz(lost));
  uint32_t *d = warp.slot<uint32_t>(instr.d);
  for (int l = 0; l < 32; ++l)
    d[l] = mask >> l & 1 ? result[l] : d[l];
  uint32_t &p = warp.predicates[instr.extra];
  p = (p & ~mask) | (inRange & mask);
}

void handleElect(Warp &warp, const Instr &instr, uint32_t mask) {
  uint32_t members = warp.slot<uint32_t>(instr.a)[__builtin_ctz(mask)];
  checkMembers(warp, instr, mask, members);
  uint32_t lanes = members & mask;
  if (!lanes)
    lanes = mask;
  // Which lane is elected is not specified, but it is the same one every time.
  int skip = warp.cta->cluster->adversarial() ? static_cast<int>(warp.cta->cluster->launch->options->seed %
                                                                 static_cast<unsigned>(__builtin_popcount(lanes)))
                                              : 0;
  for (; skip > 0; --skip)
    lanes &= lanes - 1;
  int leader = __builtin_ctz(lanes);
  writeUniform(warp, instr.d, mask, static_cast<uint32_t>(leader));
  uint32_t &p = warp.predicates[instr.extra];
  p = (p & ~mask) | (mask & 1u << leader);
}

void handleWarpSync(Warp &warp, const Instr &instr, uint32_t mask) {
  uint32_t members = warp.slot<uint32_t>(instr.a)[__builtin_ctz(mask)] & warp.alive;
  if ((members & ~mask) == 0)
    return;
  if (warp.released) {
    warp.released = false;
    return;
  }
  // Complete when every other member stands at a bar.warp.sync too.
  uint32_t waiting = mask;
  for (const Group &group : warp.others)
    if (!group.parked && (warp.kernel->code[group.pc].flags & flag::WarpSync))
      waiting |= group.mask;
  if ((members & ~waiting) == 0) {
    for (Group &group : warp.others)
      if ((group.mask & members) && !group.parked)
        group.released = true;
    return;
  }
  warp.block(BlockReason::WarpSync);
}

} // namespace fa::runtime::emulator
