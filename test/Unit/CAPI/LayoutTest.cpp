// Memory layouts that break kernels elsewhere: odd offsets, zero strides, offsets beyond 2^31 elements, many small
// heads. Results are compared with the dense layout, bit for bit where the kernel is the same.
#include "fa/CAPI/fa.h"
#include <cmath>
#include <gtest/gtest.h>
#include <random>
#include <string>
#include <sys/mman.h>
#include <vector>

namespace {

using Sizes = std::vector<int64_t>;

std::vector<float> randomFloats(size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> result(count);
  for (float &x : result)
    x = normal(random);
  return result;
}

fa_tensor tensor(float *data, const Sizes &sizes, const Sizes &strides = {}) {
  return {data, FA_F32, static_cast<int32_t>(sizes.size()), sizes.data(), strides.empty() ? nullptr : strides.data()};
}

void run(const fa_tensor &q, const fa_tensor &k, const fa_tensor &v, const fa_tensor &o) {
  fa_attention_options options;
  fa_attention_options_init(&options, sizeof options);
  options.causal = FA_CORNER_TOP_LEFT;
  ASSERT_EQ(fa_attention_forward(&q, &k, &v, &o, nullptr, &options), FA_OK) << fa_last_error();
}

class Layouts : public ::testing::Test {
protected:
  static constexpr int64_t heads = 2, length = 21, depth = 8;
  static constexpr size_t count = heads * length * depth;
  const Sizes sizes{1, heads, length, depth};
  std::vector<float> q = randomFloats(count, 1), k = randomFloats(count, 2), v = randomFloats(count, 3),
                     dense = std::vector<float>(count);

  void SetUp() override {
    run(tensor(q.data(), sizes), tensor(k.data(), sizes), tensor(v.data(), sizes), tensor(dense.data(), sizes));
  }
  /// Kernels for other layouts may sum in another order.
  void expectClose(const std::vector<float> &o) const {
    for (size_t i = 0; i < count; ++i)
      ASSERT_NEAR(o[i], dense[i], 2e-6) << i;
  }
};

TEST_F(Layouts, DataAlignedToItsElementsOnly) {
  for (size_t shift = 1; shift < 16; shift += 2) {
    std::vector<float> memory(4 * (count + 16), NAN);
    float *base[4];
    for (size_t t = 0; t < 4; ++t)
      base[t] = memory.data() + t * (count + 16) + shift;
    std::copy(q.begin(), q.end(), base[0]);
    std::copy(k.begin(), k.end(), base[1]);
    std::copy(v.begin(), v.end(), base[2]);
    run(tensor(base[0], sizes), tensor(base[1], sizes), tensor(base[2], sizes), tensor(base[3], sizes));
    EXPECT_EQ(std::vector<float>(base[3], base[3] + count), dense) << shift;
    EXPECT_TRUE(std::isnan(base[3][-1]) && std::isnan(base[3][count])) << "wrote past the output";
  }
}

TEST_F(Layouts, ZeroStridesRepeat) {
  // One head of keys and values for both, by stride 0 instead of by grouped heads.
  const Sizes one{1, 1, length, depth}, strides{0, 0, depth, 1};
  std::vector<float> grouped(count), repeated(count);
  run(tensor(q.data(), sizes), tensor(k.data(), one), tensor(v.data(), one), tensor(grouped.data(), sizes));
  run(tensor(q.data(), sizes), tensor(k.data(), sizes, strides), tensor(v.data(), sizes, strides),
      tensor(repeated.data(), sizes));
  for (size_t i = 0; i < count; ++i)
    ASSERT_NEAR(grouped[i], repeated[i], 2e-6) << i;
}

TEST_F(Layouts, OffsetsBeyondTwoToThe31Elements) {
  // Pages that nobody touches cost nothing.
  constexpr int64_t far = (int64_t{1} << 31) + 1000;
  const size_t bytes = static_cast<size_t>(far + length * depth) * sizeof(float);
  void *memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED)
    GTEST_SKIP() << "no address space for " << bytes << " bytes";
  auto *base = static_cast<float *>(memory);
  const Sizes strides{far, far, depth, 1};
  const auto spread = [&](const std::vector<float> &from) {
    for (int64_t h = 0; h < heads; ++h)
      std::copy(from.begin() + h * length * depth, from.begin() + (h + 1) * length * depth, base + h * far);
  };
  std::vector<float> o(count);
  spread(k);
  run(tensor(q.data(), sizes), tensor(base, sizes, strides), tensor(v.data(), sizes), tensor(o.data(), sizes));
  expectClose(o);
  spread(q);
  run(tensor(base, sizes, strides), tensor(k.data(), sizes), tensor(v.data(), sizes), tensor(o.data(), sizes));
  expectClose(o);
  run(tensor(q.data(), sizes), tensor(k.data(), sizes), tensor(v.data(), sizes), tensor(base, sizes, strides));
  for (int64_t h = 0; h < heads; ++h)
    std::copy(base + h * far, base + h * far + length * depth, o.begin() + h * length * depth);
  expectClose(o);
  ::munmap(memory, bytes);
}

TEST_F(Layouts, MoreThan65535HeadsTimesBatches) {
  const int64_t batches = 350, manyHeads = 200;
  const Sizes many{batches, manyHeads, 2, 1}, few{batches, 1, 2, 1};
  std::vector<float> zero(static_cast<size_t>(batches * manyHeads * 2), 0), values(static_cast<size_t>(batches * 2)),
      o(zero);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(i);
  run(tensor(zero.data(), many), tensor(zero.data(), few), tensor(values.data(), few), tensor(o.data(), many));
  for (int64_t b = 0; b < batches; ++b)
    for (int64_t h = 0; h < manyHeads; ++h) {
      const float *row = &o[static_cast<size_t>((b * manyHeads + h) * 2)];
      ASSERT_EQ(row[0], static_cast<float>(2 * b));
      ASSERT_EQ(row[1], static_cast<float>(2 * b) + 0.5f);
    }
}

} // namespace
