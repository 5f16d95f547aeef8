// The verdict on a small honest kernel (an online softmax in the input precision) and on the ways to get it wrong.
#include "fa/Reference/Verdict.h"
#include "FullSweep.h"
#include "TestTensors.h"
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>

using namespace fa;
using namespace fa::reference;
using fa::test::TestProblem;
using fa::test::TestTensor;

namespace {

constexpr float inf = std::numeric_limits<float>::infinity();

/// FlashAttention in float32 with P in the input type, key tiles of `tile`: what a kernel would do.
struct OnlineKernel {
  int64_t tile = 16;
  int64_t maskShift = 0;    ///< a wrong offset in the kernel's own mask
  bool interleaved = false; ///< wrong head mapping
  bool weightedSum = false; ///< l from the rounded P
  bool scaledQuery = false; ///< Q times the scale first, as a kernel with packed queries does

  void run(const Problem &p, TestTensor &o, TestTensor &lse) const {
    size_t row = 0;
    for (int64_t b = 0; b < p.batch(); ++b)
      for (int64_t h = 0; h < p.heads(); ++h)
        for (int64_t i = 0; i < p.queries(); ++i, ++row)
          runRow(p, b, h, i, o, lse, row);
  }

  void runRow(const Problem &p, int64_t b, int64_t h, int64_t i, TestTensor &o, TestTensor &lse, size_t row) const {
    const int64_t kv = interleaved ? h % p.kvHeads() : h / (p.heads() / p.kvHeads());
    const auto dv = static_cast<size_t>(p.depthV());
    std::vector<float> acc(dv, 0);
    float m = -inf, l = 0;
    for (int64_t first = 0; first < p.keys(); first += tile) {
      std::vector<std::pair<int64_t, float>> scores;
      float top = m;
      for (int64_t j = first; j < std::min(first + tile, p.keys()); ++j) {
        if (p.visible && !p.visible(b, h, i, j + maskShift))
          continue;
        float s = 0;
        const auto scale = static_cast<float>(p.scale);
        for (int64_t d = 0; d < p.depth(); ++d) {
          const auto q = static_cast<float>(p.query.at({b, h, i, d}));
          s += (scaledQuery ? q * scale : q) * static_cast<float>(p.key.at({b, kv, j, d}));
        }
        if (!scaledQuery)
          s *= scale;
        if (p.score)
          s = static_cast<float>(p.score(s, b, h, i, j));
        scores.emplace_back(j, s);
        top = std::max(top, s);
      }
      if (top == -inf)
        continue;
      const float rescale = std::exp(m - top);
      l *= rescale;
      for (float &a : acc)
        a *= rescale;
      m = top;
      for (auto [j, s] : scores) {
        const float weight = std::exp(s - m);
        unsigned char element[8];
        storeFromDouble(p.query.type, element, weight);
        const auto rounded = static_cast<float>(loadAsDouble(p.query.type, element));
        l += weightedSum ? rounded : weight;
        for (size_t d = 0; d < dv; ++d)
          acc[d] += rounded * static_cast<float>(p.value.at({b, kv, j, static_cast<int64_t>(d)}));
      }
    }
    for (size_t d = 0; d < dv; ++d)
      o.set(row * dv + d, m == -inf ? 0 : acc[d] / l);
    lse.set(row, m == -inf ? -inf : m + std::log(l));
  }
};

struct Checked {
  TestTensor o, lse;

  Checked(const TestProblem &t, DType type)
      : o(type, {t.problem.batch(), t.problem.heads(), t.problem.queries(), t.problem.depthV()}),
        lse(DType::F32, {t.problem.batch(), t.problem.heads(), t.problem.queries()}) {}

