#include "fa/Analysis/MachineModel.h"
#include <gtest/gtest.h>

using namespace fa;
using namespace fa::analysis;

namespace {

AttentionShape shape(int64_t depth, DType type, int64_t length = 4096) {
  return {.seqQ = length, .seqKv = length, .depth = depth, .depthV = depth, .input = type, .output = type};
}

TEST(MachineModel, HostIsDescribed) {
  const CpuModel host = CpuModel::host();
  EXPECT_FALSE(host.name.empty());
  EXPECT_GE(host.cores, 1u);
  EXPECT_GE(host.l1, 8 << 10);
  EXPECT_GE(host.l2, host.l1);
  EXPECT_TRUE(host.vectorBytes == 16 || host.vectorBytes == 32 || host.vectorBytes == 64);
}

TEST(MachineModel, CpuTilesFitTheCacheAndTheSequence) {
  CpuModel machine;
  machine.vectorBytes = 64;
  for (int64_t depth : {16, 64, 128, 256, 1024, 8192})
    for (DType type : {DType::F32, DType::F64, DType::BF16}) {
      const CpuTiles tiles = chooseTiles(machine, shape(depth, type));
      const ResourceUse use = resourcesOf(machine, shape(depth, type), tiles)[0];
      EXPECT_TRUE(use.fits() || tiles.tileKv <= 32) << depth << ": " << use.needed;
      EXPECT_GE(tiles.tileQ, 8);
    }
  // Long sequences have larger tiles, if every core gets work.
  EXPECT_EQ(chooseTiles(machine, shape(64, DType::F32)).tileQ, 256);
  EXPECT_EQ(chooseTiles(machine, shape(64, DType::F32)).tileKv, 256);
  EXPECT_EQ(chooseTiles(machine, shape(64, DType::F32, 1000)).tileQ, 128);
  EXPECT_EQ(chooseTiles(machine, shape(64, DType::F32, 1000)).tileKv, 128);
  machine.cores = 4096;
  EXPECT_EQ(chooseTiles(machine, shape(64, DType::F32)).tileQ, 128);
  EXPECT_EQ(chooseTiles(machine, shape(64, DType::F32)).tileKv, 256);
  machine.cores = 1;
  EXPECT_LT(chooseTiles(machine, shape(1024, DType::F32)).tileKv, 128);
  EXPECT_EQ(chooseTiles(machine, shape(64, DType::F32, 1)).tileQ, 1);
  EXPECT_TRUE(chooseTiles(machine, shape(64, DType::F32, 16)).depthLanes);
  EXPECT_FALSE(chooseTiles(machine, shape(64, DType::F32, 17)).depthLanes);
  EXPECT_EQ(chooseTiles(machine, shape(64, DType::F32, 33)).tileKv, 48);
  EXPECT_EQ(chooseTiles(machine, shape(64, DType::F32), /*copied=*/true).tileQ, 512);
  // Half of the cache holds a query tile, the scores of one sub-tile, and a key tile as it is copied.
  machine.l2 = 2 << 20;
  EXPECT_EQ(chooseTiles(machine, shape(128, DType::BF16), /*copied=*/true).tileKv, 256);
  EXPECT_EQ(chooseTiles(machine, shape(256, DType::F32)).tileKv, 128);
  machine.vectorBytes = 32;
  EXPECT_EQ(chooseTiles(machine, shape(64, DType::F32)).tileKv, 96);
}

TEST(MachineModel, KnownGoodHopperTilesFit) {
  // Compiled without a spill (docs/Decisions/0053).
  const HopperModel h100;
  EXPECT_TRUE(checkTiles(h100, shape(128, DType::BF16), {128, 128, 2, 2}));
  EXPECT_TRUE(checkTiles(h100, shape(128, DType::BF16), {128, 176, 2, 2}));
  EXPECT_TRUE(checkTiles(h100, shape(256, DType::BF16), {128, 80, 2, 2}));
  EXPECT_TRUE(checkTiles(h100, shape(64, DType::BF16), {192, 128, 2, 3}));
}

TEST(MachineModel, TwoTilesInAnIterationNeedRegistersForBoth) {
  const HopperModel h100;
  struct Case {
    int64_t depth, tileKv, warpgroups;
    bool fits; ///< compiled without a spill (docs/Decisions/0411)
  };
  for (const Case &c : {Case{64, 128, 2, true},
                        {64, 160, 2, false},
                        {96, 128, 2, true},
                        {128, 112, 2, true},
                        {128, 128, 2, false},
                        {192, 96, 2, true},
                        {256, 64, 2, true},
                        {256, 80, 2, false},
                        {64, 80, 3, true},
                        {64, 96, 3, false}}) {
    const HopperTiles tiles{64 * c.warpgroups, c.tileKv, 2, c.warpgroups, /*unroll=*/2};
    EXPECT_EQ(static_cast<bool>(checkTiles(h100, shape(c.depth, DType::BF16), tiles)), c.fits)
        << c.depth << ", " << c.tileKv << ", " << c.warpgroups;
  }
}

TEST(MachineModel, KnownBadHopperTilesAreRefused) {
  const HopperModel h100;
  EXPECT_FALSE(checkTiles(h100, shape(128, DType::BF16), {192, 128, 2, 3}));
  EXPECT_FALSE(checkTiles(h100, shape(64, DType::BF16), {192, 192, 2, 3}));
  // A wide output does not fit in the place of the query: 245856 bytes (lib/Conversion/FAToHopper/KernelPlan.cpp).
  AttentionShape wide = shape(72, DType::BF16);
  wide.depthV = 136;
  EXPECT_FALSE(checkTiles(h100, wide, {128, 128, 2, 2}));
  EXPECT_TRUE(checkTiles(h100, wide, {128, 112, 2, 2}));
  const Status shared = checkTiles(h100, shape(256, DType::F32), {128, 128, 2, 2});
  ASSERT_FALSE(shared);
  EXPECT_NE(shared.message().find("expected at most 232448 bytes of shared memory, but got 656384 for tile_q = 128"),
            std::string::npos)
      << shared.message();
  EXPECT_NE(shared.message().find("nearest that fits: tile_q = "), std::string::npos) << shared.message();
  const Status shape_ = checkTiles(h100, shape(64, DType::BF16), {128, 100, 2, 2});
  EXPECT_NE(shape_.message().find("multiple of 8"), std::string::npos);
}

TEST(MachineModel, ChosenHopperTilesFitAndHopelessDepthsSaySo) {
  const HopperModel h100;
  for (int64_t depth : {16, 40, 64, 96, 128, 192, 256})
    for (DType type : {DType::BF16, DType::F16, DType::E4M3}) {
      const auto tiles = chooseTiles(h100, shape(depth, type));
      ASSERT_TRUE(tiles) << depth << tiles.message();
      EXPECT_TRUE(checkTiles(h100, shape(depth, type), *tiles));
      EXPECT_GE(tiles->stages, 2) << depth;
    }
  EXPECT_EQ(chooseTiles(h100, shape(64, DType::BF16))->tileQ, 192);
  EXPECT_EQ(chooseTiles(h100, shape(128, DType::BF16))->tileKv, 128);
  EXPECT_EQ(chooseTiles(h100, shape(256, DType::BF16))->tileKv, 80);
  const auto hopeless = chooseTiles(h100, shape(2048, DType::BF16));
  ASSERT_FALSE(hopeless);
  EXPECT_NE(hopeless.message().find("are available"), std::string::npos);
}

/// What a kernel allocates (hopper-allocate-shared): whole panels of 64 columns, rings of stages, 8 bytes a barrier.
int64_t allocatedBytes(int64_t depth, int64_t depthV, const HopperTiles &tiles) {
  const auto panels = [](int64_t columns) { return (columns + 63) / 64; };
  const int64_t query = tiles.tileQ * 128 * panels(depth), output = tiles.tileQ * 128 * panels(depthV);
  const int64_t rings = tiles.stages * tiles.tileKv * 128 * (panels(depth) + panels(depthV));
  return query + (output > query ? output : 0) + rings + 8 * 2 * (1 + 2 * tiles.stages);
}

TEST(MachineModel, EveryPairOfDepthsHasADefaultThatFits) {
  const HopperModel h100;
  for (int64_t depth = 8; depth <= 256; depth += 8)
    for (int64_t depthV = 8; depthV <= 256; depthV += 8) {
      AttentionShape pair = shape(depth, DType::BF16);
      pair.depthV = depthV;
      const auto tiles = chooseTiles(h100, pair);
      ASSERT_TRUE(tiles) << depth << " x " << depthV << ": " << tiles.message();
      EXPECT_TRUE(checkTiles(h100, pair, *tiles)) << depth << " x " << depthV;
      EXPECT_LE(allocatedBytes(depth, depthV, *tiles), h100.sharedBytesPerBlock) << depth << " x " << depthV;
      EXPECT_GE(tiles->stages, 2) << depth << " x " << depthV; // overlap needs them
    }
}

} // namespace
