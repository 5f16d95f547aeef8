// Executed kernels against the reference over awkward shapes: lengths around tile sizes, depth 1 and odd, grouped
// heads, every dtype, both layouts, masks, score functions, both loop orders and the unfused form.
#include "Experiments.h"
#include "FullSweep.h"

using namespace fa;
using namespace fa::execution;
using fa::test::expectPass;

namespace {
constexpr int64_t lengths[] = {1, 63, 64, 65, 127, 128, 129, 257};

CompileOptions tiles(int64_t q, int64_t kv, const std::string &order = "") {
  CompileOptions options;
  options.lowering = "loops"; // compiles fastest
  options.tileQ = q, options.tileKv = kv, options.order = order;
  return options;
}
} // namespace

/// One kernel for all lengths.
TEST(Grid, LengthsWithoutRecompiling) {
  AttentionSpec spec;
  spec.depth = spec.depthV = 16;
  spec.dynamicLengths = true;
  for (std::optional<Corner> causal :
       {std::optional<Corner>(), std::optional(Corner::TopLeft), std::optional(Corner::BottomRight)}) {
    spec.causal = causal;
    test::Compiled compiled = test::compile(spec, tiles(64, 64));
    for (int64_t seqQ : lengths)
      for (int64_t seqKv : lengths) {
        if (!test::fullSweep() && (seqQ + seqKv) % 3 == 0)
          continue;
        RunOptions run;
        run.shapes = {{"q", {1, 1, seqQ, 16}}, {"k", {1, 1, seqKv, 16}}};
        expectPass(compiled, run, spec.describe() + " " + std::to_string(seqQ) + "x" + std::to_string(seqKv));
      }
  }
}

TEST(Grid, StaticLengths) {
  for (int64_t length : lengths) {
    AttentionSpec spec;
    spec.seqQ = length, spec.seqKv = length, spec.depth = 8, spec.depthV = 8;
    spec.causal = Corner::BottomRight;
    expectPass(spec, tiles(128, 128));
  }
}

/// One lowering for all dtypes is enough for most tests; this one takes what `auto` picks.
TEST(Grid, VectorCode) {
  for (DType dtype : {DType::F64, DType::F32, DType::F16, DType::BF16}) {
    AttentionSpec spec;
    spec.dtype = dtype, spec.heads = 4, spec.kvHeads = 2, spec.depth = 40, spec.depthV = 24, spec.dynamicLengths = true;
    spec.causal = Corner::BottomRight;
    CompileOptions options;
    options.lowering = "vector";
    test::Compiled compiled = test::compile(spec, options);
    for (auto [seqQ, seqKv] : {std::pair<int64_t, int64_t>(1, 300), {63, 129}, {129, 65}, {257, 257}, {0, 5}, {5, 0}}) {
      RunOptions run;
      run.shapes = {{"q", {1, 4, seqQ, 40}}, {"k", {1, 2, seqKv, 40}}};
      expectPass(compiled, run, spec.describe() + " " + std::to_string(seqQ) + "x" + std::to_string(seqKv));
    }
  }
}

TEST(Grid, Depths) {
  const std::vector<int64_t> all{1, 3, 4, 8, 36, 40, 59, 72, 80, 96, 111, 128, 148, 160, 192, 224, 256, 288};
  const std::vector<int64_t> few{1, 3, 111, 288};
  for (int64_t depth : test::fullSweep() ? all : few) {
    AttentionSpec spec;
    spec.seqQ = 33, spec.seqKv = 65, spec.depth = depth, spec.depthV = depth;
    spec.causal = Corner::BottomRight;
    expectPass(spec, tiles(32, 32));
    spec.depthV = depth + 5;
    expectPass(spec, tiles(32, 32));
  }
}

TEST(Grid, DtypesLayoutsAndHeads) {
  int n = 0;
  for (DType dtype : {DType::F64, DType::F32, DType::F16, DType::BF16})
    for (Layout layout : {Layout::Bhsd, Layout::Bshd})
      for (auto [heads, kvHeads] : {std::pair<int64_t, int64_t>(4, 4), {4, 2}, {6, 1}}) {
        if (!test::fullSweep() && n++ % 3)
          continue;
        AttentionSpec spec;
        spec.dtype = dtype, spec.layout = layout, spec.heads = heads, spec.kvHeads = kvHeads;
        spec.batch = 2, spec.seqQ = 37, spec.seqKv = 70, spec.depth = 24, spec.depthV = 16;
        spec.causal = Corner::BottomRight;
        expectPass(spec, tiles(16, 32));
      }
}

