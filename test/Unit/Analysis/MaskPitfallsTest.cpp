// What goes wrong when tile bounds are derived carelessly, one test each.
#include "BruteForce.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "gtest/gtest.h"

using namespace fa::test;
using namespace mlir::fa;

namespace {
class MaskPitfalls : public testing::Test {
protected:
  mlir::MLIRContext context;
  MaskVariables v{&context};

  /// Bounds of a mask that must be sound, exact and proved, for all small lengths.
  MaskBounds exactBounds(const TestMask &mask, int64_t queryTile, int64_t keyTile) {
    TileProblem problem = makeProblem(&context, mask, queryTile, keyTile);
    MaskBounds bounds = computeMaskBounds(problem);
    EXPECT_EQ(proveMaskBounds(problem, bounds), ProofResult::Proved);
    Faults faults;
    for (int64_t sq = 0; sq <= 20; ++sq)
      for (int64_t sk = 0; sk <= 20; ++sk)
        for (const std::vector<int64_t> &operands : mask.operands)
          checkBounds(PairTable(mask.mask, sq, sk, operands), bounds, queryTile, keyTile, faults);
    EXPECT_TRUE(faults.sound());
    EXPECT_EQ(faults.extraTiles, 0);
    return bounds;
  }
};
} // namespace

/// An empty range inside one tile looks like one tile: j >= 5 and j <= 5 + P with P = -3 lies within tile 0 or 1.
TEST_F(MaskPitfalls, RoundingToTilesDoesNotReviveAnEmptyRange) {
  exactBounds(
      {"empty inside a tile", Mask::nonNegative(v.j - 5) & Mask::nonNegative(v.p + 5 - v.j), {{-3}, {-1}, {0}, {9}}}, 4,
      8);
}

/// With more queries than keys, bottom-right causal gives the first tiles a negative end.
TEST_F(MaskPitfalls, EndsMayBeNegative) {
  MaskBounds bounds = exactBounds({"causal", Mask::nonNegative(v.i + v.sk - v.sq - v.j)}, 4, 4);
  auto segments = bounds.evaluate({0, 3, 20, 4}); // queries 0..3 of 20, 4 keys
  for (auto [kind, lower, upper] : segments)
    EXPECT_LE(upper, lower);
}

/// A range that is empty must not make the tiles before 0 look visited: P floordiv 4 is negative where i >= P.
TEST_F(MaskPitfalls, EmptyRunsDoNotReachBelowZero) {
  exactBounds({"padding tail", Mask::nonNegative(v.p - 1 - v.i) & Mask::nonNegative(v.j - v.p), {{-4}, {-1}, {3}, {9}}},
              4, 4);
}

/// "No gap between" is not transitive when the range in the middle is empty for some operands.
TEST_F(MaskPitfalls, RangesJoinedThroughAnEmptyOne) {
  Mask first = Mask::nonNegative(-v.j + 3), middle = Mask::nonNegative(v.j - 4) & Mask::nonNegative(v.p - v.j);
  Mask last = Mask::nonNegative(v.j - 12) & Mask::nonNegative(-v.j + 15);
  exactBounds({"three ranges", first | middle | last, {{0}, {5}, {11}, {30}}}, 4, 4);
}

/// No keys at all: nothing is visited, whatever the mask.
TEST_F(MaskPitfalls, NoKeysNoTiles) {
  for (const TestMask &mask : testMasks(&context)) {
    MaskBounds bounds = computeMaskBounds(makeProblem(&context, mask, 8, 4));
    llvm::SmallVector<int64_t> symbols = {0, 7, 8, 0};
    symbols.append(mask.operands.front().begin(), mask.operands.front().end());
    for (auto [kind, lower, upper] : bounds.evaluate(symbols))
      EXPECT_LE(upper, lower) << mask.name;
  }
}

