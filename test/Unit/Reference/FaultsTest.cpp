// Faults that users of attention kernels reported elsewhere, as the smallest inputs with known exact answers. V = 2^j
// with Q = 0 decodes exactly which keys a row saw.
#include "TestTensors.h"
#include "fa/Reference/Evaluation.h"
#include <cmath>
#include <gtest/gtest.h>
#include <limits>

using namespace fa;
using namespace fa::reference;
using fa::test::TestProblem;

namespace {

constexpr double inf = std::numeric_limits<double>::infinity();
const double nan_ = std::numeric_limits<double>::quiet_NaN();

Evaluation run(const Problem &problem) {
  auto e = evaluate(problem, {});
  EXPECT_TRUE(e) << e.message();
  return *e;
}

MaskFunction causal(int64_t offset) {
  return [=](int64_t, int64_t, int64_t i, int64_t j) { return j <= i + offset; };
}

/// One head, depth 1, Q = 0: O is the mean of the visible V.
struct Mean : TestProblem {
  Mean(int64_t sq, int64_t sk, const std::function<double(size_t)> &value) : TestProblem(DType::F32, sq, sk, 1) {
    v.fill(value);
  }
};

TEST(Faults, FullyMaskedRowsAreZeroWithLseMinusInfinity) {
  TestProblem t(DType::F32, 1, 4, 4);
  t.random(1);
  t.problem.visible = [](int64_t, int64_t, int64_t, int64_t) { return false; };
  const Evaluation e = run(t.problem);
  for (double o : e.output)
    EXPECT_EQ(o, 0);
  EXPECT_EQ(e.lse[0], -inf);
  for (const UnfusedResult &unfused : e.unfused)
    EXPECT_EQ(unfused.lse[0], -inf);
  EXPECT_EQ(e.outputBound[0], 0);
}

TEST(Faults, BottomRightLeavesTopRowsWithoutKeys) {
  Mean t(5, 2, [](size_t j) { return 10.0 * static_cast<double>(j + 1); });
  t.problem.visible = causal(2 - 5);
  const Evaluation e = run(t.problem);
  for (size_t row = 0; row < 3; ++row) {
    EXPECT_EQ(e.output[row], 0);
    EXPECT_EQ(e.lse[row], -inf);
  }
  EXPECT_EQ(e.output[3], 10);
  EXPECT_EQ(e.lse[3], 0);
  EXPECT_EQ(e.output[4], 15);
  EXPECT_NEAR(e.lse[4], .6931472, 1e-7);
}

TEST(Faults, MaskAndCausalTogetherEmpty) {
  TestProblem t(DType::F32, 2, 2, 4);
  t.random(2);
  t.problem.visible = [](int64_t, int64_t, int64_t i, int64_t j) { return j <= i && (i == 1 || j == 1); };
  const Evaluation e = run(t.problem);
  EXPECT_EQ(e.output[0], 0);
  EXPECT_EQ(e.lse[0], -inf);
  EXPECT_TRUE(std::isfinite(e.lse[1]));
}

TEST(Faults, VeryNegativeLogitsBeatNoSentinel) {
  TestProblem t(DType::BF16, 1, 1, 1, 1, 4, 64, 1);
  t.q.fill(64);
  t.k.fill(-16);
  t.v.fill([](size_t j) { return static_cast<double>(j + 1); });
  t.problem.scale = .125;
  const Evaluation e = run(t.problem);
  EXPECT_EQ(e.output[0], 2.5);
  EXPECT_NEAR(e.lse[0], -8190.614, 1e-3);
}

TEST(Faults, HugeLogitsGiveTheValueExactly) {
  TestProblem t(DType::BF16, 1, 1, 64);
  t.q.fill(133120);
  t.k.fill(133120);
  t.v.fill(133120);
  const Evaluation e = run(t.problem);
  for (size_t d = 0; d < 64; ++d) {
    EXPECT_EQ(e.output[d], 133120);
    for (const UnfusedResult &unfused : e.unfused)
      EXPECT_EQ(unfused.output[d], 133120);
  }
}

TEST(Faults, HalfPrecisionSumsDoNotOverflow) {
  TestProblem t(DType::F16, 1, 4096, 128);
  t.q.fill(64);
  t.k.fill(64);
  t.v.fill(60000);
  const Evaluation e = run(t.problem);
  EXPECT_EQ(e.output[0], 60000);
  EXPECT_NEAR(e.lse[0], 524288 / std::sqrt(128.0) + 8.317766, 1e-5);
}

TEST(Faults, KeysPastTheEndTakeNoPart) {
  TestProblem t(DType::F32, 1, 65, 64);
  t.q.fill(1);
  t.k.fill(-8);
  t.v.fill(1);
  const Evaluation e = run(t.problem);
  EXPECT_EQ(e.output[0], 1);
  EXPECT_NEAR(e.lse[0], -59.82561, 1e-5);
}

TEST(Faults, NanInPaddingIsNotReadAndInAVisibleValuePropagates) {
  TestProblem buffer(DType::F32, 1, 64, 4);
  buffer.random(3);
  for (size_t i = 3 * 4; i < 64 * 4; ++i) {
    buffer.k.set(i, nan_);
    buffer.v.set(i, nan_);
  }
  Problem p = buffer.problem;
  p.key.sizes[2] = p.value.sizes[2] = 3;
  const Evaluation finite = run(p);
  for (double o : finite.output)
    EXPECT_TRUE(std::isfinite(o));
  // Masked instead of cut off: the same result.
  p = buffer.problem;
  p.visible = [](int64_t, int64_t, int64_t, int64_t j) { return j < 3; };
  EXPECT_EQ(run(p).output, finite.output);
  buffer.v.set(1, nan_);
  const Evaluation tainted = run(p);
  EXPECT_TRUE(std::isnan(tainted.output[1]));
  EXPECT_EQ(tainted.output[0], finite.output[0]);
}

TEST(Faults, CausalCornersDiffer) {
  Mean t(2, 4, [](size_t j) { return static_cast<double>(j); });
  t.problem.visible = causal(0);
  EXPECT_EQ(run(t.problem).output, (std::vector<double>{0, .5}));
  t.problem.visible = causal(2);
  EXPECT_EQ(run(t.problem).output, (std::vector<double>{1, 1.5}));
}

TEST(Faults, CausalWithACacheUsesThePastLength) {
  Mean t(2, 8, [](size_t j) { return j < 5 ? static_cast<double>(j) : nan_; });
  t.problem.visible = causal(3);
  EXPECT_EQ(run(t.problem).output, (std::vector<double>{1.5, 2}));
}

TEST(Faults, WindowOfTwoSeesThreeKeys) {
  Mean t(6, 6, [](size_t j) { return std::ldexp(1.0, static_cast<int>(j)); });
  t.problem.visible = [](int64_t, int64_t, int64_t i, int64_t j) { return j >= i - 2 && j <= i; };
  const Evaluation e = run(t.problem);
  EXPECT_EQ(e.output[0], 1);
  EXPECT_NEAR(e.output[3], 14.0 / 3, 1e-15);
  EXPECT_NEAR(e.output[5], 56.0 / 3, 1e-14);
}

TEST(Faults, AScoreOfMinusInfinityHidesItsKeyAfterSoftcap) {
  Mean t(1, 2, [](size_t j) { return j == 0 ? 1.0 : 1000.0; });
  t.problem.score = [](double s, int64_t, int64_t, int64_t, int64_t j) {
    return 2 * std::tanh(s / 2) + (j == 1 ? -inf : 0);
  };
  const Evaluation e = run(t.problem);
  EXPECT_EQ(e.output[0], 1);
  for (const UnfusedResult &unfused : e.unfused)
    EXPECT_EQ(unfused.output[0], 1);
  EXPECT_NEAR(e.lse[0], 0, 1e-15);
}

/// As behind a mask: 0 * NaN never happens.
TEST(Faults, ValuesBehindAScoreOfMinusInfinityAreNotRead) {
  for (double value : {nan_, inf}) {
    Mean t(2, 2, [&](size_t j) { return j == 0 ? 1.0 : value; });
    t.problem.score = [](double s, int64_t, int64_t, int64_t i, int64_t j) { return i == 0 && j == 1 ? -inf : s; };
    const Evaluation e = run(t.problem);
    EXPECT_EQ(e.output[0], 1);
    EXPECT_EQ(e.unfused[0].output[0], 1);
    EXPECT_FALSE(std::isfinite(e.output[1])) << "this row sees it";
    EXPECT_FALSE(std::isfinite(e.unfused[0].output[1]));
  }
}

TEST(Faults, NoKeysAndNoQueries) {
  TestProblem none(DType::F32, 3, 0, 4);
  none.q.random(1);
  const Evaluation e = run(none.problem);
  EXPECT_EQ(e.output, std::vector<double>(12, 0));
  EXPECT_EQ(e.lse, std::vector<double>(3, -inf));
  TestProblem empty(DType::F32, 0, 5, 4);
  EXPECT_TRUE(run(empty.problem).rows.empty());
  TestProblem noBatch(DType::F32, 0, 2, 2, 3, 3, 4, 4);
  EXPECT_TRUE(run(noBatch.problem).rows.empty());
}

TEST(Faults, TrueDepthEntersTheScale) {
  TestProblem t(DType::F64, 1, 1, 3);
  t.q.fill(1);
  t.k.fill(1);
  EXPECT_NEAR(run(t.problem).lse[0], 1.7320508075688772, 1e-15);
}

TEST(Faults, GroupedHeadsAreBlocked) {
  TestProblem t(DType::F32, 1, 4, 2, 1, 3, 2, 1);
  t.v.fill([](size_t i) { return i < 3 ? 0.0 : 1.0; });
  EXPECT_EQ(run(t.problem).output, (std::vector<double>{0, 0, 1, 1}));
}

TEST(Faults, ScaleZeroAveragesTheVisibleValues) {
  TestProblem t(DType::F32, 1, 1, 1, 4, 4, 8, 1);
  t.random(4);
  t.v.fill([](size_t j) { return static_cast<double>(j); });
  t.problem.scale = 0;
  t.problem.visible = causal(0);
  const Evaluation e = run(t.problem);
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(e.output[i], static_cast<double>(i) / 2);
    EXPECT_NEAR(e.lse[i], std::log(static_cast<double>(i + 1)), 1e-15);
  }
}

