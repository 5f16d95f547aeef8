// The bar knows both orders of scaling: equal terms round alike, so what a kernel may lose on them depends on the
// numbers that it adds. And it stays a bar: random data, and kernels that are wrong.
#include "TestTensors.h"
#include "fa/Reference/Verdict.h"
#include <bit>
#include <cmath>
#include <gtest/gtest.h>
#include <numbers>

using namespace fa;
using namespace fa::reference;
using fa::test::TestProblem;
using fa::test::TestTensor;

namespace {

/// One pass in float32, queries multiplied by scale (* log2(e) without a score function), no maximum: P = 2^y.
struct ExponentKernel {
  int places = 0;        ///< P is this many units in the last place off
  double scaleError = 0; ///< relative
  int64_t forgotten = 0; ///< keys at the end

  void run(const Problem &p, TestTensor &o, TestTensor &lse) const {
    const auto factor = static_cast<float>(p.scale * (p.score ? 1 : std::numbers::log2e) * (1 + scaleError));
    const auto depthV = static_cast<size_t>(p.depthV());
    for (int64_t i = 0; i < p.queries(); ++i) {
      std::vector<float> sums(depthV, 0);
      float sum = 0;
      for (int64_t j = 0; j < p.keys() - forgotten; ++j) {
        float y = 0;
        for (int64_t d = 0; d < p.depth(); ++d)
          y = std::fma(static_cast<float>(p.query.at({0, 0, i, d})) * factor,
                       static_cast<float>(p.key.at({0, 0, j, d})), y);
        if (p.score)
          y = static_cast<float>(p.score(y, 0, 0, i, j)) * std::numbers::log2e_v<float>;
        const float power = std::bit_cast<float>(std::bit_cast<int32_t>(std::exp2(y)) + places);
        sum += power;
        for (size_t d = 0; d < depthV; ++d)
          sums[d] = std::fma(power, static_cast<float>(p.value.at({0, 0, j, static_cast<int64_t>(d)})), sums[d]);
      }
      for (size_t d = 0; d < depthV; ++d)
        o.set(static_cast<size_t>(i) * depthV + d, sums[d] / sum);
      lse.set(static_cast<size_t>(i), std::numbers::ln2_v<float> * std::log2(sum));
    }
  }
};

Evaluation evaluated(const Problem &p, DType output = DType::F32, DType lse = DType::F32) {
  EvaluationOptions options;
  options.outputType = output;
  options.lseType = lse;
  auto e = evaluate(p, options);
  EXPECT_TRUE(e) << e.message();
  return *e;
}

Verdict judged(const Problem &p, const Evaluation &evaluation, const ExponentKernel &kernel) {
  TestTensor o(DType::F32, {1, 1, p.queries(), p.depthV()}), lse(DType::F32, {1, 1, p.queries()});
  kernel.run(p, o, lse);
  const TensorView lseView = lse.view();
  const auto verdict = compare(p, evaluation, o.view(), &lseView);
  EXPECT_TRUE(verdict) << verdict.message();
  return *verdict;
}

/// Without the second order.
Evaluation textbookOnly(Evaluation evaluation) {
  evaluation.unfused.pop_back();
  return evaluation;
}

struct Constant : TestProblem {
  Constant(double query, double key, int64_t keys, int64_t depth) : TestProblem(DType::F32, 4, keys, depth) {
    random(3);
    q.fill(query);
    k.fill(key);
  }
};

TEST(ScaleOrder, EqualTermsRoundAlikeInOneOrderOnly) {
  const Constant t(1, 1, 300, 128);
  const Evaluation e = evaluated(t.problem);
  ASSERT_EQ(e.unfused.size(), 2u);
  EXPECT_EQ(e.unfused[0].order, ScaleOrder::AfterProduct);
  EXPECT_EQ(e.unfused[1].order, ScaleOrder::BeforeProduct);
  const double textbook = std::abs(e.unfused[0].lse[0] - e.lse[0]), scaled = std::abs(e.unfused[1].lse[0] - e.lse[0]);
  EXPECT_LT(textbook, 1e-6); // the dot product is 128
  EXPECT_GT(scaled, 8e-6);
  const Verdict both = judged(t.problem, e, {});
  EXPECT_TRUE(both.passed()) << both.report();
  EXPECT_EQ(both.lse->unfusedMaxError, scaled);
  const Verdict one = judged(t.problem, textbookOnly(e), {});
  EXPECT_FALSE(one.lse->withinBars()) << one.report();
  EXPECT_TRUE(one.lse->withinBound());
}

TEST(ScaleOrder, ConstantsPassWhateverTheLastBitsOfP) {
  for (auto [query, key] : {std::pair(1.0, 1.0), {0.7, 1.3}, {0.3, 1.9}, {3.0, 0.1}, {-1.1, 2.3}})
    for (double scale : {0.0, 0.3})
      for (int64_t keys : {100, 160, 300})
        for (int64_t depth : {32, 96}) {
          Constant t(query, key, keys, depth);
          if (scale != 0)
            t.problem.scale = scale;
          const Evaluation e = evaluated(t.problem);
          if (std::abs(query * key * t.problem.scale * static_cast<double>(depth)) > 20)
            continue; // a kernel needs another reference
          for (int places : {-2, -1, 0, 1, 2}) {
            const Verdict v = judged(t.problem, e, {.places = places});
            EXPECT_TRUE(v.passed()) << query << " " << key << " " << scale << " " << keys << " " << depth << " "
                                    << places << "\n"
                                    << v.report();
          }
        }
}

TEST(ScaleOrder, AScoreFunctionSeesTheNaturalLogit) {
  Constant t(1, 1, 160, 512);
  t.problem.score = [](double s, int64_t, int64_t, int64_t, int64_t) { return 20 * std::tanh(s / 20); };
  const Evaluation e = evaluated(t.problem);
  for (const UnfusedResult &unfused : e.unfused) {
    EXPECT_NEAR(unfused.lse[0], e.lse[0], 1e-4);
    EXPECT_NEAR(unfused.output[0], e.output[0], 1e-5);
  }
  const Verdict both = judged(t.problem, e, {}), one = judged(t.problem, textbookOnly(e), {});
  EXPECT_TRUE(both.passed()) << both.report();
  EXPECT_FALSE(one.lse->withinBars()) << one.report();
}

TEST(ScaleOrder, WrongKernelsStillFailOnConstants) {
  const Constant t(1, 1, 300, 128);
  const Evaluation e = evaluated(t.problem);
  EXPECT_FALSE(judged(t.problem, e, {.scaleError = 4e-6}).passed());
  EXPECT_FALSE(judged(t.problem, e, {.scaleError = -4e-6}).passed());
  EXPECT_FALSE(judged(t.problem, e, {.forgotten = 1}).passed());
}

TEST(ScaleOrder, TheSecondOrderHardlyWidensTheBarsOfRandomData) {
  double product = 1;
  int count = 0;
  for (DType type : {DType::F64, DType::F32, DType::F16, DType::BF16})
    for (int64_t keys : {20, 60, 300}) {
      TestProblem t(type, 64, keys, 64);
      t.random(7);
      const DType lseType = type == DType::F64 ? type : DType::F32;
      const Evaluation e = evaluated(t.problem, type, lseType);
      const TestTensor o(type, {1, 1, 64, 64}), lse(lseType, {1, 1, 64});
      const TensorView lseView = lse.view();
      const auto both = compare(t.problem, e, o.view(), &lseView);
      const auto one = compare(t.problem, textbookOnly(e), o.view(), &lseView);
      ASSERT_TRUE(both && one);
      for (auto [wide, narrow] : {std::pair(&both->output, &one->output), std::pair(&*both->lse, &*one->lse)}) {
        const std::string where = std::string(nameOf(type)) + " " + std::to_string(keys) + " " + wide->name;
        EXPECT_LE(wide->rmsBar, 1.2 * narrow->rmsBar) << where;
        EXPECT_LE(wide->maxBar, 1.6 * narrow->maxBar) << where; // one element decides: the larger of two draws
        product *= wide->maxBar / narrow->maxBar;
        ++count;
      }
    }
  EXPECT_LE(std::pow(product, 1.0 / count), 1.2);
}

TEST(ScaleOrder, WrongKernelsStillFailOnRandomData) {
  TestProblem t(DType::F32, 64, 300, 64);
  t.random(7);
  const Evaluation e = evaluated(t.problem);
  EXPECT_TRUE(judged(t.problem, e, {}).passed());
  EXPECT_FALSE(judged(t.problem, e, {.scaleError = 5e-6}).passed());
  EXPECT_FALSE(judged(t.problem, e, {.forgotten = 1}).passed());
}

/// A score of 524288 does not fit f16, in which a library stores it; the bar is that of a computation that does not.
TEST(ScaleOrder, ScoresThatDoNotFitTheirStorageStayUnrounded) {
  TestProblem t(DType::F16, 1, 16, 128);
  t.random(3);
  t.q.fill(64);
  t.k.fill(64);
  const Evaluation e = evaluated(t.problem);
  EXPECT_EQ(e.overflows, std::vector<uint8_t>{0});
  const double ulp = std::ldexp(1.0, -8); // of 2^15
  EXPECT_NEAR(e.unfused[0].lse[0], e.lse[0], ulp);
  EXPECT_NEAR(e.unfused[1].lse[0], e.lse[0], 20 * ulp);
  EXPECT_GT(std::abs(e.unfused[1].lse[0] - e.lse[0]), 4 * ulp);
}

/// The logit of 3e38 fits f32; as a power of two, which kernels may compute, it does not.
TEST(ScaleOrder, ARowOverflowsInEitherOrder) {
  TestProblem t(DType::F32, 2, 8, 4);
  t.random(5);
  t.problem.scale = 1;
  for (size_t d = 0; d < 4; ++d) {
    t.q.set(d, 1e19);
    t.k.set(d, 7.5e18);
  }
  const Evaluation e = evaluated(t.problem);
  EXPECT_NEAR(e.unfused[0].lse[0], 3e38, 1e33);
  EXPECT_EQ(e.overflows, (std::vector<uint8_t>{1, 0}));
}

} // namespace