  Verdict check(const Problem &p, EvaluationOptions options = {}) const {
    const TensorView lseView = lse.view();
    auto verdict = reference::check(p, o.view(), &lseView, options);
    EXPECT_TRUE(verdict) << verdict.message();
    return *verdict;
  }
};

void expectPass(const TestProblem &t, const OnlineKernel &kernel, DType outputType) {
  Checked c(t, outputType);
  kernel.run(t.problem, c.o, c.lse);
  EvaluationOptions options;
  options.keyTile = kernel.tile;
  const Verdict v = c.check(t.problem, options);
  EXPECT_TRUE(v.passed()) << nameOf(t.problem.query.type) << " " << v.report();
}

TEST(Verdict, PassesAnHonestKernel) {
  for (DType type : {DType::F32, DType::F16, DType::BF16})
    for (double spread : {0.1, 1.0, 4.0})
      for (int64_t tile : {1, 16, 100}) {
        TestProblem t(type, 1, 4, 2, 24, 60, 32, 24);
        t.random(static_cast<unsigned>(tile), spread);
        t.problem.visible = [](int64_t, int64_t, int64_t i, int64_t j) { return j <= i + 36 && j >= i - 12; };
        expectPass(t, {.tile = tile}, type);
        expectPass(t, {.tile = tile, .weightedSum = true}, type);
        t.problem.score = [](double s, int64_t, int64_t h, int64_t i, int64_t j) {
          return 3 * std::tanh(s / 3) - 0.05 * static_cast<double>((h + 1) * std::abs(i - j));
        };
        expectPass(t, {.tile = tile}, type);
      }
}

TEST(Verdict, PassesManyRandomShapes) {
  std::mt19937 random(42);
  for (int round = 0; round < (test::fullSweep() ? 500 : 60); ++round) {
    const DType type = std::array{DType::F32, DType::F16, DType::BF16}[random() % 3];
    const auto pick = [&](unsigned most) { return static_cast<int64_t>(random() % most + 1); };
    TestProblem t(type, 1, 2, 1, pick(20), pick(200), pick(80), pick(40));
    t.random(static_cast<unsigned>(round), std::pow(2.0, static_cast<double>(random() % 5) - 2));
    const int64_t offset = pick(40) - 20;
    t.problem.visible = [=](int64_t, int64_t, int64_t i, int64_t j) { return j <= i + offset; };
    expectPass(t, {.tile = pick(64)}, random() % 2 ? type : DType::F32);
  }
}

TEST(Verdict, PassesWhereTheUnfusedComputationIsExactByLuck) {
  std::mt19937 random(9);
  std::uniform_int_distribution<int> digit(-8, 8);
  const auto integers = [&](size_t) { return static_cast<double>(digit(random)); };
  for (int64_t depth : {36, 64, 128})
    for (bool constant : {false, true}) {
      TestProblem t(DType::F32, 16, 64, depth);
      t.random(3);
      t.q.fill(constant ? [](size_t) { return 1.0; } : std::function<double(size_t)>(integers));
      t.k.fill(constant ? [](size_t) { return 3.0; } : std::function<double(size_t)>(integers));
      expectPass(t, {.scaledQuery = true}, DType::F32);
    }
}

TEST(Verdict, TheBoundIsNeitherBrokenNorEmpty) {
  TestProblem t(DType::BF16, 1, 1, 1, 64, 256, 64, 64);
  t.random(8);
  Checked c(t, DType::BF16);
  OnlineKernel{}.run(t.problem, c.o, c.lse);
  const Verdict v = c.check(t.problem, {.keyTile = 16});
  EXPECT_GT(v.output.boundRatio, 0.01) << "the bound says nothing";
  EXPECT_LE(v.output.boundRatio, 1);
  ASSERT_TRUE(v.lse);
  EXPECT_LE(v.lse->boundRatio, 1);
}

class VerdictFailures : public ::testing::Test {
protected:
  TestProblem t{DType::F32, 1, 4, 2, 30, 30, 16, 8};
  Checked c{t, DType::F32};
  OnlineKernel kernel;

