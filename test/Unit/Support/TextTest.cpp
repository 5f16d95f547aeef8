#include "fa/Support/Text.h"
#include <gtest/gtest.h>
#include <limits>

using namespace fa;

namespace {

TEST(Text, Bytes) {
  EXPECT_EQ(formatBytes(0), "0 B");
  EXPECT_EQ(formatBytes(1023), "1023 B");
  EXPECT_EQ(formatBytes(1536), "1.5 KiB");
  EXPECT_EQ(formatBytes(24ull << 20), "24 MiB");
  EXPECT_EQ(formatBytes((1ull << 20) - 1), "1 MiB");
  EXPECT_EQ(formatBytes(std::numeric_limits<uint64_t>::max()), "16 EiB");
}

TEST(Text, Durations) {
  EXPECT_EQ(formatDuration(0), "0.00 ns");
  EXPECT_EQ(formatDuration(8.5e-7), "850 ns");
  EXPECT_EQ(formatDuration(12.34e-6), "12.3 us");
  EXPECT_EQ(formatDuration(0.9999), "1.00 s");
  EXPECT_EQ(formatDuration(4.56e-3), "4.56 ms");
  EXPECT_EQ(formatDuration(185), "3 min 05 s");
}

TEST(Text, Numbers) {
  EXPECT_EQ(formatCount(0), "0");
  EXPECT_EQ(formatCount(999), "999");
  EXPECT_EQ(formatCount(-1234567), "-1,234,567");
  EXPECT_EQ(formatNumber(-std::numeric_limits<double>::infinity()), "-inf");
  EXPECT_EQ(formatNumber(-std::numeric_limits<double>::quiet_NaN()), "nan");
  EXPECT_EQ(formatNumber(1.25e-7), "1.25e-07");
  EXPECT_EQ(formatShape({2, 32, 4096}), "2x32x4096");
  EXPECT_EQ(formatShape({}), "scalar");
  EXPECT_EQ(split("a,,b", ','), (std::vector<std::string>{"a", "", "b"}));
}

TEST(Text, TableAlignsNumbersRightAndWordsLeft) {
  Table table({"name", "count"});
  table.add({"one", "5"});
  table.add({"seventeen", "12,345"});
  table.add({"short"});
  EXPECT_EQ(table.print(), "name        count\n"
                           "---------  ------\n"
                           "one             5\n"
                           "seventeen  12,345\n"
                           "short\n");
}

} // namespace
