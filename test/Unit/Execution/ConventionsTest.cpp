// Faults that users of attention kernels reported elsewhere, each as the smallest input that would show it, with the
// exact result that the conventions of the fa dialect demand. With Q = 0 all visible logits are equal, so O is the mean
// of the visible V, and V[j] = 2^j tells which keys a row saw.
#include "Experiments.h"
#include <cmath>

using namespace fa;
using namespace fa::execution;
using fa::test::outputOf;

namespace {
constexpr double infinity = std::numeric_limits<double>::infinity();

AttentionSpec probe(int64_t seqQ, int64_t seqKv, DType dtype = DType::F64) {
  AttentionSpec spec;
  spec.seqQ = seqQ, spec.seqKv = seqKv, spec.depth = 4, spec.depthV = 1, spec.dtype = dtype;
  return spec;
}

RunOptions fills(std::initializer_list<std::pair<const char *, const char *>> pairs) {
  RunOptions options;
  for (const auto &[name, fill] : pairs)
    options.fills[name] = *Fill::parse(fill);
  return options;
}

CompileOptions smallTiles() {
  CompileOptions options;
  options.tileQ = 2, options.tileKv = 2;
  options.lowering = "loops"; // compiles fastest
  return options;
}

void expectNear(const std::vector<double> &actual, const std::vector<double> &expected, double tolerance = 1e-6) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t n = 0; n < actual.size(); ++n) {
    if (std::isfinite(expected[n]))
      EXPECT_NEAR(actual[n], expected[n], tolerance * std::max(1.0, std::abs(expected[n]))) << n;
    else
      EXPECT_EQ(actual[n], expected[n]) << n;
  }
}

/// A program over q, k [1,1,Sq|Sk,4] and v, o [1,1,.,1] of f64 with the given clauses.
test::Compiled program(int64_t seqQ, int64_t seqKv, const std::string &clauses, const std::string &arguments = "") {
  const std::string n = std::to_string(seqQ), m = std::to_string(seqKv);
  const std::string q = "memref<1x1x" + n + "x4xf64>", k = "memref<1x1x" + m + "x4xf64>",
                    v = "memref<1x1x" + m + "x1xf64>";
  const std::string o = "memref<1x1x" + n + "x1xf64>", l = "memref<1x1x" + n + "xf64>";
  return test::compile(Program::fromText("func.func @f(%q: " + q + ", %k: " + k + ", %v: " + v + ", %o: " + o +
                                             ", %lse: " + l + arguments + ") {\n  fa.attention ins(%q, %k, %v : " + q +
                                             ", " + k + ", " + v + ") outs(%o, %lse : " + o + ", " + l + ") " +
                                             clauses + "\n  return\n}",
                                         "test.mlir"),
                       smallTiles());
}
} // namespace

TEST(Conventions, WholeMaskHidden) { // fault 1
  test::Compiled compiled = program(1, 4, R"(mask (%b: index, %h: index, %i: index, %j: index) {
    %f = arith.constant false
    fa.yield %f : i1 })");
  expectNear(outputOf(compiled, "o", {}), {0});
  expectNear(outputOf(compiled, "lse", {}), {-infinity});
}

TEST(Conventions, BottomRightLeavesTopRowsWithoutKeys) { // fault 2
  AttentionSpec spec = probe(5, 2);
  spec.causal = Corner::BottomRight;
  test::Compiled compiled = test::compile(spec, smallTiles());
  RunOptions run = fills({{"q", "zeros"}, {"v", "value:10"}});
  run.elements = {{"v", "[0,0,1,0]=20"}};
  expectNear(outputOf(compiled, "o", run), {0, 0, 0, 10, 15});
  expectNear(outputOf(compiled, "lse", run), {-infinity, -infinity, -infinity, 0, std::log(2)});
}

TEST(Conventions, MasksAreAnded) { // faults 4 and 15
  test::Compiled compiled = program(4, 4, R"(masks [#fa.causal<top_left>]
    mask (%b: index, %h: index, %i: index, %j: index) {
      %sum = arith.addi %i, %j : index
      %c2 = arith.constant 2 : index
      %zero = arith.constant 0 : index
      %r = arith.remui %sum, %c2 : index
      %even = arith.cmpi eq, %r, %zero : index
      fa.yield %even : i1 })");
  // Visible keys: 0; 1; 0, 2; 1, 3.
  expectNear(outputOf(compiled, "o", fills({{"q", "zeros"}, {"v", "pow2"}})), {1, 2, 2.5, 5});
}

