// The C interface as a C program sees it: results against its own reference, layouts, caching, and every refusal.
#include "fa/CAPI/fa.h"
#include <cmath>
#include <cstring>
#include <functional>
#include <gtest/gtest.h>
#include <limits>
#include <random>
#include <string>
#include <thread>
#include <vector>

extern "C" size_t sizeOfOptionsInC(void);
extern "C" size_t sizeOfTensorInC(void);

namespace {

using Sizes = std::vector<int64_t>;

/// A dense tensor of float or double, and the struct that describes it.
template <typename T> struct Dense {
  Sizes sizes, strides;
  std::vector<T> data;

  explicit Dense(Sizes sizes, unsigned seed = 0) : sizes(std::move(sizes)) {
    size_t count = 1;
    for (int64_t size : this->sizes)
      count *= static_cast<size_t>(size);
    data.resize(count);
    std::mt19937 random(seed);
    std::normal_distribution<double> normal;
    if (seed)
      for (T &x : data)
        x = static_cast<T>(normal(random));
  }
  fa_tensor tensor() {
    return {data.data(), std::is_same_v<T, double> ? FA_F64 : FA_F32, static_cast<int32_t>(sizes.size()), sizes.data(),
            strides.empty() ? nullptr : strides.data()};
  }
};

fa_attention_options defaults() {
  fa_attention_options options;
  fa_attention_options_init(&options, sizeof options);
  return options;
}

double largestDifference(const std::vector<float> &a, const std::vector<float> &b) {
  double largest = 0;
  for (size_t i = 0; i < a.size(); ++i)
    largest = std::max(largest, std::abs(static_cast<double>(a[i]) - b[i]));
  return largest;
}

class CApi : public ::testing::Test {
protected:
  Dense<float> q{{2, 4, 33, 16}, 1}, k{{2, 2, 47, 16}, 2}, v{{2, 2, 47, 8}, 3};
  Dense<float> o{{2, 4, 33, 8}}, lse{{2, 4, 33}}, expected{{2, 4, 33, 8}}, expectedLse{{2, 4, 33}};
  fa_attention_options options = defaults();

