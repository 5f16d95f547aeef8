// The reference against a second, even simpler computation, and its options.
#include "fa/Reference/Evaluation.h"
#include "TestTensors.h"
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>

using namespace fa;
using namespace fa::reference;
using fa::test::TestProblem;

namespace {

/// One row in extended precision, straight from the definition.
struct SlowRow {
  std::vector<long double> output;
  long double lse;

  SlowRow(const Problem &p, int64_t b, int64_t h, int64_t i) : output(static_cast<size_t>(p.depthV()), 0) {
    const int64_t kv = h / (p.heads() / p.kvHeads());
    std::vector<long double> weights;
    std::vector<int64_t> keys;
    for (int64_t j = 0; j < p.keys(); ++j) {
      if (p.visible && !p.visible(b, h, i, j))
        continue;
      long double s = 0;
      for (int64_t d = 0; d < p.depth(); ++d)
        s += static_cast<long double>(p.query.at({b, h, i, d})) * p.key.at({b, kv, j, d});
      s *= p.scale;
      weights.push_back(p.score ? p.score(static_cast<double>(s), b, h, i, j) : s);
      keys.push_back(j);
    }
    long double top = -INFINITY, sum = 0;
    for (long double w : weights)
      top = std::max(top, w);
    for (long double &w : weights)
      sum += w = expl(w - top);
    for (size_t n = 0; n < keys.size(); ++n)
      for (int64_t d = 0; d < p.depthV(); ++d)
        output[static_cast<size_t>(d)] += weights[n] / sum * p.value.at({b, kv, keys[n], d});
    lse = top + logl(sum);
  }
};

void expectMatchesSlow(const Problem &p, double tolerance) {
  EvaluationOptions options;
  options.outputType = DType::F64;
  const auto e = evaluate(p, options);
  ASSERT_TRUE(e) << e.message();
  ASSERT_EQ(e->rows.size(), static_cast<size_t>(p.rows()));
  for (size_t n = 0; n < e->rows.size(); ++n) {
    const int64_t row = e->rows[n], i = row % p.queries(), h = row / p.queries() % p.heads(),
                  b = row / p.queries() / p.heads();
    const SlowRow slow(p, b, h, i);
    ASSERT_NEAR(e->lse[n], static_cast<double>(slow.lse), tolerance);
    for (int64_t d = 0; d < p.depthV(); ++d)
      ASSERT_NEAR(e->output[n * static_cast<size_t>(p.depthV()) + static_cast<size_t>(d)],
                  static_cast<double>(slow.output[static_cast<size_t>(d)]), tolerance)
          << b << " " << h << " " << i << " " << d;
  }
}

TEST(Evaluation, MatchesTheDefinitionForEveryTypeAndShape) {
  for (DType type : {DType::F64, DType::F32, DType::F16, DType::BF16, DType::E4M3, DType::E5M2})
    for (auto [sq, sk, d, dv] : {std::array<int64_t, 4>{1, 1, 1, 1}, {5, 7, 3, 2}, {33, 65, 40, 72}, {4, 130, 8, 33}}) {
      TestProblem t(type, 2, 4, 2, sq, sk, d, dv);
      t.random(static_cast<unsigned>(sq * 100 + d));
      expectMatchesSlow(t.problem, 1e-13);
    }
}

TEST(Evaluation, MaskAndScoreReachEveryPair) {
  TestProblem t(DType::F32, 2, 2, 1, 37, 45, 16, 8);
  t.random(3);
  t.problem.visible = [](int64_t b, int64_t h, int64_t i, int64_t j) { return j <= i + 8 && (i + j + h + b) % 3 != 0; };
  t.problem.score = [](double s, int64_t b, int64_t h, int64_t i, int64_t j) {
    return 5 * std::tanh(s / 5) + 0.01 * static_cast<double>(j - i) * static_cast<double>(h + 1) +
           static_cast<double>(b);
  };
  expectMatchesSlow(t.problem, 1e-13);
}

TEST(Evaluation, StridesOfEachTensorAreItsOwn) {
  // BSHD storage for Q, broadcast heads (stride 0) for K, reversed keys for V.
  const int64_t B = 2, H = 3, S = 5, D = 4;
  TestProblem t(DType::F32, B, H, H, S, S, D, D);
  t.random(9);
  t.problem.query.strides = {S * H * D, D, H * D, 1};
  t.problem.key.strides = {H * S * D, 0, D, 1};
  t.problem.value.strides = {H * S * D, S * D, -D, 1};
  t.problem.value.data = t.v.data.data() + static_cast<size_t>((S - 1) * D) * 4;
  expectMatchesSlow(t.problem, 1e-13);
}

TEST(Evaluation, F64ResolvesItsOwnRoundingErrors) {
  TestProblem t(DType::F64, 64, 300, 64);
  t.random(5);
  EvaluationOptions options;
  options.outputType = options.lseType = DType::F64;
  const auto e = evaluate(t.problem, options);
  ASSERT_TRUE(e);
  double worst = 0, unfused = 0;
  for (size_t n = 0; n < e->rows.size(); ++n) {
    const SlowRow slow(t.problem, 0, 0, e->rows[n]);
    for (size_t d = 0; d < 64; ++d) {
      worst = std::max(worst, std::abs(e->output[n * 64 + d] - static_cast<double>(slow.output[d])));
      unfused = std::max(unfused, std::abs(e->unfused[0].output[n * 64 + d] - e->output[n * 64 + d]));
    }
  }
  EXPECT_LT(worst, 1e-16);
  EXPECT_GT(unfused, 1e-17);
  EXPECT_LT(unfused, 1e-14);
}

TEST(Evaluation, UnfusedErrsAsMuchAsItsType) {
  double previous = 0;
  for (DType type : {DType::F32, DType::F16, DType::BF16}) {
    TestProblem t(type, 64, 128, 64);
    t.random(11);
    EvaluationOptions options;
    options.outputType = type;
    const auto e = evaluate(t.problem, options);
    ASSERT_TRUE(e);
    double error = 0;
    for (size_t n = 0; n < e->output.size(); ++n) {
      error = std::max(error, std::abs(e->output[n] - e->unfused[0].output[n]));
      unsigned char element[4];
      storeFromDouble(type, element, e->unfused[0].output[n]);
      ASSERT_EQ(loadAsDouble(type, element), e->unfused[0].output[n]) << "not a " << nameOf(type);
    }
    EXPECT_GT(error, 4 * previous) << nameOf(type);
    previous = error;
  }
}

TEST(Evaluation, UnfusedRoundsScoresWeightsAndOutput) {
  // Two keys; bf16 rounds the dot product 1 + 2^-8 + 2^-9 to 1 + 2^-7, and the weights to 8 bits.
  TestProblem t(DType::BF16, 1, 2, 3);
  t.problem.scale = 1;
  t.q.fill([](size_t i) { return i == 0 ? 1.0 : i == 1 ? 0.0625 : 0.03125; });
  t.k.fill([](size_t i) { return i == 0 ? 1.0 : i == 1 || i == 2 ? 0.0625 : 0.0; });
  t.v.fill([](size_t i) { return i < 3 ? 1.0 : 0.0; });
  EvaluationOptions options;
  options.outputType = DType::F32;
  const auto e = evaluate(t.problem, options);
  ASSERT_TRUE(e);
  const double dot = 1 + 1.0 / 256 + 1.0 / 512;
  EXPECT_NEAR(e->output[0], 1 / (1 + std::exp(-dot)), 1e-15);
  const double rounded = 1 + 1.0 / 128;
  EXPECT_EQ(e->unfused[0].output[0], fromBF16(toBF16(1 / (1 + std::exp(-rounded)))));
  EXPECT_NEAR(e->unfused[0].lse[0], std::log(1 + std::exp(rounded)), 1e-6);
  EXPECT_EQ(e->visiblePairs, 2);
}

TEST(Evaluation, ResultsDoNotDependOnThreads) {
  TestProblem t(DType::F32, 2, 4, 2, 70, 90, 32, 32);
  t.random(21);
  t.problem.visible = [](int64_t, int64_t, int64_t i, int64_t j) { return j <= i; };
  EvaluationOptions options;
  options.threads = 1;
  const auto one = evaluate(t.problem, options);
  options.threads = 3;
  const auto three = evaluate(t.problem, options);
  ASSERT_TRUE(one && three);
  EXPECT_EQ(one->output, three->output);
  EXPECT_EQ(one->unfused[0].output, three->unfused[0].output);
  EXPECT_EQ(one->outputBound, three->outputBound);
  EXPECT_EQ(one->visiblePairs, three->visiblePairs);
}

TEST(Evaluation, ASampleHasTheSameValuesAsTheWhole) {
  TestProblem t(DType::F32, 2, 3, 1, 50, 20, 8, 8);
  t.random(31);
  EvaluationOptions options;
  const auto whole = evaluate(t.problem, options);
  options.sampleRows = 17;
  options.seed = 4;
  const auto sample = evaluate(t.problem, options);
  options.seed = 5;
  const auto other = evaluate(t.problem, options);
  ASSERT_TRUE(whole && sample && other);
  EXPECT_FALSE(whole->sampled());
  EXPECT_TRUE(sample->sampled());
  ASSERT_EQ(sample->rows.size(), 17u);
  EXPECT_NE(sample->rows, other->rows);
  EXPECT_EQ(sample->rows.front(), 0);
  EXPECT_EQ(sample->rows.back(), 299);
  for (size_t n = 0; n < 17; ++n) {
    const auto row = static_cast<size_t>(sample->rows[n]);
    EXPECT_EQ(sample->lse[n], whole->lse[row]);
    EXPECT_EQ(std::memcmp(&sample->output[n * 8], &whole->output[row * 8], 64), 0);
  }
}

TEST(Evaluation, RefusesContradictoryProblems) {
  const auto error = [](const Problem &p) {
    const auto e = evaluate(p, {});
    EXPECT_FALSE(e);
    return e ? "" : e.message();
  };
  TestProblem t(DType::F32, 2, 3, 3, 5, 6, 4, 4);
  Problem p = t.problem;
  p.key.sizes[1] = p.value.sizes[1] = 2;
  EXPECT_EQ(error(p), "expected query heads to be a multiple of key/value heads, but got 3 and 2");
  p = t.problem;
  p.value.sizes[2] = 7;
  EXPECT_EQ(error(p), "expected the same sequence in key and value, but got 6 and 7");
  p = t.problem;
  p.key.sizes[3] = 5;
  EXPECT_NE(error(p).find("depth in query and key"), std::string::npos);
  p = t.problem;
  p.query.sizes.pop_back();
  EXPECT_NE(error(p).find("4 sizes"), std::string::npos);
  p = t.problem;
  p.value.type = DType::F16;
  EXPECT_NE(error(p).find("one float type"), std::string::npos);
  p = t.problem;
  p.query.data = nullptr;
  EXPECT_NE(error(p).find("null"), std::string::npos);
  p = t.problem;
  p.query.sizes[2] = int64_t{1} << 40;
  EXPECT_NE(error(p).find("sample of rows"), std::string::npos);
}

} // namespace
