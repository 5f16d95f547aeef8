// Kinds of fills: what they write, and what is refused.
#include "fa/Runtime/Host/Fill.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace fa;
using namespace fa::runtime;

namespace {
HostTensor filled(const std::string &kind, std::vector<int64_t> sizes, DType type = DType::F64, uint64_t seed = 1,
                  const std::string &name = "t") {
  Expected<HostTensor> tensor = HostTensor::allocate(name, TensorLayout::contiguous(type, std::move(sizes)));
  Expected<Fill> fill = Fill::parse(kind);
  EXPECT_TRUE(fill) << fill.message();
  Status status = fillTensor(*tensor, *fill, seed);
  EXPECT_TRUE(status) << status.message();
  return std::move(*tensor);
}
} // namespace

TEST(Fill, NormalHasItsMoments) {
  HostTensor tensor = filled("normal", {100000});
  double sum = 0, squares = 0, cubes = 0;
  for (int64_t n = 0; n < tensor.elements(); ++n) {
    const double x = tensor.get(n);
    sum += x, squares += x * x, cubes += x * x * x;
  }
  const auto count = static_cast<double>(tensor.elements());
  EXPECT_NEAR(sum / count, 0, 0.02);
  EXPECT_NEAR(squares / count, 1, 0.02);
  EXPECT_NEAR(cubes / count, 0, 0.05);
}

TEST(Fill, DependsOnSeedAndNameOnly) {
  HostTensor a = filled("normal", {4, 8}), same = filled("normal", {8, 4});
  HostTensor seed = filled("normal", {4, 8}, DType::F64, 2), name = filled("normal", {4, 8}, DType::F64, 1, "u");
  for (int64_t n = 0; n < 32; ++n) {
    EXPECT_EQ(a.get(n), same.get(n));
    EXPECT_NE(a.get(n), seed.get(n));
    EXPECT_NE(a.get(n), name.get(n));
  }
}

TEST(Fill, LayoutDoesNotMatter) {
  Expected<HostTensor> strided = HostTensor::allocate("t", {DType::F64, {4, 8}, {1, 5}, 0});
  ASSERT_TRUE(fillTensor(*strided, Fill{}, 1));
  HostTensor dense = filled("normal", {4, 8});
  for (int64_t n = 0; n < 32; ++n)
    EXPECT_EQ(strided->get(n), dense.get(n));
}

TEST(Fill, Patterns) {
  EXPECT_EQ(filled("arange", {2, 3}).get(4), 4);
  EXPECT_EQ(filled("index:0", {2, 3}).get(4), 1);
  EXPECT_EQ(filled("index:-1", {2, 3}).get(4), 1);
  EXPECT_EQ(filled("pow2", {1, 1, 5, 2}).get(7), 8);
  EXPECT_EQ(filled("pow2", {5}).get(3), 8);
  EXPECT_EQ(filled("pow2:3", {1, 1, 5, 2}).get(7), 2);
  EXPECT_EQ(filled("value:-2.5", {1}).get(0), -2.5);
  EXPECT_TRUE(std::isnan(filled("nan", {1}).get(0)));
  EXPECT_EQ(filled("-inf", {1}).get(0), -INFINITY);
  EXPECT_EQ(filled("alibi", {8}).get(7), std::exp2(-8));
  HostTensor documents = filled("documents:3", {7}, DType::I32);
  const int expected[] = {0, 0, 0, 1, 1, 2, 2};
  for (int64_t n = 0; n < 7; ++n)
    EXPECT_EQ(documents.get(n), expected[n]) << n;
}

TEST(Fill, IntegersStayInRange) {
  HostTensor tensor = filled("integers:-2,3", {1000}, DType::I32);
  bool low = false, high = false;
  for (int64_t n = 0; n < 1000; ++n) {
    ASSERT_GE(tensor.get(n), -2);
    ASSERT_LE(tensor.get(n), 3);
    low |= tensor.get(n) == -2, high |= tensor.get(n) == 3;
  }
  EXPECT_TRUE(low && high);
}

TEST(Fill, PrintsWhatItParses) {
  for (const char *text : {"normal", "normal:1,2", "uniform:-1,1", "zeros", "ones", "value:3", "arange", "index:-1",
                           "pow2", "pow2:2", "documents:4", "alibi"})
    EXPECT_EQ(Fill::parse(text)->print(), text);
}

TEST(Fill, RefusesUnknownKinds) {
  for (const char *text : {"", "norml", "normal:1", "uniform:2,1", "integers:0.5,2", "index", "index:x", "documents:0",
                           "value:", "value:1x", "zeros:1"})
    EXPECT_FALSE(Fill::parse(text)) << text;
}

TEST(Fill, RefusesFractionsInIntegers) {
  Expected<HostTensor> tensor = HostTensor::allocate("len", TensorLayout::contiguous(DType::I32, {4}));
  Status status = fillTensor(*tensor, Fill{}, 1);
  ASSERT_FALSE(status);
  EXPECT_NE(status.message().find("fill of integers for 'len' (i32)"), std::string::npos) << status.message();
}

TEST(SetElements, StarsMeanWholeDimensions) {
  HostTensor tensor = filled("zeros", {2, 3});
  ASSERT_TRUE(setElements(tensor, "[1,*]=nan"));
  ASSERT_TRUE(setElements(tensor, "[0,2]=7"));
  EXPECT_EQ(tensor.get(0), 0);
  EXPECT_EQ(tensor.get(2), 7);
  EXPECT_TRUE(std::isnan(tensor.get(3)) && std::isnan(tensor.get(5)));
}

TEST(SetElements, RefusesBadIndices) {
  HostTensor tensor = filled("zeros", {2, 3});
  for (const char *text : {"", "[0]=1", "[0,3]=1", "[0,-1]=1", "[0,0]", "[0,0]=x", "0,0=1"})
    EXPECT_FALSE(setElements(tensor, text)) << text;
}

TEST(Fill, LargeTensorsAreFilledByThreadsAndDoNotDependOnThem) {
  const int64_t count = (int64_t(1) << 19) + 3;
  const HostTensor large = filled("normal", {count}, DType::F32), small = filled("normal", {1000}, DType::F32);
  for (int64_t n = 0; n < 1000; ++n)
    ASSERT_EQ(large.get(n), small.get(n)) << n;
  for (int64_t n : {count / 2 - 1, count / 2, count / 2 + 1, count - 1})
    ASSERT_TRUE(std::isfinite(large.get(n))) << n;
}
