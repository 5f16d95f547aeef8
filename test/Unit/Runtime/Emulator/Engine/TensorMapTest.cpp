// Every check of cuTensorMapEncodeTiled, and the encoding's round trip and checksum.
#include "fa/Runtime/Emulator/Engine/TensorMap.h"
#include <functional>
#include <gtest/gtest.h>

using namespace fa;
using namespace fa::runtime::emulator;

namespace {

struct Arguments {
  uint64_t sizes[5] = {128, 1000, 8, 2, 3};
  uint64_t strides[4] = {2048, 256, 2048000, 4096000};
  uint32_t box[5] = {64, 128, 1, 1, 1};
  uint32_t elementStrides[5] = {1, 1, 1, 1, 1};
  TensorMapRequest request{.type = 9,
                           .rank = 4,
                           .base = 0x10000,
                           .sizes = sizes,
                           .strides = strides,
                           .box = box,
                           .elementStrides = elementStrides,
                           .interleave = 0,
                           .swizzle = 3,
                           .l2Promotion = 2,
                           .fill = 0};
};

TEST(TensorMap, AcceptsTheUsualMap) {
  Arguments a;
  auto map = makeTensorMap(a.request);
  ASSERT_TRUE(map) << map.message();
  EXPECT_EQ(map->boxBytes(), 64u * 128 * 2);
  EXPECT_EQ(map->swizzle, Swizzle::B128);
  EXPECT_EQ(map->strides[0], 2u);
  EXPECT_EQ(map->strides[1], 2048u);
  auto back = decodeTensorMap(encodeTensorMap(*map));
  ASSERT_TRUE(back);
  EXPECT_EQ(*back, *map);
}

TEST(TensorMap, RefusesEachBadArgument) {
  struct Bad {
    const char *word; ///< in the message
    std::function<void(Arguments &)> change;
  };
  const Bad all[] = {
      {"data type", [](Arguments &a) { a.request.type = 13; }},
      {"data type", [](Arguments &a) { a.request.type = -1; }},
      {"rank", [](Arguments &a) { a.request.rank = 0; }},
      {"rank", [](Arguments &a) { a.request.rank = 6; }},
      {"rank 3..5", [](Arguments &a) { a.request.rank = 2, a.request.interleave = 1, a.request.swizzle = 0; }},
      {"interleave", [](Arguments &a) { a.request.interleave = 3; }},
      {"swizzle", [](Arguments &a) { a.request.swizzle = 4; }},
      {"L2 promotion", [](Arguments &a) { a.request.l2Promotion = 4; }},
      {"fill", [](Arguments &a) { a.request.fill = 2; }},
      {"NaN fill", [](Arguments &a) { a.request.fill = 1, a.request.type = 1; }},
      {"address", [](Arguments &a) { a.request.base = 0x10008; }},
      {"address", [](Arguments &a) { a.request.base = 0; }},
      {"multiple of 32",
       [](Arguments &a) { a.request.base = 0x10010, a.request.interleave = 2, a.request.swizzle = 1; }},
      {"swizzle of 32", [](Arguments &a) { a.request.interleave = 2, a.request.swizzle = 2; }},
      {"size of dimension 1", [](Arguments &a) { a.sizes[1] = 0; }},
      {"size of dimension 3", [](Arguments &a) { a.sizes[3] = (1ull << 32) + 1; }},
      {"stride of dimension 1", [](Arguments &a) { a.strides[0] = 2056; }},
      {"stride of dimension 3", [](Arguments &a) { a.strides[2] = 1ull << 40; }},
      {"box of dimension 1", [](Arguments &a) { a.box[1] = 257; }},
      {"box of dimension 2", [](Arguments &a) { a.box[2] = 0; }},
      {"inner box to be a multiple of 16", [](Arguments &a) { a.box[0] = 60; }},
      {"inner box of at most 128", [](Arguments &a) { a.box[0] = 128; }},
      {"inner box of at most 64", [](Arguments &a) { a.request.swizzle = 2; }},
      {"element stride of dimension 1", [](Arguments &a) { a.elementStrides[1] = 9; }},
      {"element stride of dimension 0", [](Arguments &a) { a.elementStrides[0] = 0; }},
      {"null pointer", [](Arguments &a) { a.request.strides = nullptr; }},
      {"null pointer", [](Arguments &a) { a.request.box = nullptr; }},
  };
  for (const Bad &bad : all) {
    Arguments a;
    bad.change(a);
    auto map = makeTensorMap(a.request);
    ASSERT_FALSE(map) << bad.word;
    EXPECT_NE(map.message().find(bad.word), std::string::npos) << map.message();
    EXPECT_EQ(map.error().code, 1);
  }
}

TEST(TensorMap, AcceptsLimits) {
  Arguments a;
  a.sizes[1] = 1ull << 32;
  a.strides[2] = (1ull << 40) - 16;
  a.strides[1] = 0; // one slice for all heads
  a.box[1] = 256;
  a.elementStrides[1] = 8;
  auto map = makeTensorMap(a.request);
  ASSERT_TRUE(map) << map.message();
  EXPECT_EQ(map->boxBytes(), 64u * 32 * 2);
  EXPECT_EQ(*decodeTensorMap(encodeTensorMap(*map)), *map);
}

TEST(TensorMap, DetectsEveryChangedBit) {
  Arguments a;
  EncodedTensorMap good = encodeTensorMap(*makeTensorMap(a.request));
  for (unsigned bit = 0; bit < 1024; ++bit) {
    EncodedTensorMap bad = good;
    bad[bit / 8] = static_cast<uint8_t>(bad[bit / 8] ^ 1u << bit % 8);
    EXPECT_FALSE(decodeTensorMap(bad)) << bit;
  }
  EXPECT_FALSE(decodeTensorMap(EncodedTensorMap{}));
}

} // namespace
