#include "fa/Support/DType.h"
#include <bit>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <vector>

using namespace fa;

namespace {

constexpr double inf = std::numeric_limits<double>::infinity();
const double nan_ = std::numeric_limits<double>::quiet_NaN();

/// Rounds by searching all values of the format: shares nothing with the implementation.
template <typename Decode> void checkAgainstSearch(int bits, Decode decode, uint32_t (*encode)(double)) {
  std::vector<std::pair<double, uint32_t>> finite;
  for (uint32_t b = 0; b < (1u << (bits - 1)); ++b)
    if (double value = decode(b); std::isfinite(value))
      finite.emplace_back(value, b);
  for (size_t i = 0; i + 1 < finite.size(); ++i) {
    const auto [low, lowBits] = finite[i];
    const auto [high, highBits] = finite[i + 1];
    ASSERT_LT(low, high);
    const double middle = (low + high) / 2;
    ASSERT_EQ(encode(low), lowBits);
    ASSERT_EQ(encode(middle), lowBits % 2 == 0 ? lowBits : highBits) << low;
    ASSERT_EQ(encode(std::nextafter(middle, 0)), lowBits) << low;
    ASSERT_EQ(encode(std::nextafter(middle, inf)), highBits) << low;
    ASSERT_EQ(encode(-high), highBits | 1u << (bits - 1));
  }
}

TEST(DType, F16RoundsToNearestEvenEverywhere) {
  checkAgainstSearch(
      16, [](uint32_t b) { return fromF16(static_cast<uint16_t>(b)); }, [](double v) -> uint32_t { return toF16(v); });
}
TEST(DType, BF16RoundsToNearestEvenEverywhere) {
  checkAgainstSearch(
      16, [](uint32_t b) { return fromBF16(static_cast<uint16_t>(b)); },
      [](double v) -> uint32_t { return toBF16(v); });
}
TEST(DType, E4M3RoundsToNearestEvenEverywhere) {
  checkAgainstSearch(
      8, [](uint32_t b) { return fromE4M3(static_cast<uint8_t>(b)); }, [](double v) -> uint32_t { return toE4M3(v); });
}
TEST(DType, E5M2RoundsToNearestEvenEverywhere) {
  checkAgainstSearch(
      8, [](uint32_t b) { return fromE5M2(static_cast<uint8_t>(b)); }, [](double v) -> uint32_t { return toE5M2(v); });
}

TEST(DType, KnownBits) {
  EXPECT_EQ(toF16(1.0), 0x3c00);
  EXPECT_EQ(toF16(65504.0), 0x7bff);
  EXPECT_EQ(toF16(-2.0), 0xc000);
  EXPECT_EQ(toF16(std::ldexp(1.0, -24)), 0x0001);
  EXPECT_EQ(toBF16(1.0), 0x3f80);
  EXPECT_EQ(toBF16(133120.0), 0x4802);
  EXPECT_EQ(toE4M3(448.0), 0x7e);
  EXPECT_EQ(toE4M3(1.0), 0x38);
  EXPECT_EQ(toE5M2(57344.0), 0x7b);
}

TEST(DType, SpecialValues) {
  EXPECT_EQ(toF16(65519.9), 0x7bff);
  EXPECT_EQ(toF16(65520.0), 0x7c00);
  EXPECT_EQ(toF16(inf), 0x7c00);
  EXPECT_EQ(toF16(-1e300), 0xfc00);
  EXPECT_EQ(toF16(-0.0), 0x8000);
  EXPECT_EQ(toF16(5e-324), 0);
  EXPECT_TRUE(std::isnan(fromF16(toF16(nan_))));
  EXPECT_TRUE(std::isnan(fromBF16(toBF16(-nan_))));
  EXPECT_EQ(toBF16(3.4e38), 0x7f80);
  EXPECT_EQ(toE4M3(464.0), 0x7e) << "halfway, even below";
  EXPECT_EQ(toE4M3(465.0), 0x7f) << "e4m3 has no infinity";
  EXPECT_EQ(toE4M3(inf), 0x7f);
  EXPECT_TRUE(std::isnan(fromE4M3(0x7f)));
  EXPECT_EQ(fromE5M2(0x7c), inf);
  EXPECT_TRUE(std::isnan(fromE5M2(0x7d)));
}

TEST(DType, NamesRoundTripInBothSpellings) {
  for (int i = 0; i <= static_cast<int>(DType::I1); ++i) {
    const auto type = static_cast<DType>(i);
    ASSERT_TRUE(parseDType(nameOf(type)));
    EXPECT_EQ(*parseDType(nameOf(type)), type);
  }
  EXPECT_EQ(*parseDType("float32"), DType::F32);
  EXPECT_EQ(*parseDType("bfloat16"), DType::BF16);
  EXPECT_EQ(*parseDType("bool"), DType::I1);
  const Expected<DType> bad = parseDType("f31");
  ASSERT_FALSE(bad);
  EXPECT_NE(bad.message().find("but got 'f31'"), std::string::npos);
}

TEST(DType, LoadAndStoreEveryType) {
  alignas(8) unsigned char memory[9];
  for (int i = 0; i <= static_cast<int>(DType::I1); ++i) {
    const auto type = static_cast<DType>(i);
    void *element = memory + 1; // unaligned on purpose
    storeFromDouble(type, element, 1.0);
    EXPECT_EQ(loadAsDouble(type, element), 1.0) << nameOf(type);
  }
  storeFromDouble(DType::I8, memory, -200.0);
  EXPECT_EQ(loadAsDouble(DType::I8, memory), -128.0);
  storeFromDouble(DType::U8, memory, 2.5);
  EXPECT_EQ(loadAsDouble(DType::U8, memory), 2.0);
  storeFromDouble(DType::I64, memory, 1e30);
  EXPECT_EQ(loadAsDouble(DType::I64, memory), 9223372036854775807.0);
  storeFromDouble(DType::I32, memory, nan_);
  EXPECT_EQ(loadAsDouble(DType::I32, memory), 0.0);
  storeFromDouble(DType::I1, memory, 0.25);
  EXPECT_EQ(loadAsDouble(DType::I1, memory), 1.0);
}

} // namespace
