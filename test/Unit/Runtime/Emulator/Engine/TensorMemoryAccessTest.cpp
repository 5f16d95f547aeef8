// TMA boxes against an oracle that walks single elements: random maps of every rank, coordinates around the edges.
#include "fa/Runtime/Emulator/Engine/TensorMemoryAccess.h"
#include "FullSweep.h"
#include <cstring>
#include <gtest/gtest.h>
#include <random>

using namespace fa;
using namespace fa::runtime::emulator;

namespace {

constexpr uint64_t globalBase = 0x7000000000;

struct Transfer {
  TensorMap map;
  std::vector<uint8_t> global, shared;
  int32_t coordinates[5] = {};
  uint32_t address = 0;

  GlobalResolver resolver() {
    return [this](uint64_t at, size_t bytes) -> uint8_t * {
      bool inside = at >= globalBase && at + bytes <= globalBase + global.size();
      return inside ? global.data() + (at - globalBase) : nullptr;
    };
  }
  SharedWindow window() { return {shared.data(), static_cast<uint32_t>(shared.size())}; }
};

Transfer randomTransfer(std::mt19937 &random, bool negative) {
  auto pick = [&](uint64_t low, uint64_t high) { return low + random() % (high - low + 1); };
  Transfer s;
  TensorMapRequest r;
  constexpr int types[] = {0, 1, 2, 4, 6, 7, 8, 9};
  r.type = types[pick(0, 7)];
  unsigned size = sizeOf(static_cast<TensorMapType>(r.type));
  r.rank = static_cast<uint32_t>(pick(1, 5));
  r.swizzle = static_cast<int>(pick(0, 3));
  r.fill = isFloat(static_cast<TensorMapType>(r.type)) ? static_cast<int>(pick(0, 1)) : 0;
  r.base = globalBase + 64;
  uint64_t sizes[5], strides[4], bytes = 0;
  uint32_t box[5], elementStrides[5], span = r.swizzle ? 16u << r.swizzle : 128;
  for (unsigned dim = 0; dim < r.rank; ++dim) {
    sizes[dim] = pick(1, dim == 0 ? 150 : 6);
    elementStrides[dim] = static_cast<uint32_t>(dim && pick(0, 3) == 0 ? pick(2, 3) : 1);
    box[dim] = static_cast<uint32_t>(dim == 0 ? 16 / size * pick(1, span / 16) : pick(1, 5));
    if (dim + 1 < r.rank)
      strides[dim] = ((dim ? strides[dim - 1] * sizes[dim] : sizes[0] * size) + 15) / 16 * 16 + 16 * pick(0, 2);
  }
  bytes = (r.rank > 1 ? strides[r.rank - 2] * sizes[r.rank - 1] : sizes[0] * size) + 256;
  r.sizes = sizes, r.strides = strides, r.box = box, r.elementStrides = elementStrides;
  auto map = makeTensorMap(r);
  EXPECT_TRUE(map) << map.message();
  s.map = *map;
  s.global.resize(bytes);
  s.address = static_cast<uint32_t>(128 * pick(8, 16));
  s.shared.resize(s.address + s.map.boxBytes() + 1024);
  for (auto *memory : {&s.global, &s.shared})
    for (uint8_t &byte : *memory)
      byte = static_cast<uint8_t>(random());
  for (unsigned dim = 0; dim < r.rank; ++dim)
    s.coordinates[dim] =
        static_cast<int32_t>(pick(0, sizes[dim] + 2)) - (negative ? static_cast<int32_t>(pick(0, 9)) : 0);
  return s;
}

/// Calls visit(shared address of the element, pointer into `global` or null when out of bounds).
template <typename Visit> uint64_t forEachElement(Transfer &s, std::vector<uint8_t> &global, Visit visit) {
  unsigned size = sizeOf(s.map.type);
  uint32_t counts[5] = {1, 1, 1, 1, 1};
  for (unsigned dim = 0; dim < s.map.rank; ++dim)
    counts[dim] = (s.map.box[dim] + s.map.elementStrides[dim] - 1) / s.map.elementStrides[dim];
  uint32_t total = counts[0] * counts[1] * counts[2] * counts[3] * counts[4];
  uint64_t inside = 0;
  for (uint32_t linear = 0; linear < total; ++linear) {
    uint32_t rest = linear;
    uint64_t at = 64;
    bool in = true;
    for (unsigned dim = 0; dim < s.map.rank; ++dim) {
      int64_t c = s.coordinates[dim] + static_cast<int64_t>(rest % counts[dim]) * s.map.elementStrides[dim];
      rest /= counts[dim];
      in = in && c >= 0 && c < static_cast<int64_t>(s.map.sizes[dim]);
      at += static_cast<uint64_t>(c) * (dim ? s.map.strides[dim] : size);
    }
    uint32_t a = s.address + linear * size;
    uint32_t mask = s.map.swizzle == Swizzle::B128  ? 7
                    : s.map.swizzle == Swizzle::B64 ? 3
                                                    : s.map.swizzle == Swizzle::B32;
    visit(a ^ (a / 128 % 8 & mask) << 4, in ? global.data() + at : nullptr);
    inside += in ? size : 0;
  }
  return inside;
}

TEST(TensorMemoryAccess, LoadMatchesElementWalk) {
  std::mt19937 random(9);
  for (int i = 0; i < (test::fullSweep() ? 20000 : 1000); ++i) {
    Transfer s = randomTransfer(random, true);
    std::vector<uint8_t> expected = s.shared;
    unsigned size = sizeOf(s.map.type);
    uint64_t inside = forEachElement(s, s.global, [&](uint32_t address, const uint8_t *element) {
      uint64_t fill = 0;
      if (s.map.fill == OutOfBoundsFill::NaN)
        fill = ~0ull >> (65 - 8 * size);
      std::memcpy(expected.data() + address, element ? element : reinterpret_cast<uint8_t *>(&fill), size);
    });
    auto traffic = loadBox(s.map, s.coordinates, s.window(), s.address, s.resolver());
    ASSERT_TRUE(traffic) << traffic.message();
    EXPECT_EQ(traffic->globalBytes, inside);
    ASSERT_EQ(s.shared, expected) << i;
  }
}

TEST(TensorMemoryAccess, StoreMatchesElementWalk) {
  std::mt19937 random(10);
  for (int i = 0; i < (test::fullSweep() ? 20000 : 1000); ++i) {
    Transfer s = randomTransfer(random, false);
    std::vector<uint8_t> expected = s.global;
    uint64_t inside = forEachElement(s, expected, [&](uint32_t address, uint8_t *element) {
      if (element)
        std::memcpy(element, s.shared.data() + address, sizeOf(s.map.type));
    });
    auto traffic = storeBox(s.map, s.coordinates, s.window(), s.address, s.resolver());
    ASSERT_TRUE(traffic) << traffic.message();
    EXPECT_EQ(traffic->globalBytes, inside);
    ASSERT_EQ(s.global, expected) << i;
  }
}

TEST(TensorMemoryAccess, ReductionsMatchElementWalk) {
  std::mt19937 random(11);
  unsigned checked = 0;
  for (int i = 0; i < 3000; ++i) {
    Transfer s = randomTransfer(random, false);
    auto reduction = static_cast<Reduction>(random() % 8);
    if (!supports(reduction, s.map.type) || s.map.type != TensorMapType::U32) {
      if (!supports(reduction, s.map.type))
        EXPECT_FALSE(reduceBox(s.map, s.coordinates, s.window(), s.address, reduction, s.resolver()));
      continue;
    }
    ++checked;
    std::vector<uint8_t> expected = s.global;
    forEachElement(s, expected, [&](uint32_t address, uint8_t *element) {
      if (!element)
        return;
      uint32_t old, value, result = 0;
      std::memcpy(&old, element, 4);
      std::memcpy(&value, s.shared.data() + address, 4);
      switch (reduction) {
      case Reduction::Add:
        result = old + value;
        break;
      case Reduction::Min:
        result = old < value ? old : value;
        break;
      case Reduction::Max:
        result = old > value ? old : value;
        break;
      case Reduction::Inc:
        result = old >= value ? 0 : old + 1;
        break;
      case Reduction::Dec:
        result = old == 0 || old > value ? value : old - 1;
        break;
      case Reduction::And:
        result = old & value;
        break;
      case Reduction::Or:
        result = old | value;
        break;
      case Reduction::Xor:
        result = old ^ value;
        break;
      }
      std::memcpy(element, &result, 4);
    });
    ASSERT_TRUE(reduceBox(s.map, s.coordinates, s.window(), s.address, reduction, s.resolver()));
    ASSERT_EQ(s.global, expected) << nameOf(reduction);
  }
  EXPECT_GT(checked, 100u);
}

TEST(TensorMemoryAccess, FloatReductions) {
  auto reduce = [](Reduction op, TensorMapType type, auto old, auto value) {
    reduceBulk(op, type, reinterpret_cast<uint8_t *>(&old), reinterpret_cast<const uint8_t *>(&value), sizeof old);
    return old;
  };
  EXPECT_EQ(reduce(Reduction::Add, TensorMapType::F32, 1.5f, 2.25f), 3.75f);
  EXPECT_EQ(reduce(Reduction::Add, TensorMapType::F64, 1.5, 2.25), 3.75);
  // 1 + 2^-8 is a tie in bf16: to even.
  EXPECT_EQ(reduce(Reduction::Add, TensorMapType::BF16, uint16_t(0x3f80), uint16_t(0x3b80)), 0x3f80);
  EXPECT_EQ(reduce(Reduction::Add, TensorMapType::F16, uint16_t(0x7bff), uint16_t(0x7bff)), 0x7c00);
  EXPECT_EQ(reduce(Reduction::Min, TensorMapType::F16, uint16_t(0x0000), uint16_t(0x8000)), 0x8000);
  EXPECT_EQ(reduce(Reduction::Max, TensorMapType::F16, uint16_t(0x7e00), uint16_t(0xc000)), 0xc000); // NaN loses
  EXPECT_EQ(reduce(Reduction::Min, TensorMapType::S32, int32_t(-5), int32_t(3)), -5);
}

TEST(TensorMemoryAccess, RefusesBadCopies) {
  std::mt19937 random(12);
  Transfer s = randomTransfer(random, false);
  s.shared.resize(1 << 20);
  EXPECT_EQ(loadBox(s.map, s.coordinates, s.window(), 1040, s.resolver()).error().code, 716);
  EXPECT_EQ(loadBox(s.map, s.coordinates, s.window(), 1 << 20, s.resolver()).error().code, 700);
  for (int32_t &c : s.coordinates)
    c = 0;
  auto nothing = [](uint64_t, size_t) -> uint8_t * { return nullptr; };
  auto unallocated = loadBox(s.map, s.coordinates, s.window(), 1024, nothing);
  ASSERT_FALSE(unallocated);
  EXPECT_EQ(unallocated.error().code, 700);
  s.coordinates[0] = -1;
  auto negative = storeBox(s.map, s.coordinates, s.window(), 1024, s.resolver());
  ASSERT_FALSE(negative);
  EXPECT_NE(negative.message().find("non-negative"), std::string::npos);
  TensorMap interleaved = s.map;
  interleaved.interleave = Interleave::B16;
  EXPECT_FALSE(loadBox(interleaved, s.coordinates, s.window(), 1024, s.resolver()));
}

} // namespace