TEST(Grid, Windows) {
  const std::optional<int64_t> bounds[] = {std::nullopt, 0, 1, 5, 100};
  for (Corner corner : {Corner::TopLeft, Corner::BottomRight}) {
    AttentionSpec spec;
    spec.depth = spec.depthV = 4;
    spec.dynamicLengths = true;
    for (std::optional<int64_t> left : bounds)
      for (std::optional<int64_t> right : bounds) {
        if (!test::fullSweep() && (left.value_or(2) + right.value_or(7)) % 4 != 1)
          continue;
        spec.window = Window{left, right, corner};
        test::Compiled compiled = test::compile(spec, tiles(16, 8));
        for (auto [seqQ, seqKv] : {std::pair<int64_t, int64_t>(40, 40), {7, 50}, {50, 7}}) {
          RunOptions run;
          run.shapes = {{"q", {1, 1, seqQ, 4}}, {"k", {1, 1, seqKv, 4}}};
          expectPass(compiled, run, spec.describe() + " " + std::to_string(seqQ) + "x" + std::to_string(seqKv));
        }
      }
  }
}

TEST(Grid, ScoreFunctions) {
  for (DType dtype : {DType::F64, DType::F32, DType::F16, DType::BF16})
    for (bool dynamic : {false, true}) {
      if (!test::fullSweep() && dynamic != (dtype == DType::F32 || dtype == DType::BF16))
        continue;
      AttentionSpec spec;
      spec.dtype = dtype, spec.dynamicLengths = dynamic;
      spec.batch = 2, spec.heads = 2, spec.kvHeads = 1, spec.seqQ = 21, spec.seqKv = 43, spec.depth = 8,
      spec.depthV = 8;
      spec.softcap = 1.5, spec.alibi = Corner::BottomRight, spec.window = Window{9, 4, Corner::BottomRight};
      for (const std::vector<int64_t> &bias :
           {std::vector<int64_t>{2, 2, 21, 43}, {1, 2, 1, 43}, {21, 43}, {2, 21, 1}, {43}}) {
        spec.bias = bias;
        expectPass(spec, tiles(16, 16));
      }
    }
}

TEST(Grid, Scales) {
  for (double scale : {0.0, -0.3, 50.0}) {
    AttentionSpec spec;
    spec.seqQ = spec.seqKv = 40, spec.depth = spec.depthV = 8, spec.scale = scale, spec.causal = Corner::TopLeft;
    expectPass(spec, tiles(16, 16));
    spec.softcap = 2;
    expectPass(spec, tiles(16, 16));
  }
}

TEST(Grid, OrdersAndTheUnfusedForm) {
  for (DType dtype : {DType::F64, DType::BF16})
    for (auto [seqQ, seqKv] : {std::pair<int64_t, int64_t>(65, 33), {33, 65}}) {
      AttentionSpec spec;
      spec.dtype = dtype, spec.heads = 4, spec.kvHeads = 2, spec.seqQ = seqQ, spec.seqKv = seqKv, spec.depth = 12,
      spec.depthV = 20;
      spec.causal = Corner::BottomRight;
      expectPass(spec, tiles(16, 16, "key_outer"));
      expectPass(spec, tiles(16, 16, "query_outer"));
      CompileOptions naive;
      naive.lowering = "naive";
      expectPass(spec, naive);
    }
}

TEST(Grid, EmptyDimensions) {
  for (auto [batch, heads, seqQ, seqKv] : {std::tuple<int64_t, int64_t, int64_t, int64_t>(0, 1, 5, 5),
                                           {1, 0, 5, 5},
                                           {1, 1, 0, 5},
                                           {1, 1, 3, 0},
                                           {1, 1, 0, 0}})
    for (bool dynamic : {false, true}) {
      AttentionSpec spec;
      spec.batch = batch, spec.heads = heads, spec.kvHeads = heads, spec.seqQ = seqQ, spec.seqKv = seqKv;
      spec.dynamicLengths = dynamic;
      expectPass(spec, tiles(16, 16));
      spec.causal = Corner::BottomRight;
      expectPass(spec, tiles(16, 16));
    }
}

/// The number of threads changes no bit.
TEST(Grid, ThreadsDoNotMatter) {
  AttentionSpec spec;
  spec.batch = 2, spec.heads = 3, spec.kvHeads = 3, spec.seqQ = spec.seqKv = 70, spec.depth = spec.depthV = 16;
  spec.causal = Corner::BottomRight;
  CompileOptions one = tiles(16, 16), four = tiles(16, 16);
  one.threads = 1, four.threads = 4;
  EXPECT_EQ(test::outputOf(test::compile(spec, one), "o", {}), test::outputOf(test::compile(spec, four), "o", {}));
}
