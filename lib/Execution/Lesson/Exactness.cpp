// Exactness: tiling, tile sizes and the order of loops do not change what is computed.
#include "Lesson.h"
#include <algorithm>

namespace fa::execution::lesson {
namespace {
/// Near machine precision for N(0, 1) inputs in float64.
constexpr double precise = 1e-12;

AttentionSpec inDouble(int64_t seqQ, int64_t seqKv, int64_t depth, bool causal) {
  AttentionSpec spec;
  spec.dtype = DType::F64;
  spec.seqQ = seqQ;
  spec.seqKv = seqKv;
  spec.depth = spec.depthV = depth;
  if (causal)
    spec.causal = Corner::BottomRight;
  return spec;
}

CompileOptions tiled(const Lesson &lesson, int64_t tileQ, int64_t tileKv, const std::string &order = "") {
  CompileOptions options = lesson.options;
  options.tileQ = tileQ;
  options.tileKv = tileKv;
  options.order = order;
  return options;
}

CompileOptions naive(const Lesson &lesson) {
  CompileOptions options = lesson.options;
  options.lowering = "naive";
  return options;
}
} // namespace

Expected<bool> tiledEqualsNaive(Lesson &lesson) {
  struct Shape {
    int64_t seqQ, seqKv, depth, heads, kvHeads;
  };
  const Shape shapes[] = {{1, 1, 8, 1, 1},     {16, 16, 16, 1, 1},   {33, 65, 3, 2, 1},  {64, 64, 64, 2, 2},
                          {100, 40, 80, 1, 1}, {128, 128, 32, 4, 2}, {1, 300, 64, 2, 1}, {257, 257, 40, 1, 1}};
  lesson.line("float64, inputs N(0, 1), tiles of 16 queries x 32 keys; largest difference of any element");
  lesson.line("%9s %7s %6s %6s %8s %16s %20s", "queries", "keys", "depth", "heads", "causal", "tiled - naive",
              "tiled - reference");
  double worst = 0;
  for (const Shape &shape : shapes)
    for (bool causal : {false, true}) {
      AttentionSpec spec = inDouble(shape.seqQ, shape.seqKv, shape.depth, causal);
      spec.heads = shape.heads;
      spec.kvHeads = shape.kvHeads;
      Expected<std::unique_ptr<Trial>> flash = Trial::create(spec.toIR(), tiled(lesson, 16, 32));
      if (!flash)
        return flash.error();
      Expected<std::vector<double>> tiles = (*flash)->run();
      if (!tiles)
        return tiles.error();
      Expected<std::vector<double>> exact = (*flash)->reference();
      if (!exact)
        return exact.error();
      Expected<std::vector<double>> scores = execute(spec, naive(lesson));
      if (!scores)
        return scores.error();
      const double toNaive = largestDifference(*tiles, *scores), toReference = largestDifference(*tiles, *exact);
      lesson.line("%9ld %7ld %6ld %3ld/%-2ld %8s %16.1e %20.1e", shape.seqQ, shape.seqKv, shape.depth, shape.heads,
                  shape.kvHeads, causal ? "yes" : "no", toNaive, toReference);
      worst = std::max({worst, toNaive, toReference});
    }
  return lesson.verdict(worst <= precise, "all differences are at most 1e-12");
}

Expected<bool> tileSizesDoNotMatter(Lesson &lesson) {
  const AttentionSpec spec = inDouble(200, 200, 32, true);
  Expected<std::vector<double>> one = execute(spec, tiled(lesson, 200, 200));
  if (!one)
    return one.error();
  lesson.line("float64, causal, 200 x 200, depth 32; largest difference to one single tile");
  double worst = 0;
  for (auto [tileQ, tileKv] :
       {std::pair(1, 1), std::pair(7, 13), std::pair(16, 64), std::pair(64, 16), std::pair(128, 128)}) {
    Expected<std::vector<double>> result = execute(spec, tiled(lesson, tileQ, tileKv));
    if (!result)
      return result.error();
    const double difference = largestDifference(*result, *one);
    lesson.line("tiles of %3d queries x %3d keys %12.1e", tileQ, tileKv, difference);
    worst = std::max(worst, difference);
  }
  return lesson.verdict(worst <= precise, "all differences are at most 1e-12");
}

Expected<bool> loopOrdersAgree(Lesson &lesson) {
  lesson.line("float64, 200 x 200, depth 32, tiles of 32 x 64; key tiles outside (states go through memory) against");
  lesson.line("query tiles outside (one state at a time); largest difference of any element");
  double worst = 0;
  for (bool causal : {false, true}) {
    const AttentionSpec spec = inDouble(200, 200, 32, causal);
    Expected<std::vector<double>> first = execute(spec, tiled(lesson, 32, 64, "key_outer"));
    if (!first)
      return first.error();
    Expected<std::vector<double>> second = execute(spec, tiled(lesson, 32, 64, "query_outer"));
    if (!second)
      return second.error();
    const double difference = largestDifference(*first, *second);
    lesson.line("%-8s %12.1e", causal ? "causal" : "full", difference);
    worst = std::max(worst, difference);
  }
  return lesson.verdict(worst <= precise,
                        "each row meets the same tiles in the same order; differences are at most 1e-12");
}

} // namespace fa::execution::lesson
