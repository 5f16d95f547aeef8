// Faults that users of attention kernels reported elsewhere, on executed kernels in every form: FlashAttention-2 and -1
// with small tiles, and the unfused form. Expected values are exact and known; V = 2^j with Q = 0 decodes which keys a
// row saw. The same cases on the reference: test/Unit/Reference/FaultsTest.cpp.
#include "fa/CAPI/fa.h"
#include "fa/Support/DType.h"
#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <gtest/gtest.h>
#include <limits>
#include <random>
#include <vector>

namespace {

using fa::DType;
using Sizes = std::vector<int64_t>;
using Fill = std::function<double(size_t)>;

constexpr double inf = std::numeric_limits<double>::infinity();
const double nan_ = std::numeric_limits<double>::quiet_NaN();

fa_dtype codeOf(DType type) {
  return type == DType::F64 ? FA_F64 : type == DType::F32 ? FA_F32 : type == DType::F16 ? FA_F16 : FA_BF16;
}

/// A dense tensor between two rows of canaries.
struct Tensor {
  static constexpr size_t canaries = 64;
  DType type;
  Sizes sizes;
  std::vector<unsigned char> memory;
  size_t count = 1;

  Tensor(DType type, Sizes sizes, const Fill &fill) : type(type), sizes(std::move(sizes)) {
    for (int64_t size : this->sizes)
      count *= static_cast<size_t>(size);
    memory.assign((count + 2 * canaries) * fa::sizeOf(type), 0xa5);
    if (fill)
      for (size_t i = 0; i < count; ++i)
        fa::storeFromDouble(type, at(i), fill(i));
  }
  void *at(size_t i) { return memory.data() + (canaries + i) * fa::sizeOf(type); }
  double operator[](size_t i) { return fa::loadAsDouble(type, at(i)); }
  fa_tensor tensor() { return {at(0), codeOf(type), static_cast<int32_t>(sizes.size()), sizes.data(), nullptr}; }
  bool intact() const {
    const size_t bytes = canaries * fa::sizeOf(type);
    for (size_t i = 0; i < bytes; ++i)
      if (memory[i] != 0xa5 || memory[memory.size() - 1 - i] != 0xa5)
        return false;
    return true;
  }
};

/// One problem; run() executes it in every form and hands each result to the check.
struct Case {
  DType type = DType::F32;
  int64_t batch = 1, heads = 1, kvHeads = 1, queries = 1, keys = 1, depth = 1, depthV = 1;
  Fill q, k, v;
  int64_t visibleKeys = -1; ///< shorter than the buffer: the rest lies behind the end
  int64_t tile = 4;
  fa_attention_options options{};

  Case() { fa_attention_options_init(&options, sizeof options); }