/// Coefficients that leave 64 bits when combined: rows are dropped, the result is a superset.
TEST_F(MaskPitfalls, RowsThatOverflowAreDropped) {
  int64_t big = (int64_t(1) << 18) - 5, other = (int64_t(1) << 18) - 11;
  Mask mask = Mask::nonNegative(v.i * big - v.j * other + v.p * (big - 2)) &
              Mask::nonNegative(v.j * big - v.i * (other - 6) + 3) &
              Mask::zero((v.i * big + v.j).floorDiv(other) - (v.j * big).floorDiv(other - 4));
  TestMask named{"huge", mask, {{2}}};
  MaskBounds bounds = computeMaskBounds(makeProblem(&context, named, 8, 4));
  Faults faults;
  for (int64_t sq = 1; sq <= 20; sq += 3)
    for (int64_t sk = 1; sk <= 20; sk += 3)
      checkBounds(PairTable(mask, sq, sk, {2}), bounds, 8, 4, faults);
  EXPECT_TRUE(faults.sound());
}

/// A coefficient beyond the limit is no affine atom; what is left of the mask still bounds the tiles.
TEST_F(MaskPitfalls, HugeCoefficientsAreUnknown) {
  Mask mask = Mask::nonNegative(v.i - v.j) & Mask::nonNegative(v.i * (int64_t(1) << 40) - v.j);
  EXPECT_TRUE(mask.hasUnknown());
  MaskBounds bounds = computeMaskBounds(makeProblem(&context, {"half known", mask}, 8, 8));
  EXPECT_FALSE(bounds.visibleExact);
  EXPECT_EQ(bounds.evaluate({0, 7, 64, 64}).back().upper, 1);
}

/// The normal form of many alternatives is cut short: conjuncts are left out, never pairs.
TEST_F(MaskPitfalls, NormalFormBeyondTheLimitIsASuperset) {
  Mask mask = Mask::constant(true);
  for (int n = 0; n < 10; ++n)
    mask = mask & (Mask::nonNegative(v.i - v.j + n) | Mask::nonNegative(v.j - 2 * n));
  MaskPredicate::NormalForm form = mask.normalForm(8);
  EXPECT_FALSE(form.exact);
  EXPECT_LE(form.disjuncts.size(), 8u);
  for (int64_t i = 0; i < 24; ++i)
    for (int64_t j = 0; j < 24; ++j) {
      bool inForm = llvm::any_of(form.disjuncts, [&](const MaskPredicate::Conjunction &c) {
        return llvm::all_of(c.nonNegative, [&](AffineExpr e) { return evaluateAffine(e, {i, j}, {24, 24}) >= 0; });
      });
      if (mask.evaluate(i, j, {24, 24}) == Truth::True)
        EXPECT_TRUE(inForm);
    }
}

/// The printed form is the one people write.
TEST_F(MaskPitfalls, BoundsReadLikeFormulas) {
  std::vector<std::string> names = {"i", "qLast", "Sq", "Sk", "P"};
  auto print = [&](const TestMask &mask, std::optional<int64_t> length) {
    TileProblem problem = makeProblem(&context, mask, 64, 64);
    problem.sq = problem.sk = length;
    std::string text;
    llvm::raw_string_ostream os(text);
    computeMaskBounds(problem).print(os, names);
    return text;
  };
  Mask causal = Mask::nonNegative(v.i - v.j),
       padding = Mask::nonNegative(v.p - 1 - v.i) & Mask::nonNegative(v.p - 1 - v.j);
  EXPECT_EQ(print({"causal", causal}, 4096), "key tiles [0, i], full below i");
  EXPECT_EQ(print({"window", causal & Mask::nonNegative(v.j - v.i + 511)}, 4096),
            "key tiles [max(0, i - 8), i], full in [max(0, i - 7), i - 1]");
  EXPECT_EQ(print({"padding", padding, {{1}}}, 4096),
            "key tiles [0, min(63, (P - 1) floordiv 64)] if P > 64 * i, full below "
            "min((64 * i + 63 >= P ? 0 : 64), max(0, P floordiv 64))");
  EXPECT_EQ(print({"none", Mask::constant(false)}, std::nullopt), "key tiles none");
}
