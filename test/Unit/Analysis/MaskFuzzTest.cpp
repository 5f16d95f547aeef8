// Random masks: sound always, exact wherever claimed, the proof never refutes, and no mask takes long.
#include "BruteForce.h"
#include "FullSweep.h"
#include "gtest/gtest.h"
#include <chrono>
#include <random>

using namespace fa::test;
using namespace mlir::fa;

namespace {
/// and / or / not of comparisons with random coefficients, chunks and remainders; one operand p.
class RandomFormula {
public:
  RandomFormula(mlir::MLIRContext *context, unsigned seed) : v(context), random(seed) {}

  Mask formula(int depth) {
    if (depth == 0 || pick(0, 4) == 0)
      return pick(0, 3) ? atom() : !atom();
    Mask a = formula(depth - 1), b = formula(depth - 1);
    return pick(0, 1) ? a & b : a | b;
  }
  int64_t pick(int64_t low, int64_t high) { return low + random() % (high - low + 1); }

private:
  MaskVariables v;
  std::mt19937 random;

  Mask atom() {
    auto [i, j, sq, sk, p, q] = v;
    int64_t size = pick(2, 9), step = pick(2, 7);
    switch (pick(0, 11)) {
    case 0:
      return Mask::nonNegative(i - j + pick(-8, 8));
    case 1:
      return Mask::nonNegative(j - i + pick(-8, 8));
    case 2:
      return Mask::nonNegative(i + sk - sq - j + pick(-3, 3));
    case 3:
      return Mask::nonNegative(p - 1 - j);
    case 4:
      return Mask::nonNegative(p - 1 - i);
    case 5:
      return Mask::zero(i.floorDiv(size) - j.floorDiv(size));
    case 6:
      return Mask::nonNegative(i.floorDiv(size) - j.floorDiv(size) + pick(-1, 1));
    case 7:
      return Mask::zero((i - j) % step);
    case 8:
      return Mask::nonNegative(i * pick(1, 3) - j * pick(1, 3) + pick(-6, 6));
    case 9:
      return Mask::nonNegative((i + p) - j);
    case 10:
      return pick(0, 3) ? Mask::zero(j - pick(0, 12)) : Mask::unknown();
    default:
      return Mask::nonNegative(j - pick(0, 12));
    }
  }
};

double milliseconds(std::chrono::steady_clock::time_point since) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - since).count();
}
} // namespace

TEST(MaskFuzz, RandomMasksAreSoundAndAsExactAsClaimed) {
  const int count = fullSweep() ? 3000 : 60;
  mlir::MLIRContext context;
  int exact = 0, proved = 0;
  double slowest = 0, total = 0;
  for (int seed = 0; seed < count; ++seed) {
    RandomFormula random(&context, seed);
    TestMask mask{"random", random.formula(2), {{-2}, {3}, {9}}};
    int64_t queryTile = 4 << random.pick(0, 1), keyTile = 4 << random.pick(0, 1);
    TileProblem problem = makeProblem(&context, mask, queryTile, keyTile);
    if (random.pick(0, 3) == 0)
      problem = transposed(problem);
    auto start = std::chrono::steady_clock::now();
    MaskBounds bounds = computeMaskBounds(problem);
    double spent = milliseconds(start);
    total += spent;
    slowest = std::max(slowest, spent);
    TileTest test = computeTileTest(problem);
    ProofResult proof = proveMaskBounds(problem, bounds);
    EXPECT_NE(proof, ProofResult::Refuted) << "seed " << seed;
    proved += proof == ProofResult::Proved;
    exact += bounds.visibleExact && bounds.fullExact;
    Faults intervals, tests;
    for (int64_t sq : {0, 1, 5, 8, 13, 24})
      for (int64_t sk : {0, 1, 3, 8, 11, 22})
        for (const std::vector<int64_t> &operands : mask.operands) {
          PairTable pairs(problem.mask, sq, sk, operands);
          checkBounds(pairs, bounds, problem.queryTile, problem.keyTile, intervals);
          checkTileTest(pairs, test, problem.queryTile, problem.keyTile, tests);
        }
    EXPECT_TRUE(intervals.sound()) << "seed " << seed << " lost " << intervals.lostVisible << " wrong full "
                                   << intervals.wrongFull << " bad segments " << intervals.badSegment;
    EXPECT_TRUE(tests.sound()) << "seed " << seed;
    EXPECT_TRUE(!bounds.visibleExact || intervals.extraTiles == 0) << "seed " << seed;
    EXPECT_TRUE(!bounds.fullExact || intervals.missedFull == 0) << "seed " << seed;
    EXPECT_TRUE(!test.visibleExact || tests.extraTiles == 0) << "seed " << seed;
  }
  std::printf("%d masks: %d exact, %d proved, mean %.2f ms, slowest %.1f ms\n", count, exact, proved, total / count,
              slowest);
  EXPECT_GT(exact, count * 2 / 5);
  EXPECT_GT(proved, count * 17 / 20);
  EXPECT_LT(slowest, 2000);
}

/// Formulas made to blow up: many alternatives, many divisions, huge coefficients. They end, and stay sound.
TEST(MaskFuzz, HostileMasksEndInTime) {
  mlir::MLIRContext context;
  auto [i, j, sq, sk, p, q] = MaskVariables(&context);
  std::vector<Mask> hostile;
  Mask product = Mask::constant(true), divisions = Mask::constant(true), remainders = Mask::constant(true);
  for (int n = 1; n <= 24; ++n) {
    product = product & !Mask::zero(j - i + 3 * n);
    divisions = divisions & Mask::nonNegative((i * (n + 1)).floorDiv(n + 2) - (j * (n + 2)).floorDiv(n + 3));
    remainders = remainders & !Mask::zero((i * n + j * (n + 1)) % (n + 5));
  }
  hostile = {product,
             divisions,
             remainders,
             !divisions,
             product | !remainders,
             Mask::nonNegative(i * 1000003 - j * 999983 + p * 7919),
             Mask::zero((i * 65537 - j * 65539) % 65521) | Mask::nonNegative(i * 524287 - j * 131071)};
  for (auto [n, mask] : llvm::enumerate(hostile)) {
    TestMask named{"hostile", mask, {{5}}};
    TileProblem problem = makeProblem(&context, named, 8, 4);
    auto start = std::chrono::steady_clock::now();
    MaskBounds bounds = computeMaskBounds(problem);
    TileTest test = computeTileTest(problem);
    EXPECT_NE(proveMaskBounds(problem, bounds), ProofResult::Refuted) << n;
    EXPECT_LT(milliseconds(start), 3000) << n; // on a loaded machine
    Faults faults;
    for (int64_t sq : {1, 8, 21})
      for (int64_t sk : {1, 8, 19})
        checkBounds(PairTable(mask, sq, sk, {5}), bounds, 8, 4, faults);
    EXPECT_TRUE(faults.sound()) << n;
  }
}
