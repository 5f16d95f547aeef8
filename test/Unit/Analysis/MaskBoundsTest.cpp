// Tile bounds against brute force: the list of masks over all small lengths, symbolic and constant, in both
// directions, with the per-tile test and the proofs.
#include "BruteForce.h"
#include "FullSweep.h"
#include "gtest/gtest.h"

using namespace fa::test;
using namespace mlir::fa;

namespace {
constexpr int64_t kTiles[] = {4, 8, 16};

std::vector<int64_t> lengths() {
  if (!fullSweep())
    return {0, 1, 4, 7, 8, 13, 16, 24};
  std::vector<int64_t> all;
  for (int64_t n = 0; n <= 24; ++n)
    all.push_back(n);
  return all;
}

class TileShapes : public testing::TestWithParam<size_t> {
protected:
  mlir::MLIRContext context;
  TestMask mask = testMasks(&context)[GetParam()];

  template <typename Body> void forEachShape(Body body) {
    for (int64_t queryTile : kTiles)
      for (int64_t keyTile : kTiles)
        body(makeProblem(&context, mask, queryTile, keyTile));
  }
  template <typename Body> void forEachSize(Body body) {
    for (int64_t sq : lengths())
      for (int64_t sk : lengths())
        for (const std::vector<int64_t> &operands : mask.operands)
          body(sq, sk, operands);
  }
};

std::string nameOf(const testing::TestParamInfo<size_t> &info) {
  mlir::MLIRContext context;
  std::string name = testMasks(&context)[info.param].name;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

size_t numMasks() {
  mlir::MLIRContext context;
  return testMasks(&context).size();
}
} // namespace

/// Symbolic lengths: one set of bounds serves all sizes.
TEST_P(TileShapes, SymbolicBoundsAreSoundAndAsExactAsClaimed) {
  forEachShape([&](const TileProblem &problem) {
    MaskBounds bounds = computeMaskBounds(problem);
    EXPECT_EQ(bounds.visibleExact, mask.visibleExact);
    EXPECT_EQ(bounds.fullExact, mask.fullExact);
    EXPECT_EQ(bounds.notes.empty(), mask.visibleExact && mask.fullExact);
    Faults faults;
    forEachSize([&](int64_t sq, int64_t sk, llvm::ArrayRef<int64_t> operands) {
      checkBounds(PairTable(mask.mask, sq, sk, operands), bounds, problem.queryTile, problem.keyTile, faults);
    });
    EXPECT_GT(faults.tiles, 0);
    EXPECT_EQ(faults.lostVisible, 0);
    EXPECT_EQ(faults.wrongFull, 0);
    EXPECT_EQ(faults.badSegment, 0);
    if (bounds.visibleExact)
      EXPECT_EQ(faults.extraTiles, 0);
    if (bounds.fullExact)
      EXPECT_EQ(faults.missedFull, 0);
  });
}

TEST_P(TileShapes, ConstantBoundsAreSoundAndAsExactAsClaimed) {
  forEachShape([&](TileProblem problem) {
    if (!fullSweep() && problem.queryTile != problem.keyTile)
      return;
    forEachSize([&](int64_t sq, int64_t sk, llvm::ArrayRef<int64_t> operands) {
      problem.sq = sq;
      problem.sk = sk;
      problem.operands.assign(operands.begin(), operands.end());
      MaskBounds bounds = computeMaskBounds(problem);
      Faults faults;
      checkBounds(PairTable(mask.mask, sq, sk, operands), bounds, problem.queryTile, problem.keyTile, faults);
      EXPECT_TRUE(faults.sound()) << "Sq " << sq << " Sk " << sk;
      if (bounds.visibleExact)
        EXPECT_EQ(faults.extraTiles, 0) << "Sq " << sq << " Sk " << sk;
      if (bounds.fullExact)
        EXPECT_EQ(faults.missedFull, 0) << "Sq " << sq << " Sk " << sk;
    });
  });
}

TEST_P(TileShapes, TransposedBoundsServeTheKeyTilesOutside) {
  forEachShape([&](const TileProblem &queries) {
    TileProblem problem = transposed(queries);
    MaskBounds bounds = computeMaskBounds(problem);
    Faults faults;
    forEachSize([&](int64_t sq, int64_t sk, llvm::ArrayRef<int64_t> operands) {
      checkBounds(PairTable(problem.mask, sk, sq, operands), bounds, problem.queryTile, problem.keyTile, faults);
    });
    EXPECT_TRUE(faults.sound());
    if (bounds.visibleExact)
      EXPECT_EQ(faults.extraTiles, 0);
    if (bounds.fullExact)
      EXPECT_EQ(faults.missedFull, 0);
    EXPECT_EQ(proveMaskBounds(problem, bounds), ProofResult::Proved);
  });
}

TEST_P(TileShapes, TileTestIsExactWhereThePredicateIsKnown) {
  forEachShape([&](const TileProblem &problem) {
    TileTest test = computeTileTest(problem);
    EXPECT_EQ(test.visibleExact, !mask.mask.hasUnknown());
    Faults faults;
    forEachSize([&](int64_t sq, int64_t sk, llvm::ArrayRef<int64_t> operands) {
      checkTileTest(PairTable(mask.mask, sq, sk, operands), test, problem.queryTile, problem.keyTile, faults);
    });
    EXPECT_TRUE(faults.sound());
    EXPECT_EQ(faults.extraTiles, 0);
    EXPECT_EQ(faults.missedFull, 0);
  });
}

TEST_P(TileShapes, BoundsAreProved) {
  forEachShape([&](const TileProblem &problem) {
    EXPECT_EQ(proveMaskBounds(problem, computeMaskBounds(problem)), ProofResult::Proved);
  });
}

INSTANTIATE_TEST_SUITE_P(Masks, TileShapes, testing::Range<size_t>(0, numMasks()), nameOf);

/// The proofs can fail: each kind of wrong bound is refuted.
TEST(MaskProof, RefutesWrongBounds) {
  mlir::MLIRContext context;
  for (const TestMask &mask : testMasks(&context)) {
    if (mask.name != "causal-bottom-right" && mask.name != "window-5-3")
      continue;
    TileProblem problem = makeProblem(&context, mask, 8, 4);
    MaskBounds bounds = computeMaskBounds(problem);
    MaskBounds shorter = bounds, later = bounds, wider = bounds;
    shorter.runs.front().upper = bounds.runs.front().upper.plus(-1);
    later.runs.front().lower = bounds.runs.front().lower.plus(1);
    wider.fullRanges.front().second = bounds.fullRanges.front().second.plus(1);
    EXPECT_EQ(proveMaskBounds(problem, bounds), ProofResult::Proved);
    EXPECT_EQ(proveMaskBounds(problem, shorter), ProofResult::Refuted) << mask.name;
    EXPECT_EQ(proveMaskBounds(problem, later), ProofResult::Refuted) << mask.name;
    EXPECT_EQ(proveMaskBounds(problem, wider), ProofResult::Refuted) << mask.name;
  }
}

/// Must reach: causal at N = 4096 with 128 x 128 tiles visits 528 of 1024 tiles and masks 32 of them.
TEST(MaskBounds, CausalVisitsExactlyTheTriangle) {
  mlir::MLIRContext context;
  for (const TestMask &mask : testMasks(&context)) {
    if (mask.name != "causal-top-left" && mask.name != "causal-bottom-right")
      continue;
    MaskBounds bounds = computeMaskBounds(makeProblem(&context, mask, 128, 128));
    int64_t full = 0, partial = 0;
    for (int64_t tile = 0; tile < 32; ++tile)
      for (auto [kind, lower, upper] : bounds.evaluate({tile, tile * 128 + 127, 4096, 4096}))
        (kind == TileKind::Full ? full : partial) += std::max<int64_t>(upper - lower, 0);
    EXPECT_EQ(full + partial, 528);
    EXPECT_EQ(partial, 32);
  }
}
