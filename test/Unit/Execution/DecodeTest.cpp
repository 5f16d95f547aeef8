// Few queries against keys: depth on vector lanes, groups folded into one tile, keys split over blocks. Executed
// kernels against the reference.
#include "Experiments.h"
#include "FullSweep.h"

using namespace fa;
using namespace fa::execution;
using fa::test::expectPass;

namespace {
CompileOptions vectorCode() {
  CompileOptions options;
  options.lowering = "vector";
  return options;
}

AttentionSpec decoding(int64_t queries, int64_t keys) {
  AttentionSpec spec;
  spec.seqQ = queries, spec.seqKv = keys, spec.depth = 24, spec.depthV = 40;
  return spec;
}
} // namespace

TEST(Decode, LengthsGroupsAndMasks) {
  int n = 0;
  for (int64_t queries : {1, 2, 3, 5, 8, 15, 16})
    for (int64_t keys : {1, 7, 63, 64, 65, 1000, 2049})
      for (int64_t group : {1, 4, 8})
        for (int mask : {0, 1, 2}) {
          if (!test::fullSweep() && n++ % 23)
            continue;
          AttentionSpec spec = decoding(queries, keys);
          spec.heads = 8, spec.kvHeads = 8 / group;
          if (mask == 1)
            spec.causal = Corner::BottomRight;
          if (mask == 2)
            spec.window = Window{100, 3, Corner::BottomRight};
          expectPass(spec, vectorCode());
        }
}

TEST(Decode, TypesLayoutsAndDepths) {
  int n = 0;
  for (DType dtype : {DType::F64, DType::F32, DType::F16, DType::BF16})
    for (Layout layout : {Layout::Bhsd, Layout::Bshd, Layout::Rows, Layout::Strided})
      for (auto [depth, depthV] : {std::pair<int64_t, int64_t>(64, 64), {128, 128}, {1, 3}, {72, 88}, {40, 264}}) {
        if (!test::fullSweep() && n++ % 5)
          continue;
        AttentionSpec spec = decoding(n % 2 ? 1 : 6, 77);
        spec.dtype = dtype, spec.layout = layout, spec.depth = depth, spec.depthV = depthV;
        spec.batch = 2, spec.heads = 6, spec.kvHeads = 2;
        expectPass(spec, vectorCode());
      }
}

/// Masked values and values past the end are select-ed away, and a bias may hide anything.
TEST(Decode, ScoreFunctions) {
  for (DType dtype : {DType::F32, DType::BF16})
    for (int64_t queries : {1, 4}) {
      AttentionSpec spec = decoding(queries, 200);
      spec.dtype = dtype, spec.heads = 4, spec.kvHeads = 1;
      spec.softcap = 5.0, spec.bias = {4, queries, 200}, spec.alibi = Corner::BottomRight;
      expectPass(spec, vectorCode());
    }
}

/// Every part sees some of the keys, or none.
TEST(Decode, SplitKeys) {
  for (const char *lowering : {"vector", "loops"})
    for (int64_t parts : {2, 3, 8})
      for (bool masked : {false, true}) {
        AttentionSpec spec = decoding(3, 400);
        spec.heads = 4, spec.kvHeads = 2;
        if (masked)
          spec.window = Window{60, 0, Corner::BottomRight};
        CompileOptions options;
        options.lowering = lowering;
        options.schedule = "#fa.schedule<tile_q = 6, tile_kv = 64, split_kv = " + std::to_string(parts) +
                           ", target = #fa.cpu<vector_bits = 512, lanes = depth>>";
        expectPass(spec, options);
      }
}

/// Long keys are split by default; lengths that the kernel learns when it runs are too.
TEST(Decode, SplitByDefault) {
  AttentionSpec spec = decoding(1, 4097);
  spec.heads = 8, spec.kvHeads = 2, spec.dtype = DType::BF16;
  test::Compiled compiled = test::compile(spec, vectorCode());
  ASSERT_TRUE(compiled.kernel);
  EXPECT_NE(compiled.kernel->report().schedule.find("split_kv = 4"), std::string::npos)
      << compiled.kernel->report().schedule;
  expectPass(compiled, {}, spec.describe());
}

/// The parts follow from the shape, so their number, and every bit of the result, is the same on any number of threads.
TEST(Decode, ResultsDoNotDependOnThreads) {
  AttentionSpec spec = decoding(1, 5000);
  spec.heads = 8, spec.kvHeads = 2;
  CompileOptions one = vectorCode(), many = vectorCode();
  one.threads = 1, many.threads = 5;
  RunOptions run;
  run.check = false;
  const std::vector<double> first = test::outputOf(test::compile(spec, one), "o", run);
  EXPECT_FALSE(first.empty());
  EXPECT_EQ(first, test::outputOf(test::compile(spec, many), "o", run));
}

/// Weights of 2.2e-39, in every part: flushed on the threads of the pool as on the one that calls it.
TEST(Decode, SubnormalWeightsDoNotDependOnThreads) {
  AttentionSpec spec = decoding(1, 4097);
  spec.heads = 8, spec.kvHeads = 2, spec.depth = 1, spec.scale = 1;
  RunOptions run;
  run.check = false;
  for (const char *fill : {"q=ones", "k=value:-89", "v=ones"})
    run.fills[std::string(1, fill[0])] = *Fill::parse(fill + 2);
  for (int64_t key = 0; key < spec.seqKv; key += 64)
    for (const char *tensor : {"k", "v"})
      run.elements.emplace_back(tensor, "[*,*," + std::to_string(key) + ",*]=0");
  CompileOptions one = vectorCode(), many = vectorCode();
  one.threads = 1, many.threads = 5;
  const std::vector<double> first = test::outputOf(test::compile(spec, one), "o", run);
  EXPECT_EQ(first, std::vector<double>(first.size(), 0));
  EXPECT_EQ(first, test::outputOf(test::compile(spec, many), "o", run));
}
