// The portable CPU path on values that break softmax elsewhere: infinities, NaN, huge logits, rows without keys.
// Expected values are worked out by hand.
#include "HostAttention.h"
#include <cmath>
#include <gtest/gtest.h>
#include <limits>

using namespace fa;
using namespace fa::test;

namespace {
const double nan = std::numeric_limits<double>::quiet_NaN();

HostArray filled(HostArray array, double value) {
  array.fill([&](const std::vector<int64_t> &) { return value; });
  return array;
}

/// value[b, h, j, d] = j + 1.
HostArray counting(HostArray array) {
  array.fill([](const std::vector<int64_t> &index) { return double(index[2] + 1); });
  return array;
}

TEST(CpuLoopsSpecialValues, RowWithoutKeys) {
  // Row 0: the mask region hides key 0, causality the other; row 1 sees both.
  HostAttention a{.seqQ = 2, .seqKv = 2, .depthV = 1};
  a.clauses = R"(masks [#fa.causal<top_left>]
    mask (%b: index, %h: index, %i: index, %j: index) {
      %sum = arith.addi %i, %j : index
      %zero = arith.constant 0 : index
      %keep = arith.cmpi ne, %sum, %zero : index
      fa.yield %keep : i1
    })";
  for (Form form : allForms) {
    Result r = run(a, form, filled(a.query(), 0), filled(a.key(), 1), counting(a.value()));
    EXPECT_EQ(r.output.values(), (std::vector<double>{0, 1.5}));
    EXPECT_EQ(r.lse.at({0, 0, 0}), -INFINITY);
    EXPECT_FLOAT_EQ(r.lse.at({0, 0, 1}), std::log(2.0f));
  }
}

TEST(CpuLoopsSpecialValues, LogitOfMinusInfinityHides) {
  // The score function hides odd keys by -inf; their values are NaN.
  HostAttention a{.seqQ = 1, .seqKv = 6, .depthV = 1, .tileKv = 2};
  a.clauses = R"(score (%s: f32, %b: index, %h: index, %i: index, %j: index) {
      %c1 = arith.constant 1 : index
      %bit = arith.andi %j, %c1 : index
      %odd = arith.cmpi eq, %bit, %c1 : index
      %none = arith.constant 0xFF800000 : f32
      %r = arith.select %odd, %none, %s : f32
      fa.yield %r : f32
    })";
  HostArray v = counting(a.value());
  for (int64_t j : {1, 3, 5})
    v.set({0, 0, j, 0}, nan);
  for (Form form : allForms) {
    Result r = run(a, form, filled(a.query(), 0), filled(a.key(), 1), v);
    EXPECT_EQ(r.output.at({0, 0, 0, 0}), 3); // the mean of 1, 3, 5
  }
}

TEST(CpuLoopsSpecialValues, NaNReachesExactlyTheRowsThatSeeIt) {
  HostAttention a{.seqQ = 6, .seqKv = 6, .depthV = 1};
  a.clauses = "masks [#fa.causal<top_left>]";
  HostArray q = filled(a.query(), 0), k = filled(a.key(), 1), v = counting(a.value());
  auto rowsWithNaN = [&](Form form, const HostArray &q, const HostArray &k, const HostArray &v) {
    std::vector<int> rows;
    for (double x : run(a, form, q, k, v).output.values())
      rows.push_back(std::isnan(x));
    return rows;
  };
  for (Form form : allForms) {
    HostArray badQuery = q, badKey = k, badValue = v;
    badQuery.set({0, 0, 2, 1}, nan);
    badKey.set({0, 0, 3, 0}, nan);
    badValue.set({0, 0, 4, 0}, nan);
    EXPECT_EQ(rowsWithNaN(form, badQuery, k, v), (std::vector<int>{0, 0, 1, 0, 0, 0}));
    EXPECT_EQ(rowsWithNaN(form, q, badKey, v), (std::vector<int>{0, 0, 0, 1, 1, 1}));
    EXPECT_EQ(rowsWithNaN(form, q, k, badValue), (std::vector<int>{0, 0, 0, 0, 1, 1}));
  }
}

TEST(CpuLoopsSpecialValues, VisibleNaNPropagatesThoughItsWeightUnderflows) {
  // Logits 0 and -400: the weight of key 1 is 0 in f32, yet the pair is visible.
  HostAttention a{.seqQ = 1, .seqKv = 2, .depth = 1, .depthV = 1};
  a.clauses = "scale(1.0)";
  HostArray k = filled(a.key(), 0), v = filled(a.value(), 1);
  k.set({0, 0, 1, 0}, -400);
  v.set({0, 0, 1, 0}, nan);
  for (Form form : allForms)
    EXPECT_TRUE(std::isnan(run(a, form, filled(a.query(), 1), k, v).output.at({0, 0, 0, 0})));
}

