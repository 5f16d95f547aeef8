// mma.sync.m16n8k* against the element-by-element oracle.
#include "TensorCoreOracle.h"
#include "fa/Runtime/Emulator/Engine/TensorCore.h"
#include <gtest/gtest.h>

using namespace fa;
using namespace fa::test;

namespace {

/// Registers of one operand, filled through the documented layout from a [row][k] matrix of bits.
struct Registers {
  std::vector<std::vector<uint32_t>> lanes;
  std::vector<uint32_t *> pointers;
  explicit Registers(unsigned count) : lanes(count, std::vector<uint32_t>(32)) {
    for (auto &l : lanes)
      pointers.push_back(l.data());
  }
  void put(unsigned size, unsigned index, unsigned lane, uint32_t bits) {
    unsigned perRegister = 4 / size;
    lanes[index / perRegister][lane] |= bits << (8 * size * (index % perRegister));
  }
};

struct Element {
  unsigned row, k;
};
Element elementA(unsigned size, unsigned lane, unsigned v) {
  unsigned g = lane / 4, q = lane % 4;
  if (size == 4)
    return {g + 8 * (v & 1), q + 4 * (v >> 1)};
  if (size == 2)
    return {g + 8 * (v >> 1 & 1), 2 * q + (v & 1) + 8 * (v >> 2)};
  return {g + 8 * (v >> 2 & 1), 4 * q + (v & 3) + 16 * (v >> 3)};
}
Element elementB(unsigned size, unsigned lane, unsigned v) {
  unsigned g = lane / 4, q = lane % 4;
  if (size == 4)
    return {g, q + 4 * v};
  if (size == 2)
    return {g, 2 * q + (v & 1) + 8 * (v >> 1)};
  return {g, 4 * q + (v & 3) + 16 * (v >> 2)};
}

void check(MmaSyncShape shape, std::mt19937 &random, bool spread) {
  ASSERT_TRUE(verify(shape));
  unsigned size = sizeOf(shape.aType), k = shape.k;
  std::vector<uint32_t> a(16 * k), b(8 * k);
  for (uint32_t &x : a)
    x = randomElement(shape.aType, random, spread);
  for (uint32_t &x : b)
    x = randomElement(shape.bType, random, spread);
  Registers ra(operandARegisters(shape)), rb(operandBRegisters(shape)), rc(4), rd(4);
  for (unsigned lane = 0; lane < 32; ++lane) {
    for (unsigned v = 0; v < 16 * k / 32; ++v) {
      Element e = elementA(size, lane, v);
      ra.put(size, v, lane, a[e.row * k + e.k]);
    }
    for (unsigned v = 0; v < 8 * k / 32; ++v) {
      Element e = elementB(size, lane, v);
      rb.put(size, v, lane, b[e.row * k + e.k]);
    }
    for (unsigned v = 0; v < 4; ++v)
      rc.lanes[v][lane] = std::bit_cast<uint32_t>(std::ldexp(static_cast<float>(random()), -30));
  }
  mmaSync(shape, ra.pointers.data(), rb.pointers.data(), rc.pointers.data(), rd.pointers.data());
  for (unsigned lane = 0; lane < 32; ++lane)
    for (unsigned v = 0; v < 4; ++v) {
      unsigned row = lane / 4 + 8 * (v >> 1), column = 2 * (lane % 4) + (v & 1);
      std::vector<double> x, y;
      for (unsigned i = 0; i < k; ++i) {
        x.push_back(valueOf(shape.aType, a[row * k + i]));
        y.push_back(valueOf(shape.bType, b[column * k + i]));
      }
      float c = std::bit_cast<float>(rc.lanes[v][lane]);
      float expected =
          shape.arithmetic == Arithmetic::H100 ? h100Dot(shape.aType, shape.bType, x, y, c) : fastDot(x, y, c);
      ASSERT_TRUE(expected == std::bit_cast<float>(rd.lanes[v][lane])) << nameOf(shape.aType) << " k " << k;
    }
}

TEST(MmaSync, MatchesOracle) {
  std::mt19937 random(5);
  for (MmaType type : allTypes)
    for (unsigned bytes : {16u, 32u})
      for (Arithmetic arithmetic : {Arithmetic::Fast, Arithmetic::H100})
        for (bool spread : {false, true})
          for (int repeat = 0; repeat < 20; ++repeat)
            check({.aType = type, .bType = type, .k = bytes / sizeOf(type), .arithmetic = arithmetic}, random, spread);
}

TEST(MmaSync, HalfAccumulatorAccumulatesInPlace) {
  MmaSyncShape shape{.aType = MmaType::F16, .bType = MmaType::F16, .accumulator = Accumulator::F16, .k = 16};
  ASSERT_TRUE(verify(shape));
  Registers a(4), b(2), c(2);
  for (auto *set : {&a, &b, &c})
    for (auto &lanes : set->lanes)
      std::fill(lanes.begin(), lanes.end(), 0x3c003c00u); // 1, 1
  mmaSync(shape, a.pointers.data(), b.pointers.data(), c.pointers.data(), c.pointers.data());
  for (auto &lanes : c.lanes)
    for (uint32_t lane : lanes)
      EXPECT_EQ(lane, 0x4c404c40u); // 17, 17
}

TEST(MmaSync, RejectsBadShapes) {
  EXPECT_FALSE(verify(MmaSyncShape{.k = 32}));
  EXPECT_FALSE(verify(MmaSyncShape{.aType = MmaType::TF32, .bType = MmaType::TF32, .k = 16}));
  EXPECT_FALSE(verify(MmaSyncShape{.aType = MmaType::E4M3, .bType = MmaType::F16}));
}

} // namespace