TEST(Faults, NanReachesExactlyTheRowsThatSeeIt) {
  TestProblem t(DType::F32, 3, 3, 4);
  t.random(5);
  t.problem.visible = causal(0);
  const Evaluation clean = run(t.problem);
  t.q.set(4, nan_); // query 1
  const Evaluation query = run(t.problem);
  t.random(5);
  t.k.set(4, nan_); // key 1: rows 1 and 2
  const Evaluation key = run(t.problem);
  for (size_t d = 0; d < 4; ++d) {
    EXPECT_EQ(query.output[d], clean.output[d]);
    EXPECT_TRUE(std::isnan(query.output[4 + d]));
    EXPECT_EQ(query.output[8 + d], clean.output[8 + d]);
    EXPECT_EQ(key.output[d], clean.output[d]);
    EXPECT_TRUE(std::isnan(key.output[4 + d]));
    EXPECT_TRUE(std::isnan(key.output[8 + d]));
  }
  EXPECT_TRUE(std::isnan(query.lse[1]));
  t.random(5);
  t.q.set(4, inf);
  EXPECT_TRUE(std::isnan(run(t.problem).output[4])) << "an infinite logit";
}

TEST(Faults, NegativeScaleAndSmallLogits) {
  TestProblem t(DType::F64, 1, 1, 1, 1, 2, 4, 1);
  t.q.fill(1);
  t.k.fill([](size_t i) { return i < 4 ? 1.0 : 0.0; });
  t.v.fill([](size_t j) { return j == 0 ? 1.0 : 0.0; });
  t.problem.scale = .5;
  EXPECT_NEAR(run(t.problem).output[0], .8807970779778823, 1e-15);
  t.problem.scale = -.5;
  EXPECT_NEAR(run(t.problem).output[0], 1 - .8807970779778823, 1e-15);
}

} // namespace
