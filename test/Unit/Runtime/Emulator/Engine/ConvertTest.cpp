// Conversions: all values of each narrow format, and around every rounding boundary between neighbours.
#include "fa/Runtime/Emulator/Engine/Convert.h"
#include "TensorCoreOracle.h"
#include "fa/Runtime/Emulator/Engine/TensorCore.h"
#include <gtest/gtest.h>

using namespace fa::test;

namespace {

struct Format {
  const char *name;
  MmaType type;
  uint32_t largest; ///< bits of the largest finite value
  uint32_t overflow;
  uint32_t sign;
  uint32_t (*round)(float);
  float (*widen)(uint32_t);
};
const Format formats[] = {
    {"f16", MmaType::F16, 0x7bff, 0x7c00, 0x8000, [](float x) -> uint32_t { return roundToF16(x); },
     [](uint32_t x) { return widenF16(static_cast<uint16_t>(x)); }},
    {"bf16", MmaType::BF16, 0x7f7f, 0x7f80, 0x8000, [](float x) -> uint32_t { return roundToBF16(x); },
     [](uint32_t x) { return widenBF16(static_cast<uint16_t>(x)); }},
    {"e4m3", MmaType::E4M3, 0x7e, 0x7e, 0x80, [](float x) -> uint32_t { return roundToE4M3(x); },
     [](uint32_t x) { return widenE4M3(static_cast<uint8_t>(x)); }},
    {"e5m2", MmaType::E5M2, 0x7b, 0x7b, 0x80, [](float x) -> uint32_t { return roundToE5M2(x); },
     [](uint32_t x) { return widenE5M2(static_cast<uint8_t>(x)); }},
};

TEST(Convert, WidensEveryValue) {
  for (const Format &f : formats)
    for (uint32_t bits = 0; bits < 2 * f.sign; ++bits) {
      double expected = valueOf(f.type, bits);
      float got = f.widen(bits);
      if (std::isnan(expected))
        EXPECT_TRUE(std::isnan(got)) << f.name << " " << bits;
      else
        EXPECT_TRUE(expected == static_cast<double>(got) && std::signbit(expected) == std::signbit(got))
            << f.name << bits;
    }
}

/// Between neighbours lo (bits) and hi (bits + 1) lies one boundary, at the exact middle.
TEST(Convert, RoundsToNearestEvenAtEveryBoundary) {
  for (const Format &f : formats)
    for (uint32_t bits = 0; bits < f.largest; ++bits) {
      double middle = (valueOf(f.type, bits) + valueOf(f.type, bits + 1)) / 2;
      float exact = static_cast<float>(middle);
      ASSERT_EQ(static_cast<double>(exact), middle);
      for (uint32_t sign : {0u, f.sign}) {
        float s = sign ? -1.f : 1.f;
        ASSERT_EQ(f.round(s * f.widen(bits)), bits | sign) << f.name;
        ASSERT_EQ(f.round(s * exact), (bits & 1 ? bits + 1 : bits) | sign) << f.name << " " << bits;
        ASSERT_EQ(f.round(s * std::nextafter(exact, 0.f)), bits | sign) << f.name << " " << bits;
        ASSERT_EQ(f.round(s * std::nextafter(exact, INFINITY)), (bits + 1) | sign) << f.name << " " << bits;
      }
    }
}

TEST(Convert, OverflowInfinityAndNaN) {
  for (const Format &f : formats) {
    double step = valueOf(f.type, f.largest) - valueOf(f.type, f.largest - 1);
    float limit = static_cast<float>(valueOf(f.type, f.largest) + step / 2);
    EXPECT_EQ(f.round(std::nextafter(limit, 0.f)), f.largest) << f.name;
    EXPECT_EQ(f.round(limit), f.overflow) << f.name;
    EXPECT_EQ(f.round(INFINITY), f.overflow);
    EXPECT_EQ(f.round(-INFINITY), f.overflow | f.sign);
    for (uint32_t nan : {0x7fc00000u, 0xff800001u, 0x7fffffffu})
      EXPECT_EQ(f.round(std::bit_cast<float>(nan)), f.sign - 1) << f.name;
  }
  EXPECT_EQ(truncateToF16(65535.f), 0x7bff);
  EXPECT_EQ(truncateToF16(1e30f), 0x7bff);
  EXPECT_EQ(truncateToF16(INFINITY), 0x7c00);
  EXPECT_EQ(truncateToBF16(-0x1.fffffep0f), 0xbfff);
  EXPECT_EQ(truncateToF16(0x1.ffcp-24f), 0x0001);
}

TEST(Convert, TF32) {
  EXPECT_EQ(roundAwayToTF32(std::bit_cast<float>(0x3f801000u)), 0x3f802000u); // tie away
  EXPECT_EQ(roundToTF32(std::bit_cast<float>(0x3f801000u)), 0x3f800000u);     // tie to even
  EXPECT_EQ(roundToTF32(std::bit_cast<float>(0x3f803000u)), 0x3f804000u);
  EXPECT_EQ(roundToTF32(std::bit_cast<float>(0x3f800fffu)), 0x3f800000u);
  EXPECT_EQ(roundAwayToTF32(std::bit_cast<float>(0x7f7fffffu)), 0x7f800000u);
  EXPECT_EQ(roundToTF32(INFINITY), 0x7f800000u);
  EXPECT_TRUE(std::isnan(std::bit_cast<float>(roundToTF32(NAN))));
}

/// Every f32 exponent, fractions at and around the boundaries of both 16-bit formats, and random ones.
std::vector<uint32_t> interestingFloats() {
  std::vector<uint32_t> all;
  std::mt19937 random(7);
  for (uint32_t exponent = 0; exponent < 256; ++exponent)
    for (uint32_t fraction :
         {0u, 1u, 0xfffu, 0x1000u, 0x1001u, 0x2fffu, 0x3000u, 0x3001u, 0x7fffu, 0x8000u, 0x8001u, 0x17fffu, 0x18000u,
          0x7fefffu, 0x7ff000u, 0x7f8000u, 0x7fffffu, 0x400000u, static_cast<uint32_t>(random() & 0x7fffff)})
      for (uint32_t sign : {0u, 1u})
        all.push_back(sign << 31 | exponent << 23 | fraction);
  while (all.size() % 32)
    all.push_back(0);
  return all;
}

TEST(Convert, PairsMatchSingleValuesOnEveryIsa) {
  std::vector<uint32_t> values = interestingFloats();
  const char *previous = tensorCoreIsa();
  for (const char *isa : allIsas) {
    if (!selectTensorCoreIsa(isa))
      continue;
    for (size_t at = 0; at + 64 <= values.size(); at += 32) {
      const uint32_t *upper = values.data() + at, *lower = upper + 32;
      uint32_t bf16[32], f16[32], e4m3[32], e5m2[32], relu[32];
      convertToBF16x2(upper, lower, bf16);
      convertToF16x2(upper, lower, f16);
      convertToE4M3x2(upper, lower, e4m3);
      convertToE5M2x2(upper, lower, e5m2);
      convertToF16x2(upper, lower, relu, true);
      for (unsigned i = 0; i < 32; ++i) {
        float u = std::bit_cast<float>(upper[i]), l = std::bit_cast<float>(lower[i]);
        ASSERT_EQ(bf16[i], static_cast<uint32_t>(roundToBF16(u)) << 16 | roundToBF16(l)) << isa;
        ASSERT_EQ(f16[i], static_cast<uint32_t>(roundToF16(u)) << 16 | roundToF16(l))
            << isa << std::hex << upper[i] << " " << lower[i];
        ASSERT_EQ(e4m3[i], static_cast<uint32_t>(roundToE4M3(u)) << 8 | roundToE4M3(l));
        ASSERT_EQ(e5m2[i], static_cast<uint32_t>(roundToE5M2(u)) << 8 | roundToE5M2(l));
        auto clamp = [](float x) { return std::isnan(x) ? x : std::fmax(x, 0.f) + 0.f; };
        ASSERT_EQ(relu[i], static_cast<uint32_t>(roundToF16(clamp(u))) << 16 | roundToF16(clamp(l)));
      }
    }
  }
  ASSERT_TRUE(fa::Status(selectTensorCoreIsa(previous)));
}

TEST(Convert, BytePairsToHalves) {
  for (uint32_t bits = 0; bits < 65536; bits += 32) {
    uint32_t in[32], out[32];
    for (unsigned i = 0; i < 32; ++i)
      in[i] = bits + i;
    convertE4M3x2ToF16x2(in, out);
    for (unsigned i = 0; i < 32; ++i)
      for (unsigned half = 0; half < 2; ++half) {
        double expected = valueOf(MmaType::E4M3, in[i] >> 8 * half & 255),
               got = valueOf(MmaType::F16, out[i] >> 16 * half & 0xffff);
        ASSERT_TRUE(expected == got || (std::isnan(expected) && std::isnan(got)));
      }
    convertE5M2x2ToF16x2(in, out);
    for (unsigned i = 0; i < 32; ++i) {
      double expected = valueOf(MmaType::E5M2, in[i] >> 8), got = valueOf(MmaType::F16, out[i] >> 16);
      ASSERT_TRUE(expected == got || (std::isnan(expected) && std::isnan(got)));
    }
  }
}

} // namespace
