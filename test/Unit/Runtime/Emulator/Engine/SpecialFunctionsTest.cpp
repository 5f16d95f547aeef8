// Accuracy of the approximate functions against long double, and their special values, on every instruction set.
#include "fa/Runtime/Emulator/Engine/SpecialFunctions.h"
#include "FullSweep.h"
#include "TensorCoreOracle.h"
#include "fa/Runtime/Emulator/Engine/TensorCore.h"
#include <gtest/gtest.h>

using namespace fa::test;

namespace {

struct Case {
  const char *name;
  SpecialFunction function;
  long double (*reference)(long double);
  double ulps; ///< documented bound of this implementation
  float low, high;
};
const Case cases[] = {
    {"ex2", SpecialFunction::Ex2, [](long double x) { return exp2l(x); }, 0.51, -126, 128},
    {"lg2", SpecialFunction::Lg2, [](long double x) { return log2l(x); }, 0.51, 0x1p-126f, 0x1p127f},
    {"rcp", SpecialFunction::Rcp, [](long double x) { return 1 / x; }, 0.5, 0x1p-126f, 0x1p125f},
    {"rsqrt", SpecialFunction::Rsqrt, [](long double x) { return 1 / sqrtl(x); }, 0.51, 0x1p-126f, 0x1p127f},
    {"sqrt", SpecialFunction::Sqrt, [](long double x) { return sqrtl(x); }, 0.5, 0x1p-126f, 0x1p127f},
    {"tanh", SpecialFunction::Tanh, [](long double x) { return tanhl(x); }, 0.51, 0x1p-60f, 12},
    {"sin", SpecialFunction::Sin, [](long double x) { return sinl(x); }, 0.51, 0x1p-60f, 3.2f},
    {"cos", SpecialFunction::Cos, [](long double x) { return cosl(x); }, 0.51, 0x1p-60f, 3.2f},
};

double ulpError(float got, long double expected) {
  int exponent = std::max(std::ilogb(static_cast<double>(expected)), -126);
  return static_cast<double>(fabsl(static_cast<long double>(got) - expected) / ldexpl(1, exponent - 23));
}

TEST(SpecialFunctions, StayWithinTheirBounds) {
  const char *previous = tensorCoreIsa();
  for (const char *isa : allIsas) {
    if (!selectTensorCoreIsa(isa))
      continue;
    std::mt19937 random(8);
    unsigned rounds = fullSweep() ? 100000 : 600;
    for (const Case &c : cases)
      for (unsigned round = 0; round < rounds; ++round) {
        uint32_t in[32], out[32];
        std::uniform_int_distribution<uint32_t> bits(std::bit_cast<uint32_t>(std::fabs(c.low)),
                                                     std::bit_cast<uint32_t>(c.high));
        for (uint32_t &lane : in) {
          lane = bits(random);
          if (c.low < 0) {
            float x = std::uniform_real_distribution<float>(c.low, c.high)(random);
            lane = std::bit_cast<uint32_t>(round % 2 ? x : std::ldexp(x, -static_cast<int>(random() % 30)));
          }
        }
        evaluate(c.function, false, in, out);
        for (unsigned i = 0; i < 32; ++i) {
          float x = std::bit_cast<float>(in[i]);
          long double expected = c.reference(static_cast<long double>(x));
          if (expected == 0 || (c.function == SpecialFunction::Ex2 && x >= 128))
            continue;
          ASSERT_LE(ulpError(std::bit_cast<float>(out[i]), expected), c.ulps) << c.name << " of " << x << " on " << isa;
        }
      }
  }
  ASSERT_TRUE(fa::Status(selectTensorCoreIsa(previous)));
}

TEST(SpecialFunctions, SpecialValues) {
  using enum SpecialFunction;
  auto bits = [](SpecialFunction f, float x, bool ftz = false) { return std::bit_cast<uint32_t>(evaluate(f, x, ftz)); };
  const char *previous = tensorCoreIsa();
  for (const char *isa : allIsas) {
    if (!selectTensorCoreIsa(isa))
      continue;
    for (SpecialFunction f : {Ex2, Lg2, Rcp, Rsqrt, Sqrt, Tanh, Sin, Cos})
      EXPECT_EQ(bits(f, -NAN), 0x7fffffffu) << isa;
    EXPECT_EQ(evaluate(Ex2, -INFINITY, true), 0);
    EXPECT_EQ(evaluate(Ex2, INFINITY, true), INFINITY);
    EXPECT_EQ(evaluate(Ex2, 0.f, true), 1);
    EXPECT_EQ(evaluate(Ex2, -0.f, true), 1);
    EXPECT_EQ(evaluate(Ex2, 0x1p-140f, true), 1);
    EXPECT_EQ(evaluate(Ex2, -126.f, true), 0x1p-126f);
    EXPECT_EQ(bits(Ex2, -127.f, true), 0u);
    EXPECT_EQ(evaluate(Ex2, -127.f, false), 0x1p-127f);
    EXPECT_EQ(evaluate(Ex2, -149.f, false), 0x1p-149f);
    EXPECT_EQ(evaluate(Ex2, -151.f, false), 0);
    EXPECT_EQ(evaluate(Ex2, 128.f, true), INFINITY);
    EXPECT_EQ(evaluate(Lg2, 0.f, false), -INFINITY);
    EXPECT_EQ(evaluate(Lg2, -0.f, false), -INFINITY);
    EXPECT_EQ(evaluate(Lg2, INFINITY, false), INFINITY);
    EXPECT_EQ(bits(Lg2, -1.f), 0x7fffffffu);
    EXPECT_EQ(bits(Lg2, 1.f), 0u);
    EXPECT_EQ(evaluate(Lg2, 0x1p-149f, false), -149);
    EXPECT_EQ(evaluate(Lg2, 0x1p-149f, true), -INFINITY);
    EXPECT_EQ(evaluate(Rcp, -0.f, false), -INFINITY);
    EXPECT_EQ(bits(Rcp, -INFINITY), 0x80000000u);
    EXPECT_EQ(bits(Rcp, 0x1p127f, true), 0u);
    EXPECT_EQ(evaluate(Rsqrt, 0.f, false), INFINITY);
    EXPECT_EQ(bits(Rsqrt, -1.f), 0x7fffffffu);
    EXPECT_EQ(evaluate(Rsqrt, -0.f, false), -INFINITY);
    EXPECT_EQ(evaluate(Tanh, INFINITY, false), 1);
    EXPECT_EQ(evaluate(Tanh, -INFINITY, false), -1);
    EXPECT_EQ(bits(Tanh, -0.f), 0x80000000u);
    EXPECT_EQ(bits(Sin, INFINITY), 0x7fffffffu);
  }
  ASSERT_TRUE(fa::Status(selectTensorCoreIsa(previous)));
}

} // namespace
