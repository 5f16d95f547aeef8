// Liveness and linear scan: virtual registers to slots. Registers of a wgmma stay live until a wait that covers it,
// because the hardware unit still reads and writes them after the instruction.
#include "Lowering.h"
#include <algorithm>

namespace fa::runtime::emulator {

using ptx::RegisterClass;

void Lowering::computeLiveness(std::vector<BitSet> &liveIn, std::vector<BitSet> &liveOut) const {
  size_t registers = entry.registers.size();
  std::vector<BitSet> used(blocks.size(), BitSet(registers)), defined(blocks.size(), BitSet(registers));
  for (size_t b = 0; b < blocks.size(); ++b)
    for (uint32_t i = blocks[b].begin; i < blocks[b].end; ++i) {
      for (const auto *list : {&accesses[i].reads, &accesses[i].keeps})
        for (int reg : *list)
          if (!defined[b].test(reg))
            used[b].set(reg);
      for (int reg : accesses[i].writes)
        defined[b].set(reg);
    }
  liveIn.assign(blocks.size(), BitSet(registers));
  liveOut.assign(blocks.size(), BitSet(registers));
  std::vector<uint32_t> work;
  std::vector<char> queued(blocks.size(), 1);
  for (uint32_t b = 0; b < blocks.size(); ++b)
    work.push_back(b);
  while (!work.empty()) {
    uint32_t b = work.back();
    work.pop_back();
    queued[b] = 0;
    for (uint32_t s : blocks[b].successors)
      if (s < blocks.size())
        liveOut[b].unite(liveIn[s]);
    BitSet in = used[b];
    liveOut[b].forEach([&](size_t reg) {
      if (!defined[b].test(reg))
        in.set(reg);
    });
    if (liveIn[b].unite(in))
      for (uint32_t p : blocks[b].predecessors)
        if (!queued[p]) {
          queued[p] = 1;
          work.push_back(p);
        }
  }
}

static void extend(std::pair<int, int> &interval, int position) {
  interval.first = interval.first < 0 ? position : std::min(interval.first, position);
  interval.second = std::max(interval.second, position);
}

void Lowering::extendInFlight(std::vector<std::pair<int, int>> &intervals) const {
  size_t registers = entry.registers.size();
  std::vector<BitSet> in(blocks.size(), BitSet(registers));
  auto walk = [&](size_t b, BitSet flying, bool record) {
    if (record)
      flying.forEach([&](size_t reg) { extend(intervals[reg], 2 * static_cast<int>(blocks[b].begin)); });
    for (uint32_t i = blocks[b].begin; i < blocks[b].end && i < opcodes.size(); ++i) {
      if (isWgmma(opcodes[i])) {
        for (size_t operand : {size_t(0), size_t(1)})
          for (const ptx::Operand &element : entry.instructions[i].operands[operand].elements)
            if (element.reg >= 0)
              flying.set(element.reg);
      } else if (opcodes[i].text.starts_with("wgmma.wait_group") && entry.instructions[i].operands[0].bits == 0) {
        if (record)
          flying.forEach([&](size_t reg) { extend(intervals[reg], 2 * static_cast<int>(i) + 1); });
        flying.clear();
      }
    }
    if (record)
      flying.forEach([&](size_t reg) { extend(intervals[reg], 2 * static_cast<int>(blocks[b].end) - 1); });
    return flying;
  };
  std::vector<uint32_t> work;
  for (uint32_t b = 0; b < blocks.size(); ++b)
    work.push_back(b);
  while (!work.empty()) {
    uint32_t b = work.back();
    work.pop_back();
    BitSet out = walk(b, in[b], false);
    for (uint32_t s : blocks[b].successors)
      if (s < blocks.size() && in[s].unite(out))
        work.push_back(s);
  }
  for (size_t b = 0; b < blocks.size(); ++b)
    walk(b, in[b], true);
}

void Lowering::assignSlots() {
  size_t registers = entry.registers.size();
  std::vector<BitSet> liveIn, liveOut;
  computeLiveness(liveIn, liveOut);
  std::vector<std::pair<int, int>> intervals(registers, {-1, -1});
  for (size_t b = 0; b < blocks.size(); ++b) {
    liveIn[b].forEach([&](size_t reg) { extend(intervals[reg], 2 * static_cast<int>(blocks[b].begin)); });
    liveOut[b].forEach([&](size_t reg) { extend(intervals[reg], 2 * static_cast<int>(blocks[b].end) - 1); });
    for (uint32_t i = blocks[b].begin; i < blocks[b].end; ++i) {
      int position = 2 * static_cast<int>(i);
      // Only vector operations read everything before they write.
      bool vectorOperation = i < patterns.size() && readsFirst(patterns[i]);
      for (const auto *list : {&accesses[i].reads, &accesses[i].keeps})
        for (int reg : *list)
          extend(intervals[reg], position);
      for (int reg : accesses[i].writes)
        extend(intervals[reg], vectorOperation && accesses[i].writes.size() == 1 ? position + 1 : position);
    }
  }
  extendInFlight(intervals);

  BitSet tensor(registers);
  for (size_t i = 0; i < opcodes.size(); ++i)
    if (isWgmma(opcodes[i])) {
      kernel.usesTensorRegisters = true;
      for (size_t operand : {size_t(0), size_t(1)})
        for (const ptx::Operand &element : entry.instructions[i].operands[operand].elements)
          if (element.reg >= 0)
            tensor.set(element.reg);
    }
  tensorNumber.assign(registers, 0);
  tensor.forEach([&](size_t reg) { tensorNumber[reg] = kernel.tensorRegisters++; });

  slotOf.assign(registers, 0);
  auto isTracked = [&](size_t reg) { return !blocks.empty() && liveIn[0].test(reg); };
  auto width = [&](size_t reg) {
    return entry.registers[reg].kind == RegisterClass::B64    ? 2u
           : entry.registers[reg].kind == RegisterClass::B128 ? 4u
                                                              : 1u;
  };
  auto place = [&](size_t reg) {
    slotOf[reg] = kernel.slots;
    kernel.slots += width(reg);
    kernel.slotNames.resize(kernel.slots, entry.registers[reg].name);
  };
  std::vector<size_t> order;
  for (size_t reg = 0; reg < registers; ++reg) {
    if (intervals[reg].first < 0)
      continue;
    if (entry.registers[reg].kind == RegisterClass::Predicate)
      order.push_back(reg);
    else if (isTracked(reg) && !tensor.test(reg))
      place(reg);
    else if (!isTracked(reg))
      order.push_back(reg);
  }
  kernel.tensorSlotBegin = kernel.slots;
  for (size_t reg = 0; reg < registers; ++reg)
    if (intervals[reg].first >= 0 && tensor.test(reg) && isTracked(reg))
      place(reg);
  kernel.trackedSlots = kernel.slots;

  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return intervals[a].first != intervals[b].first ? intervals[a].first < intervals[b].first : a < b;
  });
  enum Pool { Predicates, Tensor, Narrow, Wide, Quad, Pools };
  auto scan = [&](Pool pool, auto allocate) {
    std::vector<uint32_t> free;
    std::vector<std::pair<int, uint32_t>> active; // heap of (end, slot), earliest end on top
    auto later = [](const auto &a, const auto &b) { return a.first > b.first; };
    for (size_t reg : order) {
      RegisterClass kind = entry.registers[reg].kind;
      Pool mine = kind == RegisterClass::Predicate ? Predicates
                  : tensor.test(reg)               ? Tensor
                  : kind == RegisterClass::B64     ? Wide
                  : kind == RegisterClass::B128    ? Quad
                                                   : Narrow;
      if (mine != pool)
        continue;
      while (!active.empty() && active.front().first < intervals[reg].first) {
        free.push_back(active.front().second);
        std::pop_heap(active.begin(), active.end(), later);
        active.pop_back();
      }
      if (free.empty()) {
        allocate(reg);
      } else {
        slotOf[reg] = free.back();
        free.pop_back();
      }
      active.push_back({intervals[reg].second, slotOf[reg]});
      std::push_heap(active.begin(), active.end(), later);
    }
  };
  scan(Tensor, place);
  kernel.tensorSlotEnd = kernel.slots;
  scan(Narrow, place);
  scan(Wide, place);
  scan(Quad, place);
  scan(Predicates, [&](size_t reg) { slotOf[reg] = kernel.predicates++; });
  // A predicate that nothing touches may still be named by a guard that is never reached.
  for (size_t reg = 0; reg < registers; ++reg)
    if (intervals[reg].first < 0 && entry.registers[reg].kind == RegisterClass::Predicate)
      slotOf[reg] = predicateSink;
}

