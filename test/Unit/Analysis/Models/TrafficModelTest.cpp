#include "fa/Analysis/TrafficModel.h"
#include <gtest/gtest.h>

using namespace fa;
using namespace fa::analysis;

namespace {

/// Counts by walking the tiles as a kernel does, byte by byte.
struct Walk {
  uint64_t q = 0, k = 0, v = 0, stateRead = 0, stateWritten = 0, tiles = 0;

  Walk(const AttentionShape &s, const TiledForm &form, bool keyOuter,
       const std::function<bool(int64_t, int64_t)> &sees) {
    const auto in = static_cast<int64_t>(sizeOf(s.input));
    const int64_t state = (s.depthV + 2) * (s.input == DType::F64 ? 8 : 4);
    for (int64_t head = 0; head < s.batch * s.headsQ; ++head) {
      if (keyOuter) {
        k += static_cast<uint64_t>(s.seqKv * s.depth * in);
        v += static_cast<uint64_t>(s.seqKv * s.depthV * in);
        stateWritten += static_cast<uint64_t>(s.seqQ * state);
        stateRead += static_cast<uint64_t>(s.seqQ * state);
      } else {
        q += static_cast<uint64_t>(s.seqQ * s.depth * in);
      }
      for (int64_t i0 = 0; i0 < s.seqQ; i0 += form.tileQ)
        for (int64_t j0 = 0; j0 < s.seqKv; j0 += form.tileKv) {
          const int64_t i1 = std::min(i0 + form.tileQ, s.seqQ), j1 = std::min(j0 + form.tileKv, s.seqKv);
          bool visited = false;
          for (int64_t i = i0; i < i1; ++i)
            for (int64_t j = j0; j < j1; ++j)
              visited |= sees(i, j);
          if (!visited)
            continue;
          ++tiles;
          if (keyOuter) {
            q += static_cast<uint64_t>((i1 - i0) * s.depth * in);
            stateRead += static_cast<uint64_t>((i1 - i0) * state);
            stateWritten += static_cast<uint64_t>((i1 - i0) * state);
          } else {
            k += static_cast<uint64_t>((j1 - j0) * s.depth * in);
            v += static_cast<uint64_t>((j1 - j0) * s.depthV * in);
          }
        }
    }
  }
};

AttentionShape shape(int64_t sq, int64_t sk) {
  return {.batch = 2,
          .headsQ = 4,
          .headsKv = 2,
          .seqQ = sq,
          .seqKv = sk,
          .depth = 24,
          .depthV = 16,
          .input = DType::BF16,
          .output = DType::BF16};
}

TEST(TrafficModel, IssuedBytesMatchAWalkOverTheTiles) {
  const auto two = [](const AttentionShape &s, int64_t first, int64_t n) { // keys 0..3, and the diagonal band
    return std::vector<KeyRange>{{0, 4}, {std::max<int64_t>(first - 2, 0), std::min(first + n, s.seqKv)}};
  };
  for (int64_t sq : {1, 7, 64, 65})
    for (int64_t sk : {1, 16, 63, 129})
      for (auto [tq, tk] : {std::pair<int64_t, int64_t>{16, 8}, {64, 64}, {5, 7}})
        for (int mask = 0; mask < 4; ++mask) {
          const AttentionShape s = shape(sq, sk);
          const int64_t offset = mask == 2 ? sk - sq : 0;
          const TiledForm form{tq, tk, mask == 0 ? VisibleKeys() : mask == 3 ? two : causalKeys(mask == 2)};
          const auto sees = [&](int64_t i, int64_t j) {
            return mask == 0 || (mask == 3 ? j < 4 || (j >= i - 2 && j <= i) : j <= i + offset);
          };
          const auto second = queryOuterTraffic(s, form);
          ASSERT_TRUE(second) << second.message();
          const Walk walk(s, form, false, sees);
          ASSERT_EQ(second->visitedTiles, walk.tiles) << sq << " " << sk << " " << tq << " " << mask;
          EXPECT_EQ(second->find("q")->readIssued, walk.q);
          EXPECT_EQ(second->find("k")->readIssued, walk.k);
          EXPECT_EQ(second->find("v")->readIssued, walk.v);
          EXPECT_EQ(second->squareTouches, 0u);
          const auto first = keyOuterTraffic(s, form);
          ASSERT_TRUE(first);
          const Walk outer(s, form, true, sees);
          EXPECT_EQ(first->find("q")->readIssued, outer.q);
          EXPECT_EQ(first->find("k")->readIssued, outer.k);
          EXPECT_EQ(first->find("state")->readIssued, outer.stateRead);
          EXPECT_EQ(first->find("state")->writtenIssued, outer.stateWritten);
          EXPECT_EQ(first->squareTouches, 0u);
        }
}

TEST(TrafficModel, KnownNumbers) {
  AttentionShape s{.seqQ = 1024, .seqKv = 1024, .depth = 64, .depthV = 64, .lse = false};
  const auto naive = naiveTraffic(s, DType::F32);
  ASSERT_TRUE(naive);
  EXPECT_EQ(naive->squareTouches, 4u << 20);
  EXPECT_EQ(naive->once(), (4u << 20) * 4 + 4u * 1024 * 64 * 4);
  const auto tiled = queryOuterTraffic(s, {128, 128, {}});
  EXPECT_EQ(tiled->once(), 4u * 1024 * 64 * 4);
  EXPECT_EQ(tiled->issued(), 2u * 1024 * 64 * 4 + 8 * 2u * 1024 * 64 * 4);
  EXPECT_EQ(tiled->visitedTiles, 64u);
  const auto causal = queryOuterTraffic(s, {128, 128, causalKeys(false)});
  EXPECT_EQ(causal->visitedTiles, 36u);
  EXPECT_EQ(causal->allTiles, 64u);
}

TEST(TrafficModel, NaiveGrowsQuadraticallyAndTheOthersLinearly) {
  AttentionShape s{.headsQ = 8, .headsKv = 8};
  uint64_t naive[2], once[2];
  for (int n = 0; n < 2; ++n) {
    s.seqQ = s.seqKv = 2048 << n;
    naive[n] = naiveTraffic(s, DType::F32)->once();
    once[n] = queryOuterTraffic(s, {})->once();
  }
  EXPECT_EQ(once[1], 2 * once[0]);
  EXPECT_GT(naive[1], 3.9 * static_cast<double>(naive[0]));
}

TEST(TrafficModel, GroupedHeadsAreReadOnceEach) {
  const auto t = queryOuterTraffic(shape(64, 64), {64, 64, {}});
  EXPECT_EQ(t->find("k")->readOnce * 2, t->find("k")->readIssued);
}

TEST(TrafficModel, Table) {
  const auto table = trafficTable({}, {}, defaultTrafficLengths(), DType::F32);
  ASSERT_TRUE(table);
  EXPECT_EQ(std::count(table->begin(), table->end(), '\n'), 8);
  EXPECT_NE(table->find("4096"), std::string::npos);
  EXPECT_NE(table->find("67,108,864"), std::string::npos) << *table;
  EXPECT_NE(queryOuterTraffic({}, {})->table().find("total"), std::string::npos);
}

TEST(TrafficModel, EmptyShapesMoveNothing) {
  const auto t = queryOuterTraffic(shape(0, 64), {});
  ASSERT_TRUE(t);
  EXPECT_EQ(t->issued(), 0u);
  AttentionShape none = shape(64, 0);
  EXPECT_EQ(queryOuterTraffic(none, {})->find("k")->readIssued, 0u);
}

TEST(TrafficModel, ErrorsSayWhatIsWrong) {
  AttentionShape s;
  s.headsQ = 3;
  s.headsKv = 2;
  EXPECT_NE(naiveTraffic(s, DType::F32).message().find("multiple of key/value heads, but got 3 and 2"),
            std::string::npos);
  s = {.batch = 1 << 20, .headsQ = 1 << 20, .headsKv = 1, .seqQ = 1 << 30, .seqKv = 1 << 30};
  EXPECT_NE(naiveTraffic(s, DType::F32).message().find("overflow"), std::string::npos);
  EXPECT_NE(queryOuterTraffic({}, {0, 4, {}}).message().find("tile sizes"), std::string::npos);
  s = {};
  s.seqQ = -1;
  EXPECT_NE(queryOuterTraffic(s, {}).message().find("but got -1"), std::string::npos);
}

} // namespace