TEST(CpuLoopsSpecialValues, HugeLogits) {
  // One key with a logit of 1.4e11: its probability must be exactly 1.
  HostAttention a{.seqQ = 1, .seqKv = 1, .depth = 64, .depthV = 2, .type = DType::BF16};
  for (Form form : allForms) {
    Result r = run(a, form, filled(a.query(), 133120), filled(a.key(), 133120), filled(a.value(), 133120));
    EXPECT_EQ(r.output.values(), std::vector<double>(2, 133120));
  }
}

TEST(CpuLoopsSpecialValues, LogitsFarBelowAnySentinel) {
  // All logits are -8192: a finite "minus infinity" would win.
  HostAttention a{.seqQ = 1, .seqKv = 4, .depth = 64, .depthV = 1, .tileKv = 2};
  for (Form form : allForms) {
    Result r = run(a, form, filled(a.query(), 64), filled(a.key(), -16), counting(a.value()));
    EXPECT_EQ(r.output.at({0, 0, 0, 0}), 2.5);
    EXPECT_FLOAT_EQ(r.lse.at({0, 0, 0}), -8192 + std::log(4.0));
  }
}

TEST(CpuLoopsSpecialValues, HalfPrecisionAccumulatesInSinglePrecision) {
  HostAttention a{.seqQ = 1, .seqKv = 4096, .depth = 128, .depthV = 1, .type = DType::F16, .tileKv = 64};
  for (Form form : allForms) {
    Result r = run(a, form, filled(a.query(), 64), filled(a.key(), 64), filled(a.value(), 60000));
    EXPECT_EQ(r.output.at({0, 0, 0, 0}), fromF16(toF16(60000)));
    const double expected = 524288 / std::sqrt(128.0) + std::log(4096.0);
    EXPECT_NEAR(r.lse.at({0, 0, 0}), expected, 1e-6 * expected);
  }
}

TEST(CpuLoopsSpecialValues, KeysPastTheEndDoNotTakePart) {
  // 65 keys at a logit of -64; zeros past the end would win with e^64.
  HostAttention a{.seqQ = 1, .seqKv = 65, .depth = 64, .depthV = 1, .tileKv = 64};
  for (Form form : allForms) {
    Result r = run(a, form, filled(a.query(), 1), filled(a.key(), -8), filled(a.value(), 1));
    EXPECT_EQ(r.output.at({0, 0, 0, 0}), 1);
    EXPECT_FLOAT_EQ(r.lse.at({0, 0, 0}), -64 + std::log(65.0));
  }
}

TEST(CpuLoopsSpecialValues, ScaleZeroUnderCausalMask) {
  HostAttention a{.seqQ = 4, .seqKv = 4, .depthV = 1};
  for (const char *clauses :
       {"scale(0.0) masks [#fa.causal<top_left>]", "scale(%x : f32) masks [#fa.causal<top_left>]"}) {
    a.clauses = clauses;
    for (Form form : allForms) {
      Result r = run(a, form, filled(a.query(), 5), filled(a.key(), 7), counting(a.value()));
      EXPECT_EQ(r.output.values(), (std::vector<double>{1, 1.5, 2, 2.5}));
      for (int64_t i = 0; i < 4; ++i)
        EXPECT_FLOAT_EQ(r.lse.at({0, 0, i}), std::log(float(i + 1)));
    }
  }
}

TEST(CpuLoopsSpecialValues, DynamicScaleOfNaNPropagates) {
  HostAttention a{.seqQ = 2, .seqKv = 2, .depthV = 1, .clauses = "scale(%x : f32)", .extra = nan};
  for (Form form : allForms)
    for (double x : run(a, form, filled(a.query(), 1), filled(a.key(), 1), counting(a.value())).output.values())
      EXPECT_TRUE(std::isnan(x));
}

TEST(CpuLoopsSpecialValues, ShiftedLogitsStayFinite) {
  // All logits shifted by +500: e^500 overflows without the row reference.
  HostAttention a{.seqQ = 1, .seqKv = 3, .depth = 1, .depthV = 1, .tileKv = 2};
  a.clauses = "scale(1.0)";
  HostArray k = a.key();
  k.fill([](const std::vector<int64_t> &index) { return 500.0 + double(index[2]); });
  double sum = 1 + std::exp(-1.0) + std::exp(-2.0);
  for (Form form : allForms) {
    Result r = run(a, form, filled(a.query(), 1), k, counting(a.value()));
    // Queries that carry the scale round each logit to an ulp of 722, its size in powers of two.
    EXPECT_NEAR(r.output.at({0, 0, 0, 0}), (3 + 2 * std::exp(-1.0) + std::exp(-2.0)) / sum, 6e-5);
    EXPECT_FLOAT_EQ(r.lse.at({0, 0, 0}), 502 + std::log(sum));
  }
}
} // namespace