void Lowering::recordTouches() {
  kernel.touches.resize(kernel.code.size());
  for (size_t i = 0; i < accesses.size(); ++i) {
    Kernel::Touch &touch = kernel.touches[i];
    uint16_t &flags = kernel.code[i].flags;
    bool wgmma = i < opcodes.size() && isWgmma(opcodes[i]);
    auto collect = [&](const std::vector<int> &registers, uint32_t &first, uint16_t &count, uint16_t trackedFlag) {
      first = static_cast<uint32_t>(kernel.lists.size());
      for (int reg : registers) {
        if (entry.registers[reg].kind == RegisterClass::Predicate)
          continue;
        uint32_t slot = slotOf[reg];
        bool isTensor = slot >= kernel.tensorSlotBegin && slot < kernel.tensorSlotEnd;
        if (slot < kernel.trackedSlots)
          flags |= trackedFlag;
        if (isTensor && !wgmma)
          flags |= flag::TouchesTensor;
        if (slot < kernel.trackedSlots || isTensor)
          kernel.lists.insert(kernel.lists.end(), {slot, tensorNumber[reg]});
      }
      count = static_cast<uint16_t>((kernel.lists.size() - first) / 2);
    };
    // A copy of an undefined value is harmless (compilers emit them); its use is not.
    bool copies = i < opcodes.size() && (opcodes[i].parts[0] == "mov" || opcodes[i].parts[0] == "selp");
    collect(accesses[i].reads, touch.reads, touch.readCount, copies ? uint16_t(0) : flag::ReadsTracked);
    collect(accesses[i].writes, touch.writes, touch.writeCount, flag::WritesTracked);
  }
}

} // namespace fa::runtime::emulator
