// The exhaustive sweeps: all small lengths x corners x windows, and prefix, block-local and union masks. One set of
// symbolic bounds per mask and tile size is compared with brute force for every pair of lengths.
#include "BruteForce.h"
#include "FullSweep.h"
#include "gtest/gtest.h"

using namespace fa::test;
using namespace mlir::fa;

namespace {
constexpr int64_t kTiles[] = {4, 8, 16};

/// Derives the bounds of a mask for all tile sizes, proves them, and checks all lengths up to `longest`.
void expectExact(mlir::MLIRContext &context, const TestMask &mask, int64_t longest, int64_t stride) {
  std::vector<std::pair<TileProblem, MaskBounds>> cases;
  for (int64_t queryTile : kTiles)
    for (int64_t keyTile : kTiles) {
      TileProblem problem = makeProblem(&context, mask, queryTile, keyTile);
      MaskBounds bounds = computeMaskBounds(problem);
      EXPECT_TRUE(bounds.visibleExact && bounds.fullExact) << mask.name;
      EXPECT_EQ(proveMaskBounds(problem, bounds), ProofResult::Proved) << mask.name;
      cases.push_back({problem, bounds});
    }
  Faults faults;
  for (int64_t sq = 1; sq <= longest; sq += stride)
    for (int64_t sk = 1; sk <= longest; sk += stride)
      for (const std::vector<int64_t> &operands : mask.operands) {
        PairTable pairs(mask.mask, sq, sk, operands);
        for (const auto &[problem, bounds] : cases)
          checkBounds(pairs, bounds, problem.queryTile, problem.keyTile, faults);
      }
  EXPECT_TRUE(faults.sound()) << mask.name;
  EXPECT_EQ(faults.extraTiles, 0) << mask.name;
  EXPECT_EQ(faults.missedFull, 0) << mask.name;
}
} // namespace

/// Fault 50: all (Sq, Sk) in 1..40 x left, right in {none, 0..5} x both corners x tiles {4, 8, 16}.
TEST(MaskSweep, CausalAndWindows) {
  mlir::MLIRContext context;
  auto [i, j, sq, sk, p, q] = MaskVariables(&context);
  for (AffineExpr row : {i, i + sk - sq})
    for (int64_t left = -1; left <= 5; ++left) // -1: none
      for (int64_t right = -1; right <= 5; ++right) {
        if (!fullSweep() && (left + right) % 3 != 1)
          continue;
        Mask mask = Mask::constant(true);
        if (left >= 0)
          mask = mask & Mask::nonNegative(j - row + left);
        if (right >= 0)
          mask = mask & Mask::nonNegative(row + right - j);
        std::string name = "window " + std::to_string(left) + ", " + std::to_string(right) +
                           (row == i ? " top_left" : " bottom_right");
        expectExact(context, {name, mask}, 40, fullSweep() ? 1 : 3);
      }
}

TEST(MaskSweep, PrefixesBlocksAndUnions) {
  mlir::MLIRContext context;
  auto [i, j, sq, sk, p, q] = MaskVariables(&context);
  int64_t stride = fullSweep() ? 1 : 5;
  Mask causal = Mask::nonNegative(i - j);
  expectExact(context, {"prefix-lm", causal | Mask::nonNegative(p - 1 - j), {{0}, {3}, {8}, {17}, {40}}}, 30, stride);
  for (int64_t block = 1; block <= 12; block += fullSweep() ? 1 : 5) {
    Mask local = Mask::zero(i.floorDiv(block) - j.floorDiv(block));
    expectExact(context, {"block " + std::to_string(block), local}, 30, stride);
    expectExact(context, {"causal block " + std::to_string(block), local & causal}, 30, stride);
  }
  for (int64_t sinks = 1; sinks <= 9; sinks += fullSweep() ? 2 : 4)
    for (int64_t left = 0; left <= 6; left += fullSweep() ? 1 : 3)
      expectExact(context,
                  {"sinks or window", causal & (Mask::nonNegative(-j + (sinks - 1)) | Mask::nonNegative(j - i + left))},
                  30, stride);
}
