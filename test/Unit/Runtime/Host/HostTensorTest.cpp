// Layouts, guard bytes and refusals of HostTensor.
#include "fa/Runtime/Host/HostTensor.h"
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>

using namespace fa;
using namespace fa::runtime;

namespace {
HostTensor allocate(TensorLayout layout) {
  Expected<HostTensor> tensor = HostTensor::allocate("t", std::move(layout));
  EXPECT_TRUE(tensor) << tensor.message();
  return std::move(*tensor);
}

float *pointer(const HostTensor &tensor) { return reinterpret_cast<float *>(tensor.span()); }
} // namespace

TEST(HostTensor, StartsAsNaN) {
  HostTensor tensor = allocate(TensorLayout::contiguous(DType::BF16, {2, 3}));
  for (int64_t n = 0; n < 6; ++n)
    EXPECT_TRUE(std::isnan(tensor.get(n)));
}

TEST(HostTensor, ElementsFollowStrides) {
  HostTensor tensor = allocate({DType::F32, {2, 3}, {1, 4}, 0});
  for (int64_t n = 0; n < 6; ++n)
    tensor.set(n, static_cast<double>(n));
  EXPECT_EQ(pointer(tensor)[0], 0);
  EXPECT_EQ(pointer(tensor)[4], 1);
  EXPECT_EQ(pointer(tensor)[1], 3);
  EXPECT_EQ(pointer(tensor)[9], 5);
  const std::vector<std::byte> dense = tensor.toDense();
  float values[6];
  std::memcpy(values, dense.data(), sizeof values);
  EXPECT_EQ(values[1], 1);
  EXPECT_EQ(values[5], 5);
}

TEST(HostTensor, NegativeStridesAndOffset) {
  HostTensor tensor = allocate({DType::F32, {3}, {-2}, 7});
  tensor.set(0, 10);
  tensor.set(2, 12);
  EXPECT_EQ(pointer(tensor)[4], 10);
  EXPECT_EQ(pointer(tensor)[0], 12);
  const runtime::Tensor view = tensor.view();
  EXPECT_EQ(view.offset, 7);
  EXPECT_EQ(view.address(), reinterpret_cast<uintptr_t>(pointer(tensor) + 4));
}

TEST(HostTensor, BroadcastTakesOneElement) {
  HostTensor tensor = allocate({DType::F64, {4, 2}, {0, 1}, 0});
  EXPECT_EQ(tensor.spanBytes(), 16u);
  tensor.set(0, 3);
  EXPECT_EQ(tensor.get(6), 3);
}

TEST(HostTensor, FindsWritesAround) {
  TensorLayout layout{DType::F32, {2, 3}, {5, 1}, 0};
  {
    HostTensor tensor = allocate(layout);
    for (int64_t n = 0; n < 6; ++n)
      tensor.set(n, 1);
    EXPECT_TRUE(tensor.checkSurroundings());
    pointer(tensor)[3] = 0; // between the rows
    EXPECT_NE(tensor.checkSurroundings().message().find("between the rows"), std::string::npos);
  }
  {
    HostTensor tensor = allocate(layout);
    pointer(tensor)[-1] = 0;
    EXPECT_NE(tensor.checkSurroundings().message().find("before the start"), std::string::npos);
  }
  {
    HostTensor tensor = allocate(layout);
    pointer(tensor)[8] = 0;
    EXPECT_NE(tensor.checkSurroundings().message().find("past the end"), std::string::npos);
  }
}

TEST(HostTensor, EmptyTensorsHaveGuardsOnly) {
  HostTensor tensor = allocate(TensorLayout::contiguous(DType::F32, {2, 0, 4}));
  EXPECT_EQ(tensor.spanBytes(), 0u);
  EXPECT_TRUE(tensor.checkSurroundings());
  pointer(tensor)[0] = 0;
  EXPECT_FALSE(tensor.checkSurroundings());
}

TEST(HostTensor, RefusesWhatDoesNotFit) {
  Expected<HostTensor> huge =
      HostTensor::allocate("q", TensorLayout::contiguous(DType::F32, {1 << 20, 1 << 20, 1 << 20, 64}));
  ASSERT_FALSE(huge);
  EXPECT_NE(huge.message().find("cannot allocate tensor 'q' (1048576x1048576x1048576x64)"), std::string::npos)
      << huge.message();
  Expected<HostTensor> negative = HostTensor::allocate("q", {DType::F32, {-1}, {1}, 0});
  ASSERT_FALSE(negative);
  EXPECT_NE(negative.message().find("sizes of 0 or more"), std::string::npos);
}
