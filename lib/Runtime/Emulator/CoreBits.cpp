// Rarer bit operations: lop3, bfi, prmt modes, packing, carries, slct, testp.
#include "CoreValues.h"
#include "Handlers.h"
#include <cmath>

namespace fa::runtime::emulator {

template <typename Value> static void forLanes(uint32_t mask, Value value) {
  for (; mask; mask &= mask - 1)
    value(__builtin_ctz(mask));
}

void handleLogic3(Warp &warp, const Instr &instr, uint32_t mask) {
  const uint32_t *pa = warp.slot<uint32_t>(instr.a), *pb = warp.slot<uint32_t>(instr.b),
                 *pc = warp.slot<uint32_t>(instr.c);
  uint32_t result[32];
  for (int l = 0; l < 32; ++l) {
    uint32_t a = pa[l], b = pb[l], c = pc[l], value = 0;
    for (int i = 0; i < 8; ++i)
      if (instr.imm >> i & 1)
        value |= (i & 4 ? a : ~a) & (i & 2 ? b : ~b) & (i & 1 ? c : ~c);
    result[l] = value;
  }
  uint32_t *d = warp.slot<uint32_t>(instr.d);
  for (int l = 0; l < 32; ++l)
    d[l] = mask >> l & 1 ? result[l] : d[l];
}

void handleInsertField(Warp &warp, const Instr &instr, uint32_t mask) {
  const uint32_t *position = warp.slot<uint32_t>(instr.c),
                 *length = warp.slot<uint32_t>(warp.kernel->lists[instr.list]);
  unsigned width = 8 * instr.size;
  forLanes(mask, [&](int l) {
    uint64_t a = readValue(warp, instr.a, instr.size, l), b = readValue(warp, instr.b, instr.size, l);
    unsigned from = position[l] & 255, count = length[l] & 255;
    if (from < width && count) {
      uint64_t field = count >= 64 ? ~0ull : (1ull << count) - 1;
      b = (b & ~(field << from)) | ((a & field) << from);
    }
    writeValue(warp, instr.d, instr.size, l, b);
  });
}

void handlePermuteMode(Warp &warp, const Instr &instr, uint32_t mask) {
  // Byte numbers picked for each of the four selector values; PTX table of prmt modes.
  static const uint8_t picks[6][4][4] = {{{0, 1, 2, 3}, {1, 2, 3, 4}, {2, 3, 4, 5}, {3, 4, 5, 6}},
                                         {{0, 7, 6, 5}, {1, 0, 7, 6}, {2, 1, 0, 7}, {3, 2, 1, 0}},
                                         {{0, 0, 0, 0}, {1, 1, 1, 1}, {2, 2, 2, 2}, {3, 3, 3, 3}},
                                         {{0, 1, 2, 3}, {1, 1, 2, 3}, {2, 2, 2, 3}, {3, 3, 3, 3}},
                                         {{0, 0, 0, 0}, {0, 1, 1, 1}, {0, 1, 2, 2}, {0, 1, 2, 3}},
                                         {{0, 1, 0, 1}, {2, 3, 2, 3}, {0, 1, 0, 1}, {2, 3, 2, 3}}};
  forLanes(mask, [&](int l) {
    uint64_t bytes = static_cast<uint64_t>(warp.slot<uint32_t>(instr.b)[l]) << 32 | warp.slot<uint32_t>(instr.a)[l];
    uint32_t selector = warp.slot<uint32_t>(instr.c)[l] & 3, result = 0;
    for (int i = 0; i < 4; ++i)
      result |= static_cast<uint32_t>(bytes >> (8 * picks[instr.mode - 1][selector][i]) & 255) << (8 * i);
    warp.slot<uint32_t>(instr.d)[l] = result;
  });
}

void handlePack(Warp &warp, const Instr &instr, uint32_t mask) {
  const uint32_t *parts = warp.kernel->lists.data() + instr.list;
  forLanes(mask, [&](int l) {
    uint64_t value = 0;
    for (unsigned i = 0; i < instr.listSize; ++i) {
      uint64_t part = readValue(warp, parts[i], instr.size, l);
      if (instr.size < 4)
        part &= (1u << (8 * instr.size)) - 1;
      value |= part << (8 * instr.size * i);
    }
    writeValue(warp, instr.d, instr.size * instr.listSize, l, value);
  });
}

void handleUnpack(Warp &warp, const Instr &instr, uint32_t mask) {
  const uint32_t *parts = warp.kernel->lists.data() + instr.list;
  uint64_t values[32];
  for (int l = 0; l < 32; ++l)
    values[l] = readValue(warp, instr.a, instr.size * instr.listSize, l);
  uint64_t keep = instr.size >= 4 ? 0xffffffff : (1u << (8 * instr.size)) - 1;
  for (unsigned i = 0; i < instr.listSize; ++i)
    forLanes(mask, [&](int l) { writeValue(warp, parts[i], instr.size, l, values[l] >> (8 * instr.size * i) & keep); });
}

void handleCarry(Warp &warp, const Instr &instr, uint32_t mask) {
  using u128 = unsigned __int128;
  unsigned width = 8 * instr.size;
  bool isSigned = instr.mode & 64;
  forLanes(mask, [&](int l) {
    uint64_t a = readValue(warp, instr.a, instr.size, l), b = readValue(warp, instr.b, instr.size, l);
    unsigned carry = instr.mode & 16 ? warp.carry >> l & 1 : 0;
    u128 sum = 0;
    uint64_t keep = width == 64 ? ~0ull : (1ull << width) - 1;
    switch (instr.mode & 15) {
    case 0:
      sum = static_cast<u128>(a) + b + carry;
      break;
    case 1: // borrow is kept as a carry flag of 1
      sum = static_cast<u128>(a) - b - carry;
      break;
    default: {
      auto extend = [&](uint64_t value) {
        return width == 64 ? static_cast<__int128>(static_cast<int64_t>(value))
                           : static_cast<__int128>(static_cast<int32_t>(value));
      };
      u128 product = isSigned ? static_cast<u128>(extend(a) * extend(b)) : static_cast<u128>(a) * b;
      uint64_t half = static_cast<uint64_t>((instr.mode & 15) == 2 ? product : product >> width) & keep;
      sum = static_cast<u128>(half) + readValue(warp, instr.c, instr.size, l) + carry;
    }
    }
    if (instr.mode & 32)
      warp.carry = (warp.carry & ~(1u << l)) | (static_cast<uint32_t>(sum >> width & 1) << l);
    writeValue(warp, instr.d, instr.size, l, static_cast<uint64_t>(sum) & keep);
  });
}

void handleSelectByCompare(Warp &warp, const Instr &instr, uint32_t mask) {
  forLanes(mask, [&](int l) {
    bool first = instr.mode ? warp.slot<float>(instr.c)[l] >= 0 : warp.slot<int32_t>(instr.c)[l] >= 0;
    writeValue(warp, instr.d, instr.size, l, readValue(warp, first ? instr.a : instr.b, instr.size, l));
  });
}

void handleTestProperty(Warp &warp, const Instr &instr, uint32_t mask) {
  uint32_t result = 0;
  forLanes(mask, [&](int l) {
    int kind = instr.size == 8 ? std::fpclassify(warp.slot<double>(instr.a)[l])
                               : std::fpclassify(warp.slot<float>(instr.a)[l]);
    bool values[] = {kind != FP_INFINITE && kind != FP_NAN, kind == FP_INFINITE, kind != FP_NAN, kind == FP_NAN,
                     kind == FP_NORMAL || kind == FP_ZERO,  kind == FP_SUBNORMAL};
    result |= values[instr.mode] ? 1u << l : 0;
  });
  uint32_t &p = warp.predicates[instr.d];
  p = (p & ~mask) | (result & mask);
}

} // namespace fa::runtime::emulator