TEST(Conventions, LargeNegativeLogitsAreNoSentinel) { // fault 5
  for (DType dtype : {DType::F64, DType::F32, DType::BF16}) {
    AttentionSpec spec = probe(1, 4, dtype);
    spec.depth = 64, spec.scale = 0.125;
    RunOptions run = fills({{"q", "value:64"}, {"k", "value:-16"}, {"v", "index:2"}});
    test::Compiled compiled = test::compile(spec, smallTiles());
    expectNear(outputOf(compiled, "o", run), {1.5});
    expectNear(outputOf(compiled, "lse", run), {-8192 + std::log(4)});
  }
}

TEST(Conventions, TheLargestLogitHasProbabilityOne) { // fault 8
  AttentionSpec spec = probe(1, 1, DType::BF16);
  spec.depth = spec.depthV = 64;
  RunOptions run = fills({{"q", "value:133120"}, {"k", "value:133120"}, {"v", "value:133120"}});
  for (double value : outputOf(test::compile(spec), "o", run))
    EXPECT_EQ(value, 133120);
}

TEST(Conventions, F16AccumulatesInF32) { // fault 9
  AttentionSpec spec = probe(1, 4096, DType::F16);
  spec.depth = 128;
  RunOptions run = fills({{"q", "value:64"}, {"k", "value:64"}, {"v", "value:60000"}});
  test::Compiled compiled = test::compile(spec, smallTiles());
  expectNear(outputOf(compiled, "o", run), {60000});
  expectNear(outputOf(compiled, "lse", run), {524288 / std::sqrt(128.0) + std::log(4096)});
}

TEST(Conventions, TailKeysTakeNoPart) { // fault 10
  AttentionSpec spec = probe(1, 65, DType::F32);
  spec.depth = 64;
  CompileOptions options;
  options.tileQ = 64, options.tileKv = 64;
  RunOptions run = fills({{"q", "ones"}, {"k", "value:-8"}, {"v", "ones"}});
  test::Compiled compiled = test::compile(spec, options);
  expectNear(outputOf(compiled, "o", run), {1});
  expectNear(outputOf(compiled, "lse", run), {-64 + std::log(65)});
}

TEST(Conventions, CausalCorners) { // fault 12
  AttentionSpec spec = probe(2, 4);
  const RunOptions run = fills({{"q", "zeros"}, {"v", "index:2"}});
  spec.causal = Corner::TopLeft;
  expectNear(outputOf(test::compile(spec, smallTiles()), "o", run), {0, 0.5});
  spec.causal = Corner::BottomRight;
  expectNear(outputOf(test::compile(spec, smallTiles()), "o", run), {1, 1.5});
}

TEST(Conventions, CacheOffsetIsThePastLength) { // fault 13: keys in a buffer of 8, 5 of them written
  test::Compiled compiled = program(2, 8, R"(mask (%b: index, %h: index, %i: index, %j: index) {
      %last = arith.addi %i, %past : index
      %keep = arith.cmpi sle, %j, %last : index
      fa.yield %keep : i1 })",
                                    ", %past: index {fa.name = \"past\"}");
  RunOptions run = fills({{"q", "zeros"}, {"v", "index:2"}});
  run.scalars["past"] = 3;
  expectNear(outputOf(compiled, "o", run), {1.5, 2});
}

TEST(Conventions, WindowsAreInclusive) { // fault 16
  AttentionSpec spec = probe(6, 6);
  spec.window = Window{2, 0, Corner::BottomRight};
  expectNear(outputOf(test::compile(spec, smallTiles()), "o", fills({{"q", "zeros"}, {"v", "pow2"}})),
             {1, 1.5, 7.0 / 3, 14.0 / 3, 28.0 / 3, 56.0 / 3});
}

TEST(Conventions, SoftcapComesBeforeTheMask) { // fault 18
  AttentionSpec spec = probe(2, 2);
  spec.softcap = 2, spec.causal = Corner::TopLeft;
  RunOptions run = fills({{"q", "zeros"}, {"v", "ones"}});
  run.elements = {{"v", "[0,0,1,0]=1000"}};
  expectNear(outputOf(test::compile(spec, smallTiles()), "o", run), {1, 500.5});
}

TEST(Conventions, SoftcapIsNotForgotten) { // fault 19
  AttentionSpec spec = probe(1, 8);
  const RunOptions run = fills({{"k", "normal:0,9"}});
  const std::vector<double> plain = outputOf(test::compile(spec), "o", run);
  spec.softcap = 2;
  EXPECT_NE(outputOf(test::compile(spec), "o", run), plain);
}

TEST(Conventions, NoKeysAtAll) { // fault 22
  AttentionSpec spec = probe(3, 0);
  test::Compiled compiled = test::compile(spec);
  expectNear(outputOf(compiled, "o", {}), {0, 0, 0});
  expectNear(outputOf(compiled, "lse", {}), {-infinity, -infinity, -infinity});
}

TEST(Conventions, ScaleUsesTheTrueDepth) { // fault 26
  AttentionSpec spec = probe(1, 1);
  spec.depth = 3;
  expectNear(outputOf(test::compile(spec), "lse", fills({{"q", "ones"}, {"k", "ones"}})), {std::sqrt(3.0)});
}

