// wgmma against an element-by-element oracle: every type, layout, accumulator, arithmetic and instruction set.
#include "FullSweep.h"
#include "TensorCoreOracle.h"
#include "fa/Runtime/Emulator/Engine/Fragments.h"
#include "fa/Runtime/Emulator/Engine/TensorCore.h"
#include <gtest/gtest.h>

using namespace fa;
using namespace fa::test;

namespace {

/// Operands as bit patterns [row][k], and D as fragments.
struct Problem {
  WgmmaShape shape;
  unsigned k;
  std::vector<uint32_t> a, b;
  std::vector<std::vector<uint32_t>> registers;
  std::vector<uint32_t *> pointers;

  Problem(WgmmaShape shape, std::mt19937 &random, bool spread) : shape(shape), k(32 / sizeOf(shape.aType)) {
    for (unsigned i = 0; i < 64 * k; ++i)
      a.push_back(randomElement(shape.aType, random, spread));
    for (unsigned i = 0; i < shape.n * k; ++i)
      b.push_back(randomElement(shape.bType, random, spread));
    registers.assign(4 * accumulatorRegisters(shape), std::vector<uint32_t>(32));
    for (auto &lanes : registers) {
      for (uint32_t &lane : lanes)
        lane = shape.accumulator == Accumulator::F32
                   ? std::bit_cast<uint32_t>(
                         std::ldexp(static_cast<float>(random()) - 0x1p31f, spread ? -int(random() % 60) : -31))
                   : randomElement(MmaType::F16, random, spread) | randomElement(MmaType::F16, random, spread) << 16;
      pointers.push_back(lanes.data());
    }
  }
  uint32_t *at(unsigned warp, unsigned r) { return registers[warp * accumulatorRegisters(shape) + r].data(); }
  std::vector<double> rowA(unsigned row) const { return values(a, row, shape.aType, shape.negateA); }
  std::vector<double> columnB(unsigned n) const { return values(b, n, shape.bType, shape.negateB); }
  std::vector<double> values(const std::vector<uint32_t> &bits, unsigned row, MmaType type, bool negate) const {
    std::vector<double> result;
    for (unsigned i = 0; i < k; ++i)
      result.push_back(negate ? -valueOf(type, bits[row * k + i]) : valueOf(type, bits[row * k + i]));
    return result;
  }
};

OperandTile tileOf(const std::vector<uint32_t> &bits, MmaType type) {
  OperandTile tile;
  unsigned k = 32 / sizeOf(type);
  tile.rows = static_cast<unsigned>(bits.size() / k);
  for (size_t i = 0; i < bits.size(); ++i)
    std::memcpy(tile.bytes + i * sizeOf(type), &bits[i], sizeOf(type));
  return tile;
}

/// D before and after, as a matrix, read through the documented fragment layout.
std::vector<float> matrixOf(Problem &p) {
  std::vector<float> d(64 * p.shape.n);
  for (unsigned warp = 0; warp < 4; ++warp)
    for (unsigned v = 0; v < p.shape.n / 2; ++v)
      for (unsigned lane = 0; lane < 32; ++lane) {
        unsigned row = 16 * warp + lane / 4 + 8 * ((v >> 1) & 1), column = 8 * (v >> 2) + 2 * (lane % 4) + (v & 1);
        bool half = p.shape.accumulator == Accumulator::F16;
        uint32_t bits = p.at(warp, half ? v / 2 : v)[lane];
        d[row * p.shape.n + column] = half ? static_cast<float>(valueOf(MmaType::F16, bits >> 16 * (v & 1) & 0xffff))
                                           : std::bit_cast<float>(bits);
      }
  return d;
}

float expectedElement(const Problem &p, unsigned row, unsigned column, float c) {
  std::vector<double> a = p.rowA(row), b = p.columnB(column);
  c = p.shape.accumulate ? c : 0;
  bool exact = p.shape.arithmetic == Arithmetic::H100;
  if (p.shape.accumulator == Accumulator::F32)
    return exact ? h100Dot(p.shape.aType, p.shape.bType, a, b, c) : fastDot(a, b, c);
  double value = static_cast<double>(fastDot(a, b, c));
  if (exact) {
    Scaled sum = exactSum(p.shape.aType, p.shape.bType, a, b, static_cast<double>(c), -14);
    value = std::ldexp(static_cast<double>(sum.significand), sum.exponent);
  }
  _Float16 rounded = static_cast<_Float16>(value); // compiler-rt rounds a double to nearest even once
  return static_cast<float>(rounded);
}

void check(WgmmaShape shape, std::mt19937 &random, bool spread) {
  ASSERT_TRUE(verify(shape));
  Problem p(shape, random, spread);
  std::vector<float> before = matrixOf(p);
  wgmma(shape, tileOf(p.a, shape.aType), tileOf(p.b, shape.bType), p.pointers.data());
  std::vector<float> after = matrixOf(p);
  for (unsigned row = 0; row < 64; ++row)
    for (unsigned column = 0; column < shape.n; ++column) {
      float expected = expectedElement(p, row, column, before[row * shape.n + column]);
      float got = after[row * shape.n + column];
      ASSERT_TRUE(expected == got) << nameOf(shape.aType) << " n " << shape.n << " row " << row << " column " << column
                                   << ": expected " << expected << ", got " << got << " isa " << tensorCoreIsa();
    }
}

class WgmmaIsa : public testing::TestWithParam<const char *> {
protected:
  void SetUp() override {
    previous = tensorCoreIsa();
    if (Status status = selectTensorCoreIsa(GetParam()); !status)
      GTEST_SKIP() << status.message();
  }
  void TearDown() override { ASSERT_TRUE(selectTensorCoreIsa(previous)); }
  const char *previous = nullptr;
};

TEST_P(WgmmaIsa, MatchesOracle) {
  std::mt19937 random(1);
  for (MmaType type : allTypes)
    for (Arithmetic arithmetic : {Arithmetic::Fast, Arithmetic::H100})
      for (bool spread : {false, true})
        for (unsigned n : {8u, 24u, fullSweep() ? 256u : 40u})
          check({.aType = type,
                 .bType = type,
                 .n = n,
                 .accumulate = n != 24,
                 .negateA = spread,
                 .negateB = n == 8,
                 .arithmetic = arithmetic},
                random, spread);
}

TEST_P(WgmmaIsa, HalfAccumulatorAndMixedFp8) {
  std::mt19937 random(2);
  for (Arithmetic arithmetic : {Arithmetic::Fast, Arithmetic::H100})
    for (bool spread : {false, true}) {
      check({.aType = MmaType::F16,
             .bType = MmaType::F16,
             .accumulator = Accumulator::F16,
             .n = 16,
             .arithmetic = arithmetic},
            random, false);
      check({.aType = MmaType::E4M3,
             .bType = MmaType::E5M2,
             .accumulator = Accumulator::F16,
             .n = 16,
             .arithmetic = arithmetic},
            random, false);
      check({.aType = MmaType::E5M2, .bType = MmaType::E4M3, .n = 16, .arithmetic = arithmetic}, random, spread);
    }
}

/// One output with chosen operands: element (0, 0).
float dotOf(Arithmetic arithmetic, std::vector<uint32_t> a, std::vector<uint32_t> b, uint32_t c) {
  WgmmaShape shape{.n = 8, .arithmetic = arithmetic};
  std::mt19937 random(3);
  Problem p(shape, random, false);
  std::copy(a.begin(), a.end(), p.a.begin());
  std::copy(b.begin(), b.end(), p.b.begin());
  p.at(0, 0)[0] = c;
  wgmma(shape, tileOf(p.a, shape.aType), tileOf(p.b, shape.bType), p.pointers.data());
  return std::bit_cast<float>(p.at(0, 0)[0]);
}

TEST_P(WgmmaIsa, ExactExtremes) {
  constexpr uint32_t one = 0x3f80, inf = 0x7f80, nan = 0x7fc0, largest = 0x7f7f, tiny = 0x0080, subnormal = 0x0001;
  std::vector<uint32_t> zeros(16), ones(16, one);
  auto exact = [&](std::vector<uint32_t> a, std::vector<uint32_t> b, uint32_t c) {
    a.resize(16), b.resize(16);
    return dotOf(Arithmetic::H100, a, b, c);
  };
  EXPECT_EQ(std::bit_cast<uint32_t>(exact({inf, 0}, {0, 0}, 0)), 0x7fffffffu); // inf * 0
  EXPECT_EQ(std::bit_cast<uint32_t>(exact({inf, inf}, {one, one | 0x8000}, 0)), 0x7fffffffu);
  EXPECT_EQ(std::bit_cast<uint32_t>(exact({one}, {nan}, 0)), 0x7fffffffu);
  EXPECT_EQ(exact({inf}, {one | 0x8000}, 0x3f800000), -INFINITY);
  EXPECT_EQ(exact({one}, {one}, 0x7f800000), INFINITY);
  EXPECT_EQ(exact({largest}, {largest}, 0), 0x1.fffffep127f); // rounds toward zero
  EXPECT_EQ(exact({tiny}, {tiny}, 0), 0);                     // below every subnormal
  EXPECT_EQ(exact({tiny}, {0x3f00}, 0), 0x1p-127f);           // a subnormal result
  EXPECT_EQ(exact({subnormal}, {one}, 0), 0x1p-133f);
  EXPECT_EQ(exact({}, {}, 1), 0x1p-149f); // C alone, smallest value
  EXPECT_EQ(exact({}, {}, 0x80000000), 0);
  // 16 products of nearly 4 fill more than 31 bits.
  std::vector<uint32_t> big(16, 0x3fff);
  EXPECT_EQ(dotOf(Arithmetic::H100, big, big, 0), 16 * (1.9921875f * 1.9921875f));
  // 2^-26 relative to the largest term is lost, term by term.
  EXPECT_EQ(exact({one, 0x3280 /* 2^-26 */, 0x3280, 0x3280, 0x3280}, {one, one, one, one, one}, 0), 1);
  EXPECT_EQ(exact({one, 0x3300 /* 2^-25 */, 0x3300, 0x3300, 0x3300}, {one, one, one, one, one}, 0), 1 + 0x1p-23f);
}

INSTANTIATE_TEST_SUITE_P(All, WgmmaIsa, testing::ValuesIn(allIsas));

TEST(Wgmma, GathersOperandAFromRegisters) {
  std::mt19937 random(4);
  for (MmaType type : allTypes) {
    std::vector<std::vector<uint32_t>> registers(16, std::vector<uint32_t>(32));
    std::vector<const uint32_t *> pointers;
    for (auto &lanes : registers) {
      for (uint32_t &lane : lanes)
        lane = static_cast<uint32_t>(random());
      pointers.push_back(lanes.data());
    }
    OperandTile tile;
    gatherOperandA(pointers.data(), type, tile);
    unsigned perRegister = 4 / sizeOf(type);
    for (unsigned warp = 0; warp < 4; ++warp)
      for (unsigned lane = 0; lane < 32; ++lane)
        for (unsigned v = 0; v < 4 * perRegister; ++v) {
          FragmentElement e = operandAElement(type, warp, lane, v);
          uint32_t expected = registers[4 * warp + v / perRegister][lane] >> (8 * sizeOf(type) * (v % perRegister));
          EXPECT_EQ(std::memcmp(tile.row(e.row) + e.column * sizeOf(type), &expected, sizeOf(type)), 0);
        }
  }
}

TEST(Wgmma, RejectsBadShapes) {
  EXPECT_FALSE(verify(WgmmaShape{.n = 12}));
  EXPECT_FALSE(verify(WgmmaShape{.n = 0}));
  EXPECT_FALSE(verify(WgmmaShape{.n = 264}));
  EXPECT_FALSE(verify(WgmmaShape{.aType = MmaType::F16, .bType = MmaType::BF16}));
  EXPECT_FALSE(verify(WgmmaShape{.aType = MmaType::BF16, .bType = MmaType::BF16, .accumulator = Accumulator::F16}));
  EXPECT_TRUE(verify(WgmmaShape{.aType = MmaType::E4M3, .bType = MmaType::E5M2, .accumulator = Accumulator::F16}));
  EXPECT_FALSE(selectTensorCoreIsa("neon"));
}

} // namespace