  fa_status forward() {
    const fa_tensor tq = q.tensor(), tk = k.tensor(), tv = v.tensor(), to = o.tensor(), tl = lse.tensor();
    return fa_attention_forward(&tq, &tk, &tv, &to, &tl, &options);
  }
  void expectMatchesReference(double tolerance = 2e-6) {
    ASSERT_EQ(forward(), FA_OK) << fa_last_error();
    EXPECT_STREQ(fa_last_error(), "");
    const fa_tensor tq = q.tensor(), tk = k.tensor(), tv = v.tensor(), te = expected.tensor(),
                    tl = expectedLse.tensor();
    ASSERT_EQ(fa_attention_reference(&tq, &tk, &tv, &te, &tl, &options), FA_OK) << fa_last_error();
    EXPECT_LT(largestDifference(o.data, expected.data), tolerance);
    for (size_t i = 0; i < lse.data.size(); ++i)
      EXPECT_TRUE(lse.data[i] == expectedLse.data[i] || std::abs(lse.data[i] - expectedLse.data[i]) < 1e-5) << i;
  }
  std::string refusal() {
    EXPECT_EQ(forward(), FA_INVALID_ARGUMENT);
    return fa_last_error();
  }
};

TEST_F(CApi, HeaderIsC) {
  EXPECT_EQ(sizeOfOptionsInC(), sizeof(fa_attention_options));
  EXPECT_EQ(sizeOfTensorInC(), sizeof(fa_tensor));
}

TEST_F(CApi, PlainAttention) { expectMatchesReference(); }

TEST_F(CApi, CausalBothCorners) {
  for (int32_t corner : {FA_CORNER_TOP_LEFT, FA_CORNER_BOTTOM_RIGHT}) {
    options.causal = corner;
    expectMatchesReference();
  }
  // One visible key: row 0 of the top-left mask is v[0], up to the rounding of p and 1 / p (decision 0620).
  options.causal = FA_CORNER_TOP_LEFT;
  ASSERT_EQ(forward(), FA_OK);
  for (size_t d = 0; d < 8; ++d)
    EXPECT_FLOAT_EQ(o.data[d], v.data[d]);
}

TEST_F(CApi, WindowSoftcapScaleAndTiles) {
  options.window_corner = FA_CORNER_BOTTOM_RIGHT;
  options.window_left = 5;
  options.window_right = 0;
  options.softcap = 2;
  options.scale = 0.7;
  options.tile_q = 8;
  options.tile_kv = 16;
  expectMatchesReference();
}

TEST_F(CApi, BothOrdersAndTheNaiveFormAgree) {
  options.causal = FA_CORNER_BOTTOM_RIGHT;
  expectMatchesReference();
  options.order = FA_ORDER_KEY_OUTER;
  expectMatchesReference();
  options.form = FA_FORM_NAIVE;
  options.order = FA_ORDER_QUERY_OUTER;
  expectMatchesReference();
}

TEST_F(CApi, BiasAndAlibi) {
  Dense<float> bias({4, 1, 47}, 7), slopes({4}, 8);
  const fa_tensor tb = bias.tensor(), ts = slopes.tensor();
  options.bias = &tb;
  expectMatchesReference();
  options.alibi = FA_CORNER_BOTTOM_RIGHT;
  options.alibi_slopes = &ts;
  expectMatchesReference(1e-5);
}

TEST_F(CApi, EveryTensorHasItsOwnStrides) {
  options.causal = FA_CORNER_BOTTOM_RIGHT;
  expectMatchesReference();
  const std::vector<float> before = o.data;
  // q in memory as [batch, sequence, heads, depth].
  std::vector<float> moved(q.data.size());
  for (int64_t b = 0; b < 2; ++b)
    for (int64_t h = 0; h < 4; ++h)
      for (int64_t i = 0; i < 33; ++i)
        for (int64_t d = 0; d < 16; ++d)
          moved[static_cast<size_t>(((b * 33 + i) * 4 + h) * 16 + d)] =
              q.data[static_cast<size_t>(((b * 4 + h) * 33 + i) * 16 + d)];
  q.data = moved;
  q.strides = {33 * 4 * 16, 16, 4 * 16, 1};
  o.data.assign(o.data.size(), -1);
  ASSERT_EQ(forward(), FA_OK) << fa_last_error();
  EXPECT_EQ(o.data, before);
  // o with its depth outside.
  o.strides = {4 * 33 * 8, 33 * 8, 1, 33};
  ASSERT_EQ(forward(), FA_OK) << fa_last_error();
  EXPECT_EQ(o.data[33], before[1]);
}

TEST_F(CApi, LengthsVaryWithoutRecompiling) {
  ASSERT_EQ(forward(), FA_OK);
  const uint64_t compiled = fa_compile_count();
  for (int64_t length : {1, 5, 130}) {
    k = Dense<float>({2, 2, length, 16}, 4);
    v = Dense<float>({2, 2, length, 8}, 5);
    expectMatchesReference();
  }
  EXPECT_EQ(fa_compile_count(), compiled);
  options.softcap = 3;
  expectMatchesReference();
  EXPECT_EQ(fa_compile_count(), compiled + 1) << "the softcap is part of the key";
}

TEST_F(CApi, EmptyRowsAndEmptyTensors) {
  k = Dense<float>({2, 2, 3, 16}, 4);
  v = Dense<float>({2, 2, 3, 8}, 5);
  options.causal = FA_CORNER_BOTTOM_RIGHT;
  expectMatchesReference();
  EXPECT_EQ(o.data[0], 0);
  EXPECT_EQ(lse.data[0], -std::numeric_limits<float>::infinity());
  k = Dense<float>({2, 2, 0, 16});
  v = Dense<float>({2, 2, 0, 8});
  expectMatchesReference();
  q = Dense<float>({2, 4, 0, 16});
  o = Dense<float>({2, 4, 0, 8});
  lse = Dense<float>({2, 4, 0});
  EXPECT_EQ(forward(), FA_OK) << fa_last_error();
  o.strides = {0, 0, 8, 1}; // as NumPy describes an empty array
  EXPECT_EQ(forward(), FA_OK) << fa_last_error();
}

TEST_F(CApi, F64AndNoLse) {
  Dense<double> dq({1, 1, 20, 8}, 1), dk({1, 1, 30, 8}, 2), dv({1, 1, 30, 8}, 3), out({1, 1, 20, 8}),
      reference({1, 1, 20, 8});
  const fa_tensor tq = dq.tensor(), tk = dk.tensor(), tv = dv.tensor(), to = out.tensor(), tr = reference.tensor();
  ASSERT_EQ(fa_attention_forward(&tq, &tk, &tv, &to, nullptr, nullptr), FA_OK) << fa_last_error();
  ASSERT_EQ(fa_attention_reference(&tq, &tk, &tv, &tr, nullptr, nullptr), FA_OK) << fa_last_error();
  for (size_t i = 0; i < out.data.size(); ++i)
    EXPECT_NEAR(out.data[i], reference.data[i], 1e-14);
}

TEST_F(CApi, SeveralThreadsAtOnce) {
  expectMatchesReference();
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([this, t] {
      Dense<float> mine({2, 4, 33, 8});
      const fa_tensor tq = q.tensor(), tk = k.tensor(), tv = v.tensor(), to = mine.tensor();
      fa_attention_options own = defaults();
      for (int round = 0; round < 5; ++round) {
        EXPECT_EQ(fa_attention_forward(&tq, &tk, &tv, &to, nullptr, &own), FA_OK) << fa_last_error();
        EXPECT_EQ(mine.data, o.data) << t;
        own.causal = 7;
        EXPECT_EQ(fa_attention_forward(&tq, &tk, &tv, &to, nullptr, &own), FA_INVALID_ARGUMENT);
        own.causal = 0;
      }
    });
  for (std::thread &thread : threads)
    thread.join();
}

TEST_F(CApi, RefusesContradictoryTensors) {
  k = Dense<float>({2, 3, 47, 16});
  EXPECT_EQ(refusal(), "expected v of shape 2x3x47x8, but got 2x2x47x8");
  v = Dense<float>({2, 3, 47, 8});
  EXPECT_EQ(refusal(), "expected heads of q to be a multiple of heads of k, but got 4 and 3");
  k = Dense<float>({2, 2, 47, 15});
  EXPECT_EQ(refusal(), "expected k of shape 2x2x47x16, but got 2x2x47x15");
  k = Dense<float>({2, 2, 47});
  EXPECT_EQ(refusal(), "expected k of rank 4, but got rank 3");
  k = Dense<float>({2, 2, 47, 16});
  v = Dense<float>({2, 2, 47, 8});
  o = Dense<float>({2, 4, 33, 9});
  EXPECT_EQ(refusal(), "expected o of shape 2x4x33x8, but got 2x4x33x9");
  o = Dense<float>({2, 4, 33, 8});
  o.strides = {0, 33 * 8, 8, 1};
  EXPECT_EQ(refusal(), "expected strides of o that keep its elements apart, but some overlap");
}

TEST_F(CApi, RefusesBadOptions) {
  const auto with = [&](const std::function<void(fa_attention_options &)> &change) {
    options = defaults();
    change(options);
    return refusal();
  };
  EXPECT_NE(with([](auto &p) { p.causal = 3; }).find("option causal"), std::string::npos);
  EXPECT_NE(with([](auto &p) {
              p.window_corner = FA_CORNER_TOP_LEFT;
              p.window_left = -3;
            }).find("option window_left to be a number of keys, or FA_UNLIMITED, but got -3"),
            std::string::npos);
  EXPECT_NE(with([](auto &p) { p.softcap = -1; }).find("softcap above 0"), std::string::npos);
  EXPECT_NE(with([](auto &p) { p.scale = INFINITY; }).find("finite scale"), std::string::npos);
  EXPECT_NE(with([](auto &p) { p.tile_q = -1; }).find("option tile_q"), std::string::npos);
  EXPECT_NE(with([](auto &p) { p.form = 2; }).find("option form"), std::string::npos);
  EXPECT_NE(with([](auto &p) { p.threads = 100000; }).find("option threads"), std::string::npos);
  EXPECT_NE(with([](auto &p) { p.alibi = FA_CORNER_TOP_LEFT; }).find("alibi_slopes, but got a null pointer"),
            std::string::npos);
  Dense<float> bias({5, 1, 1});
  const fa_tensor tb = bias.tensor();
  EXPECT_EQ(with([&](auto &p) { p.bias = &tb; }), "expected size 0 of bias to be 1 or 4, but got shape 5x1x1");
}

TEST_F(CApi, RefusesBadPointersAndTypes) {
  const fa_tensor tq = q.tensor(), tk = k.tensor(), tv = v.tensor(), to = o.tensor();
  EXPECT_EQ(fa_attention_forward(nullptr, &tk, &tv, &to, nullptr, nullptr), FA_INVALID_ARGUMENT);
  EXPECT_STREQ(fa_last_error(), "expected a tensor q, but got a null pointer");
  fa_tensor bad = tq;
  bad.data = nullptr;
  EXPECT_EQ(fa_attention_forward(&bad, &tk, &tv, &to, nullptr, nullptr), FA_INVALID_ARGUMENT);
  bad = tq;
  bad.data = reinterpret_cast<char *>(tq.data) + 1;
  EXPECT_EQ(fa_attention_forward(&bad, &tk, &tv, &to, nullptr, nullptr), FA_INVALID_ARGUMENT);
  EXPECT_NE(std::string(fa_last_error()).find("aligned to 4 bytes"), std::string::npos);
  bad = tq;
  bad.dtype = 17;
  EXPECT_EQ(fa_attention_forward(&bad, &tk, &tv, &to, nullptr, nullptr), FA_INVALID_ARGUMENT);
  bad = tk;
  bad.dtype = FA_F64;
  EXPECT_EQ(fa_attention_forward(&tq, &bad, &tv, &to, nullptr, nullptr), FA_INVALID_ARGUMENT);
  EXPECT_STREQ(fa_last_error(), "expected k of dtype f32, but got f64");
}

TEST_F(CApi, OptionsOfOtherVersions) {
  // An older caller knows fewer fields: the rest keeps its defaults.
  options.struct_size = offsetof(fa_attention_options, causal);
  options.causal = 99;
  EXPECT_EQ(forward(), FA_OK) << fa_last_error();
  // A newer caller may pass more, as long as it is all zero.
  std::vector<unsigned char> larger(sizeof options + 64, 0);
  auto *newer = reinterpret_cast<fa_attention_options *>(larger.data());
  fa_attention_options_init(newer, larger.size());
  const fa_tensor tq = q.tensor(), tk = k.tensor(), tv = v.tensor(), to = o.tensor();
  EXPECT_EQ(fa_attention_forward(&tq, &tk, &tv, &to, nullptr, newer), FA_OK) << fa_last_error();
  larger.back() = 1;
  EXPECT_EQ(fa_attention_forward(&tq, &tk, &tv, &to, nullptr, newer), FA_INVALID_ARGUMENT);
  EXPECT_NE(std::string(fa_last_error()).find("update the library"), std::string::npos);
  options.struct_size = 0;
  EXPECT_NE(refusal().find("fa_attention_options_init"), std::string::npos);
}

} // namespace