TEST(Conventions, HeadGroupsAreBlocked) { // fault 29
  AttentionSpec spec = probe(1, 2);
  spec.heads = 4, spec.kvHeads = 2;
  expectNear(outputOf(test::compile(spec), "o", fills({{"v", "index:1"}})), {0, 0, 1, 1});
}

TEST(Conventions, EachTensorHasItsOwnStrides) { // faults 30 and 31
  const std::string bhsd = "memref<1x2x3x4xf32>", bshd = "memref<1x2x3x4xf32, strided<[24, 4, 8, 1]>>";
  test::Compiled compiled =
      test::compile(Program::fromText("func.func @f(%q: " + bshd + ", %k: " + bhsd + ", %v: " + bshd + ", %o: " + bhsd +
                                          ") { fa.attention ins(%q, %k, %v : " + bshd + ", " + bhsd + ", " + bshd +
                                          ") outs(%o : " + bhsd + ") return }",
                                      "test.mlir"));
  test::expectPass(compiled, {}, "mixed layouts");
}

TEST(Conventions, ScaleZeroIsNoMask) { // fault 33
  AttentionSpec spec = probe(4, 4);
  spec.scale = 0, spec.causal = Corner::TopLeft;
  const RunOptions run = fills({{"v", "index:2"}});
  test::Compiled compiled = test::compile(spec, smallTiles());
  expectNear(outputOf(compiled, "o", run), {0, .5, 1, 1.5});
  expectNear(outputOf(compiled, "lse", run), {0, std::log(2), std::log(3), std::log(4)});
}

TEST(Conventions, NaNStaysInItsRow) { // fault 34
  AttentionSpec spec = probe(3, 5);
  RunOptions run;
  run.elements = {{"q", "[0,0,1,*]=nan"}};
  std::vector<double> values = outputOf(test::compile(spec, smallTiles()), "o", run);
  EXPECT_TRUE(std::isfinite(values[0]) && std::isnan(values[1]) && std::isfinite(values[2]));
}

TEST(Conventions, HiddenValuesDoNotMatter) { // fault 11: NaN and infinity behind the mask
  AttentionSpec spec = probe(4, 4);
  spec.causal = Corner::TopLeft;
  RunOptions run;
  run.elements = {{"v", "[0,0,3,*]=nan"}, {"k", "[0,0,3,*]=inf"}};
  std::vector<double> values = outputOf(test::compile(spec, smallTiles()), "o", run);
  EXPECT_TRUE(std::isfinite(values[0]) && std::isfinite(values[2]));
  EXPECT_TRUE(std::isnan(values[3]));
}

TEST(Conventions, DynamicScaleMayBeNaN) { // fault 34
  test::Compiled compiled = program(2, 2, "scale(%s : f64)", ", %s: f64 {fa.name = \"s\"}");
  RunOptions run;
  run.scalars["s"] = NAN;
  for (double value : outputOf(compiled, "o", run))
    EXPECT_TRUE(std::isnan(value));
  run.scalars["s"] = 0;
  expectNear(outputOf(compiled, "lse", run), {std::log(2), std::log(2)});
}

TEST(Conventions, DocumentsSeeThemselves) { // fault 39, at the length of the data
  test::Compiled compiled = program(5, 5, R"(mask (%b: index, %h: index, %i: index, %j: index) {
      %x = memref.load %doc[%i] : memref<5xi32>
      %y = memref.load %doc[%j] : memref<5xi32>
      %keep = arith.cmpi eq, %x, %y : i32
      fa.yield %keep : i1 })",
                                    ", %doc: memref<5xi32> {fa.name = \"doc\"}");
  RunOptions run = fills({{"q", "zeros"}, {"v", "index:2"}, {"doc", "zeros"}});
  run.elements = {{"doc", "[3]=1"}, {"doc", "[4]=1"}};
  expectNear(outputOf(compiled, "o", run), {1, 1, 1, 3.5, 3.5});
}

TEST(Conventions, BatchDoesNotMatter) { // fault 37: a row of a batch has the bits it has alone
  AttentionSpec one = probe(9, 9, DType::F32), three = probe(9, 9, DType::F32);
  one.causal = three.causal = Corner::TopLeft;
  three.batch = 3;
  const RunOptions run = fills({{"q", "index:-1"}, {"k", "index:2"}, {"v", "index:2"}});
  const std::vector<double> alone = outputOf(test::compile(one, smallTiles()), "o", run);
  const std::vector<double> batched = outputOf(test::compile(three, smallTiles()), "o", run);
  for (size_t n = 0; n < batched.size(); ++n)
    EXPECT_EQ(batched[n], alone[n % alone.size()]);
}