  void SetUp() override {
    t.random(77);
    t.problem.visible = [](int64_t, int64_t, int64_t i, int64_t j) { return j <= i; };
  }
  Verdict run() {
    kernel.run(t.problem, c.o, c.lse);
    return c.check(t.problem);
  }
};

TEST_F(VerdictFailures, NoneWithoutAFault) { EXPECT_TRUE(run().passed()); }

TEST_F(VerdictFailures, WrongMaskOffsetInTheKernelOnly) {
  kernel.maskShift = 1;
  const Verdict v = run();
  EXPECT_FALSE(v.passed());
  EXPECT_FALSE(v.output.withinBars());
  EXPECT_FALSE(v.output.withinBound());
}

TEST_F(VerdictFailures, InterleavedHeads) {
  kernel.interleaved = true;
  EXPECT_FALSE(run().passed());
}

TEST_F(VerdictFailures, OneWrongElementIsNamed) {
  kernel.run(t.problem, c.o, c.lse);
  const size_t at = ((2 * 30) + 17) * 8 + 5;
  c.o.set(at, c.o.get(at) + 0.01);
  const Verdict v = c.check(t.problem);
  EXPECT_FALSE(v.passed());
  EXPECT_EQ(v.output.worst.index, (std::array<int64_t, 4>{0, 2, 17, 5}));
  EXPECT_NE(v.report().find("worst: output[0, 2, 17, 5]"), std::string::npos) << v.report();
  EXPECT_TRUE(v.lse->passed());
}

TEST_F(VerdictFailures, LseInLog2) {
  kernel.run(t.problem, c.o, c.lse);
  for (size_t i = 0; i < c.lse.count(); ++i)
    c.lse.set(i, c.lse.get(i) / std::log(2.0));
  const Verdict v = c.check(t.problem);
  EXPECT_TRUE(v.output.passed());
  EXPECT_FALSE(v.lse->passed());
  EXPECT_FALSE(v.passed());
}

TEST_F(VerdictFailures, NanWhereTheReferenceIsFiniteAndTheReverse) {
  kernel.run(t.problem, c.o, c.lse);
  c.o.set(40, std::nan(""));
  Verdict v = c.check(t.problem);
  EXPECT_EQ(v.output.nonFiniteMismatches, 1);
  EXPECT_EQ(v.output.firstMismatch->index, (std::array<int64_t, 4>{0, 0, 5, 0}));
  EXPECT_FALSE(v.passed());
  // NaN in query 3 of head 0: the kernel must show it.
  kernel.run(t.problem, c.o, c.lse);
  t.q.set(3 * 16, std::nan(""));
  v = c.check(t.problem);
  EXPECT_EQ(v.output.nonFiniteMismatches, 8);
  EXPECT_EQ(v.lse->nonFiniteMismatches, 1);
  kernel.run(t.problem, c.o, c.lse);
}

TEST_F(VerdictFailures, EmptyRowsMustBeExactlyEmpty) {
  t.problem.visible = [](int64_t, int64_t, int64_t i, int64_t j) { return j < i; };
  EXPECT_TRUE(run().passed());
  c.o.set(0, 1e-30);
  EXPECT_FALSE(c.check(t.problem).passed());
  c.o.set(0, 0);
  c.lse.set(0, std::numeric_limits<double>::infinity());
  EXPECT_EQ(c.check(t.problem).lse->nonFiniteMismatches, 1);
  c.lse.set(0, -1e30);
  EXPECT_FALSE(c.check(t.problem).passed());
}

TEST_F(VerdictFailures, ASampleSaysSo) {
  kernel.run(t.problem, c.o, c.lse);
  const Verdict v = c.check(t.problem, {.sampleRows = 10});
  EXPECT_TRUE(v.passed());
  EXPECT_TRUE(v.sampled());
  EXPECT_NE(v.report().find("10 of 120 rows (sampled)"), std::string::npos) << v.report();
}

TEST_F(VerdictFailures, ShapesMustMatch) {
  const TestTensor small(DType::F32, {1, 4, 30, 7});
  EXPECT_EQ(check(t.problem, small.view()).message(), "expected the output of shape 1x4x30x8, but got 1x4x30x7");
  const TestTensor lse(DType::F32, {1, 4, 31});
  const TensorView view = lse.view();
  EXPECT_NE(check(t.problem, c.o.view(), &view).message().find("LSE of shape 1x4x30"), std::string::npos);
}

TEST(Verdict, F64KernelsAreHeldNearMachinePrecision) {
  TestProblem t(DType::F64, 16, 64, 32);
  t.random(6);
  EvaluationOptions options;
  options.outputType = options.lseType = DType::F64;
  const auto e = evaluate(t.problem, options);
  ASSERT_TRUE(e);
  TestTensor o(DType::F64, {1, 1, 16, 32}), lse(DType::F64, {1, 1, 16});
  std::memcpy(o.data.data(), e->unfused[0].output.data(), o.data.size());
  std::memcpy(lse.data.data(), e->unfused[0].lse.data(), lse.data.size());
  const TensorView lseView = lse.view();
  auto v = check(t.problem, o.view(), &lseView);
  ASSERT_TRUE(v);
  EXPECT_TRUE(v->passed()) << v->report();
  EXPECT_LT(v->output.maxBar, 1e-14);
  o.set(3, o.get(3) * (1 + 1e-12));
  v = check(t.problem, o.view(), &lseView);
  EXPECT_FALSE(v->passed());
}

/// Row 3 has logits near 1e60: finite in exact arithmetic, infinite in f32. It is not judged; all others are.
TEST(Verdict, RowsThatOverflowTheComputeTypeAreNotJudged) {
  for (DType type : {DType::F32, DType::BF16}) {
    TestProblem t(type, 8, 16, 4);
    t.random(5);
    for (size_t d = 0; d < 4; ++d) {
      t.q.set(3 * 4 + d, 1e30);
      t.k.set(9 * 4 + d, 1e30);
    }
    t.problem.visible = [](int64_t, int64_t, int64_t i, int64_t j) { return j != 9 || i == 3; };
    Checked c(t, type);
    OnlineKernel{}.run(t.problem, c.o, c.lse);
    EXPECT_FALSE(std::isfinite(c.lse.get(3)));
    const Verdict v = c.check(t.problem);
    EXPECT_TRUE(v.passed()) << v.report();
    EXPECT_EQ(v.overflowingRows, 1);
    EXPECT_NE(v.report().find("1 rows overflow in this precision (f32)"), std::string::npos) << v.report();
    c.o.set(2 * 4, 7);
    EXPECT_FALSE(c.check(t.problem).passed()) << "another row is still judged";
    c.o.set(2 * 4, std::numeric_limits<double>::quiet_NaN());
    EXPECT_FALSE(c.check(t.problem).passed());
  }
}

/// Scores of 524288 do not fit f16, in which a library stores them, but a fused kernel keeps them in f32.
TEST(Verdict, OverflowOfStoredScoresIsJudged) {
  TestProblem t(DType::F16, 2, 8, 128);
  t.random(1);
  t.q.fill(64);
  t.k.fill(64);
  Checked c(t, DType::F16);
  OnlineKernel{}.run(t.problem, c.o, c.lse);
  const Verdict honest = c.check(t.problem);
  EXPECT_TRUE(honest.passed()) << honest.report();
  EXPECT_EQ(honest.overflowingRows, 0);
  c.o.fill(std::numeric_limits<double>::quiet_NaN());
  EXPECT_FALSE(c.check(t.problem).passed());
}

/// A score function may bring an infinite dot product back: then there is a result, and it is judged.
TEST(Verdict, ACappedOverflowIsJudged) {
  TestProblem t(DType::F32, 2, 8, 4);
  t.random(2);
  t.q.fill(1e30);
  t.k.fill(1e30);
  t.problem.score = [](double s, int64_t, int64_t, int64_t, int64_t) { return 20 * std::tanh(s / 20); };
  Checked c(t, DType::F32);
  OnlineKernel{}.run(t.problem, c.o, c.lse);
  const Verdict v = c.check(t.problem);
  EXPECT_EQ(v.overflowingRows, 0);
  EXPECT_TRUE(v.passed()) << v.report();
}

TEST(Verdict, TaintIsAllowedWhereTheTargetSaysSo) {
  TestProblem t(DType::F32, 8, 16, 4);
  t.random(6);
  Checked c(t, DType::F32);
  OnlineKernel{}.run(t.problem, c.o, c.lse);
  c.o.set(5 * 4 + 2, std::numeric_limits<double>::quiet_NaN());
  EvaluationOptions options;
  options.outputType = options.lseType = DType::F32;
  const auto evaluation = evaluate(t.problem, options);
  ASSERT_TRUE(evaluation) << evaluation.message();
  const TensorView o = c.o.view(), lse = c.lse.view();
  EXPECT_FALSE(compare(t.problem, *evaluation, o, &lse)->passed());
  const auto only = [](int64_t row, int64_t column) {
    return [=](int64_t, int64_t, int64_t i, int64_t d) { return i == row && d == column; };
  };
  EXPECT_FALSE(compare(t.problem, *evaluation, o, &lse, only(5, 1))->passed());
  EXPECT_FALSE(compare(t.problem, *evaluation, o, &lse, only(4, 2))->passed());
  const auto allowed = compare(t.problem, *evaluation, o, &lse, only(5, 2));
  EXPECT_TRUE(allowed->passed()) << allowed->report();
  EXPECT_EQ(allowed->taintedElements, 1);
  c.lse.set(5, std::numeric_limits<double>::quiet_NaN());
  EXPECT_FALSE(compare(t.problem, *evaluation, o, &lse, only(5, 2))->passed()) << "the LSE does not depend on V";
}

TEST(Verdict, OverflowOfTheOutputTypeIsExpected) {
  TestProblem t(DType::F32, 1, 1, 1);
  t.v.fill(1e5);
  TestTensor o(DType::F16, {1, 1, 1, 1});
  o.set(0, 1e5);
  const auto v = check(t.problem, o.view());
  ASSERT_TRUE(v);
  EXPECT_TRUE(v->passed()) << v->report();
}

} // namespace