  void run(const std::function<void(Tensor &o, Tensor &lse)> &check) {
    const Fill zero = [](size_t) { return 0.0; };
    Tensor tq(type, {batch, heads, queries, depth}, q ? q : zero),
        tk(type, {batch, kvHeads, keys, depth}, k ? k : zero);
    Tensor tv(type, {batch, kvHeads, keys, depthV}, v ? v : zero);
    if (visibleKeys >= 0)
      tk.sizes[2] = tv.sizes[2] = visibleKeys;
    for (int form = 0; form < 3; ++form) {
      SCOPED_TRACE(form == 0 ? "query_outer" : form == 1 ? "key_outer" : "naive");
      options.order = form == 1 ? FA_ORDER_KEY_OUTER : FA_ORDER_QUERY_OUTER;
      options.form = form == 2 ? FA_FORM_NAIVE : FA_FORM_TILED;
      options.tile_q = options.tile_kv = form == 2 ? 0 : tile;
      Tensor o(type, {batch, heads, queries, depthV}, {});
      Tensor lse(type == DType::F64 ? DType::F64 : DType::F32, {batch, heads, queries}, {});
      const fa_tensor pq = tq.tensor(), pk = tk.tensor(), pv = tv.tensor(), po = o.tensor(), pl = lse.tensor();
      ASSERT_EQ(fa_attention_forward(&pq, &pk, &pv, &po, &pl, &options), FA_OK) << fa_last_error();
      EXPECT_TRUE(o.intact() && lse.intact()) << "wrote outside of an output";
      check(o, lse);
    }
  }
};

double powerOfTwo(size_t j) { return std::ldexp(1.0, static_cast<int>(j)); }

TEST(KernelFaults, BottomRightLeavesTopRowsWithoutKeys) {
  Case c;
  c.queries = 5;
  c.keys = 2;
  c.v = [](size_t j) { return j ? 20 : 10; };
  c.options.causal = FA_CORNER_BOTTOM_RIGHT;
  c.run([](Tensor &o, Tensor &lse) {
    for (size_t row = 0; row < 3; ++row) {
      EXPECT_EQ(o[row], 0);
      EXPECT_EQ(lse[row], -inf);
    }
    EXPECT_EQ(o[3], 10);
    EXPECT_EQ(lse[3], 0);
    EXPECT_EQ(o[4], 15);
    EXPECT_NEAR(lse[4], .6931472, 1e-6);
  });
}

TEST(KernelFaults, VeryNegativeLogitsBeatNoSentinel) {
  Case c;
  c.keys = 4;
  c.depth = 64;
  c.q = [](size_t) { return 64; };
  c.k = [](size_t) { return -16; };
  c.v = [](size_t j) { return static_cast<double>(j + 1); };
  c.run([](Tensor &o, Tensor &lse) {
    EXPECT_EQ(o[0], 2.5);
    EXPECT_NEAR(lse[0], -8190.614, 1e-2);
  });
}

TEST(KernelFaults, HugeLogitsGiveTheValueExactly) {
  Case c;
  c.type = DType::BF16;
  c.depth = 64;
  c.q = c.k = c.v = [](size_t) { return 133120; };
  c.run([](Tensor &o, Tensor &) { EXPECT_EQ(o[0], 133120); });
}

TEST(KernelFaults, HalfPrecisionSumsDoNotOverflow) {
  Case c;
  c.type = DType::F16;
  c.keys = 4096;
  c.depth = 128;
  c.tile = 64;
  c.q = c.k = [](size_t) { return 64; };
  c.v = [](size_t) { return 60000; };
  // The unfused form stores its scores in float32, so that it survives this one too.
  c.run([](Tensor &o, Tensor &lse) {
    EXPECT_EQ(o[0], 60000);
    EXPECT_NEAR(lse[0], 524288 / std::sqrt(128.0) + 8.317766, 0.05); // 17 units of float32 at 46,349
  });
}

TEST(KernelFaults, KeysPastTheEndTakeNoPart) {
  Case c;
  c.keys = 65;
  c.depth = 64;
  c.tile = 64;
  c.q = [](size_t) { return 1; };
  c.k = [](size_t) { return -8; };
  c.v = [](size_t) { return 1; };
  c.run([](Tensor &o, Tensor &lse) {
    EXPECT_NEAR(o[0], 1, 1e-6);
    EXPECT_NEAR(lse[0], -59.82561, 5e-5);
  });
}

TEST(KernelFaults, NanBehindTheEndIsNotRead) {
  Case c;
  c.queries = 2;
  c.keys = 64;
  c.visibleKeys = 3;
  c.k = [](size_t j) { return j < 3 ? 0 : nan_; };
  c.v = [](size_t j) { return j < 3 ? powerOfTwo(j) : nan_; };
  c.run([](Tensor &o, Tensor &) { EXPECT_NEAR(o[0], 7.0 / 3, 1e-6); });
}

TEST(KernelFaults, MaskedNanIsNotReadAndVisibleNanPropagates) {
  Case c;
  c.queries = c.keys = 6;
  c.options.causal = FA_CORNER_TOP_LEFT;
  c.v = [](size_t j) { return j == 3 ? nan_ : 1; };
  c.run([](Tensor &o, Tensor &lse) {
    for (size_t i = 0; i < 6; ++i) {
      EXPECT_EQ(std::isnan(o[i]), i >= 3) << i;
      EXPECT_NEAR(lse[i], std::log(static_cast<double>(i + 1)), 1e-6);
    }
  });
  c.v = [](size_t) { return 1; };
  c.k = [](size_t j) { return j == 3 ? nan_ : 0; };
  c.run([](Tensor &o, Tensor &lse) {
    for (size_t i = 0; i < 6; ++i) {
      EXPECT_EQ(std::isnan(o[i]), i >= 3) << i;
      EXPECT_EQ(std::isnan(lse[i]), i >= 3) << i;
    }
  });
  c.k = nullptr;
  c.q = [](size_t i) { return i == 2 ? nan_ : 0; };
  c.run([](Tensor &o, Tensor &) {
    for (size_t i = 0; i < 6; ++i)
      EXPECT_EQ(std::isnan(o[i]), i == 2) << i;
  });
}

TEST(KernelFaults, CausalCornersDiffer) {
  Case c;
  c.queries = 2;
  c.keys = 4;
  c.v = [](size_t j) { return static_cast<double>(j); };
  c.options.causal = FA_CORNER_TOP_LEFT;
  c.run([](Tensor &o, Tensor &) {
    EXPECT_EQ(o[0], 0);
    EXPECT_EQ(o[1], .5);
  });
  c.options.causal = FA_CORNER_BOTTOM_RIGHT;
  c.run([](Tensor &o, Tensor &) {
    EXPECT_EQ(o[0], 1);
    EXPECT_EQ(o[1], 1.5);
  });
  // A cache of 3 past keys, 2 new ones, in a buffer of 8.
  c.keys = 8;
  c.visibleKeys = 5;
  c.v = [](size_t j) { return j < 5 ? static_cast<double>(j) : nan_; };
  c.run([](Tensor &o, Tensor &) {
    EXPECT_EQ(o[0], 1.5);
    EXPECT_EQ(o[1], 2);
  });
}

TEST(KernelFaults, WindowOfTwoSeesThreeKeys) {
  Case c;
  c.queries = c.keys = 6;
  c.v = powerOfTwo;
  c.options.window_corner = FA_CORNER_BOTTOM_RIGHT;
  c.options.window_left = 2;
  c.options.window_right = 0;
  c.run([](Tensor &o, Tensor &) {
    const double expected[] = {1, 1.5, 7.0 / 3, 14.0 / 3, 28.0 / 3, 56.0 / 3};
    for (size_t i = 0; i < 6; ++i)
      EXPECT_NEAR(o[i], expected[i], 2e-6 * expected[i]) << i;
  });
}

TEST(KernelFaults, EveryPairOfLengthsSeesExactlyItsKeys) {
  // Lengths round the tile size; row i of the bottom-right mask is the mean of 2^0 .. 2^(i + Sk - Sq).
  for (int64_t sq : {1, 3, 4, 5, 8, 9})
    for (int64_t sk : {1, 3, 4, 5, 8, 9, 13}) {
      Case c;
      c.type = DType::F64;
      c.queries = sq;
      c.keys = sk;
      c.v = powerOfTwo;
      c.options.causal = FA_CORNER_BOTTOM_RIGHT;
      c.run([&](Tensor &o, Tensor &lse) {
        for (int64_t i = 0; i < sq; ++i) {
          const int64_t seen = std::clamp<int64_t>(i + sk - sq + 1, 0, sk);
          const double expected = seen ? (powerOfTwo(static_cast<size_t>(seen)) - 1) / static_cast<double>(seen) : 0;
          ASSERT_NEAR(o[static_cast<size_t>(i)], expected, 1e-12 * expected) << sq << " " << sk << " " << i;
          ASSERT_EQ(lse[static_cast<size_t>(i)] == -inf, seen == 0);
        }
      });
    }
}

TEST(KernelFaults, NoKeysNoQueriesNoBatch) {
  Case c;
  c.queries = 3;
  c.keys = 0;
  c.depth = 4;
  c.run([](Tensor &o, Tensor &lse) {
    for (size_t i = 0; i < 3; ++i) {
      EXPECT_EQ(o[i], 0);
      EXPECT_EQ(lse[i], -inf);
    }
  });
  c.queries = 0;
  c.keys = 5;
  c.run([](Tensor &, Tensor &) {});
  c.batch = 0;
  c.queries = 3;
  c.run([](Tensor &, Tensor &) {});
}

TEST(KernelFaults, TrueDepthEntersTheScale) {
  for (int64_t depth : {3, 36}) {
    Case c;
    c.depth = depth;
    c.depthV = 5;
    c.q = c.k = [](size_t) { return 1; };
    c.run([=](Tensor &, Tensor &lse) { EXPECT_NEAR(lse[0], std::sqrt(static_cast<double>(depth)), 5e-6); });
  }
}

TEST(KernelFaults, GroupedHeadsAreBlocked) {
  Case c;
  c.heads = 4;
  c.kvHeads = 2;
  c.keys = 3;
  c.v = [](size_t i) { return i < 3 ? 0 : 1; };
  c.run([](Tensor &o, Tensor &) {
    for (size_t h = 0; h < 4; ++h)
      EXPECT_EQ(o[h], h / 2);
  });
}

TEST(KernelFaults, ScaleZeroAveragesAndNegativeScaleReverses) {
  Case c;
  c.queries = c.keys = 4;
  c.depth = 4;
  c.q = c.k = [](size_t i) { return static_cast<double>(i % 3); };
  c.v = [](size_t j) { return static_cast<double>(j); };
  c.options.causal = FA_CORNER_TOP_LEFT;
  c.options.scale = 0;
  c.run([](Tensor &o, Tensor &lse) {
    for (size_t i = 0; i < 4; ++i) {
      EXPECT_NEAR(o[i], static_cast<double>(i) / 2, 1e-6);
      EXPECT_NEAR(lse[i], std::log(static_cast<double>(i + 1)), 1e-6);
    }
  });
  Case n;
  n.keys = 2;
  n.depth = 4;
  n.q = [](size_t) { return 1; };
  n.k = [](size_t i) { return i < 4 ? 1 : 0; };
  n.v = [](size_t j) { return j ? 0 : 1; };
  n.options.scale = -.5;
  n.run([](Tensor &o, Tensor &) { EXPECT_NEAR(o[0], 1 - .8807971, 1e-6); });
}

TEST(KernelFaults, SoftcapComesBeforeTheMask) {
  Case c;
  c.queries = 1;
  c.keys = 2;
  c.v = [](size_t j) { return j ? 1000 : 1; };
  c.options.softcap = 2;
  c.options.causal = FA_CORNER_TOP_LEFT;
  c.run([](Tensor &o, Tensor &lse) {
    EXPECT_EQ(o[0], 1);
    EXPECT_EQ(lse[0], 0);
  });
}

TEST(KernelFaults, ResultsDoNotDependOnThreadsOrBatch) {
  Case c;
  c.batch = 3;
  c.heads = 2;
  c.kvHeads = 2;
  c.queries = c.keys = 33;
  c.depth = c.depthV = 8;
  std::mt19937 random(5);
  std::normal_distribution<double> normal;
  std::vector<double> numbers(3 * 2 * 33 * 8);
  for (double &x : numbers)
    x = normal(random);
  c.q = c.k = c.v = [&](size_t i) { return numbers[i]; };
  c.options.causal = FA_CORNER_TOP_LEFT;
  std::vector<std::vector<unsigned char>> whole;
  c.run([&](Tensor &o, Tensor &) { whole.push_back(o.memory); });
  size_t form = 0;
  c.options.threads = 1;
  c.run([&](Tensor &o, Tensor &) { EXPECT_EQ(o.memory, whole[form++]); });
  form = 0;
  c.batch = 1; // the first batch alone: bit for bit the same
  c.run([&](Tensor &o, Tensor &) {
    for (size_t i = 0; i < o.count; ++i)
      ASSERT_EQ(std::memcmp(o.at(i), whole[form].data() + (Tensor::canaries + i) * 4, 4), 0) << form << " " << i;
    ++form;
  });
}

} // namespace
