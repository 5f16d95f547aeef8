// Tiles that compiled loops visit, against a count over all pairs (fault 50): no visible pair is skipped, no tile
// without a visible pair is visited, and a tile runs without masking exactly when nothing in it is hidden.
#include "Experiments.h"
#include "FullSweep.h"
#include "fa/Execution/Check.h"

using namespace fa;
using namespace fa::execution;

namespace {
TileCounts expected(const reference::Problem &problem, int64_t tileQ, int64_t tileKv) {
  TileCounts counts;
  for (int64_t i0 = 0; i0 < problem.queries(); i0 += tileQ)
    for (int64_t j0 = 0; j0 < problem.keys(); j0 += tileKv) {
      int64_t seen = 0, pairs = 0;
      for (int64_t i = i0; i < std::min(i0 + tileQ, problem.queries()); ++i)
        for (int64_t j = j0; j < j0 + tileKv; ++j) {
          seen += j < problem.keys() && (!problem.visible || problem.visible(0, 0, i, j));
          ++pairs;
        }
      ++(seen == 0 ? counts.skipped : seen == pairs ? counts.full : counts.masked);
    }
  return counts;
}

using Lengths = std::vector<std::pair<int64_t, int64_t>>;

/// Counts of a kernel whose lengths are open, for pairs of lengths.
void expectCounts(const AttentionSpec &spec, const CompileOptions &options, int64_t tileQ, int64_t tileKv,
                  const Lengths &lengths) {
  test::Compiled compiled = test::compile(spec, options);
  ASSERT_TRUE(compiled.kernel);
  for (auto [seqQ, seqKv] : lengths) {
    RunOptions run;
    run.shapes = {{"q", {1, 1, seqQ, spec.depth}}, {"k", {1, 1, seqKv, spec.depth}}};
    Expected<Tensors> tensors = prepareTensors(*compiled.program, run);
    ASSERT_TRUE(tensors) << tensors.message();
    Expected<runtime::Bindings> bindings = bindArguments(*compiled.program, *tensors, run);
    Expected<AttentionProblem> problem = AttentionProblem::create(*compiled.program, *bindings);
    ASSERT_TRUE(problem) << problem.message();
    Expected<std::optional<TileCounts>> counts = compiled.kernel->countTiles(*bindings);
    ASSERT_TRUE(counts) << counts.message();
    ASSERT_TRUE(*counts);
    const TileCounts wanted = expected(problem->problem(), tileQ, tileKv);
    const std::string what =
        spec.describe() + " " + options.order + " " + std::to_string(seqQ) + "x" + std::to_string(seqKv);
    // Key tiles outside are not peeled: all of their steps mask.
    if (options.order != "key_outer")
      EXPECT_EQ((*counts)->full, wanted.full) << what;
    EXPECT_EQ((*counts)->full + (*counts)->masked, wanted.full + wanted.masked) << what;
    EXPECT_EQ((*counts)->skipped, wanted.skipped) << what;
  }
}

void expectCounts(const AttentionSpec &spec, const std::string &order) {
  CompileOptions options;
  options.lowering = "loops", options.tileQ = 8, options.tileKv = 4, options.order = order, options.census = true;
  expectCounts(spec, options, 8, 4, {{24, 24}, {7, 30}, {30, 7}, {1, 17}, {33, 35}});
}

AttentionSpec base() {
  AttentionSpec spec;
  spec.depth = spec.depthV = 4, spec.dynamicLengths = true;
  return spec;
}
} // namespace

TEST(TileCensus, Causal) {
  for (std::optional<Corner> corner :
       {std::optional<Corner>(), std::optional(Corner::TopLeft), std::optional(Corner::BottomRight)}) {
    AttentionSpec spec = base();
    spec.causal = corner;
    expectCounts(spec, "query_outer");
  }
}

TEST(TileCensus, Windows) {
  for (Corner corner : {Corner::TopLeft, Corner::BottomRight})
    for (std::optional<int64_t> left : {std::optional<int64_t>(), std::optional<int64_t>(0), std::optional<int64_t>(9)})
      for (std::optional<int64_t> right :
           {std::optional<int64_t>(), std::optional<int64_t>(0), std::optional<int64_t>(5)}) {
        if (!test::fullSweep() && (left.value_or(1) + right.value_or(3)) % 2)
          continue;
        AttentionSpec spec = base();
        spec.window = Window{left, right, corner};
        expectCounts(spec, "query_outer");
      }
}

TEST(TileCensus, KeyTilesOutside) {
  AttentionSpec spec = base();
  spec.causal = Corner::BottomRight;
  expectCounts(spec, "key_outer");
}

TEST(TileCensus, KernelsOfTheGpu) {
  for (const char *schedule : {"#fa.schedule<tile_q = 128, tile_kv = 64, target = #fa.hopper>",
                               "#fa.schedule<tile_q = 64, tile_kv = 32, target = #fa.hopper<warpgroups = 1, overlap = "
                               "false, persistent = true>>"}) {
    const bool large = std::string(schedule).find("128") != std::string::npos;
    CompileOptions options;
    options.device = "emulator", options.schedule = schedule, options.census = true;
    for (std::optional<Corner> corner : {std::optional<Corner>(), std::optional(Corner::BottomRight)}) {
      AttentionSpec spec = base();
      spec.dtype = DType::BF16, spec.depth = spec.depthV = 64, spec.causal = corner;
      if (corner && !large)
        spec.window = Window{40, std::nullopt, Corner::BottomRight};
      expectCounts(spec, options, large ? 128 : 64, large ? 64 : 32, {{256, 256}, {300, 333}, {1, 65}, {200, 60}});
    }
  }
}
