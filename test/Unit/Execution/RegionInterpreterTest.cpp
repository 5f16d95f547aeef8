// The scalar interpreter against C++ formulas, and its errors.
#include "fa/Execution/Check.h"
#include "fa/Execution/Program.h"
#include <cmath>
#include <gtest/gtest.h>
#include <thread>

using namespace fa;
using namespace fa::execution;

namespace {
/// A program whose attention has the given regions, with captured tensors i32 %len [2], f32 %bias [4, 6], and scalars
/// index %n, f32 %x.
class Regions {
public:
  explicit Regions(const std::string &regions, const std::string &before = "") {
    const std::string text =
        "#map = affine_map<(d0, d1)[s0] -> (d0 * 2 + d1 mod 3 - s0 floordiv 2 + d1 ceildiv 4)>\n"
        "func.func @f(%q: memref<2x2x4x1xf32>, %k: memref<2x2x6x1xf32>, %o: memref<2x2x4x1xf32>,\n"
        " %len: memref<2xi32>, %bias: memref<4x6xf32>, %n: index, %x: f32) {\n" +
        before +
        "  fa.attention ins(%q, %k, %k : memref<2x2x4x1xf32>, memref<2x2x6x1xf32>, memref<2x2x6x1xf32>)\n"
        "    outs(%o : memref<2x2x4x1xf32>) " +
        regions + "\n  return\n}\n";
    Expected<Program> parsed = Program::fromText(text, "test.mlir");
    EXPECT_TRUE(parsed) << parsed.message();
    program.emplace(std::move(*parsed));
    auto function = program->function();
    values.bind(function.getArgument(3), {DType::I32, reinterpret_cast<uintptr_t>(lengths), 0, {2}, {1}});
    values.bind(function.getArgument(4), {DType::F32, reinterpret_cast<uintptr_t>(bias), 0, {4, 6}, {6, 1}});
    values.bind(function.getArgument(5), 5.0);
    values.bind(function.getArgument(6), 0.25);
    for (int n = 0; n < 24; ++n)
      bias[n] = static_cast<float>(n) / 8;
  }

  Expected<ScalarCode> score() { return compileRegion(program->attention().getScore(), values); }
  Expected<ScalarCode> mask() { return compileRegion(program->attention().getMask(), values); }

  std::optional<Program> program;
  HostValues values;
  int32_t lengths[2] = {3, 5};
  float bias[24];
};

/// Compares a score region with a formula over all indices.
template <typename Fn> void expectScore(const std::string &body, Fn formula, const std::string &before = "") {
  Regions regions("score (%s: f32, %b: index, %h: index, %i: index, %j: index) {\n" + body + "}", before);
  Expected<ScalarCode> code = regions.score();
  ASSERT_TRUE(code) << code.message();
  RegionFunction function(std::move(*code));
  for (int64_t b = 0; b < 2; ++b)
    for (int64_t h = 0; h < 2; ++h)
      for (int64_t i = 0; i < 4; ++i)
        for (int64_t j = 0; j < 6; ++j)
          for (double s : {-1.5, 0.0, 0.75}) {
            const double expected = formula(regions, s, b, h, i, j), actual = function.score(s, b, h, i, j);
            ASSERT_NEAR(actual, expected, 1e-14 + 1e-14 * std::abs(expected)) << b << h << i << j << " " << s << body;
          }
  EXPECT_TRUE(function.status());
}

template <typename Fn> void expectMask(const std::string &body, Fn formula, const std::string &before = "") {
  Regions regions("mask (%b: index, %h: index, %i: index, %j: index) {\n" + body + "}", before);
  Expected<ScalarCode> code = regions.mask();
  ASSERT_TRUE(code) << code.message();
  RegionFunction function(std::move(*code));
  for (int64_t b = 0; b < 2; ++b)
    for (int64_t h = 0; h < 2; ++h)
      for (int64_t i = 0; i < 4; ++i)
        for (int64_t j = 0; j < 6; ++j)
          ASSERT_EQ(function.visible(b, h, i, j), formula(regions, b, h, i, j)) << b << h << i << j << body;
  EXPECT_TRUE(function.status());
}
} // namespace

TEST(RegionInterpreter, FloatingPointIsDouble) {
  expectScore(R"(
    %cap = arith.constant 30.0 : f32
    %r = arith.divf %s, %cap : f32
    %t = math.tanh %r : f32
    %u = arith.mulf %t, %cap : f32
    %e = math.exp2 %u : f32
    %f = math.fma %e, %x, %s : f32
    fa.yield %f : f32)",
              [](auto &, double s, int64_t, int64_t, int64_t, int64_t) {
                return std::exp2(30 * std::tanh(s / 30)) * 0.25 + s;
              });
}

TEST(RegionInterpreter, ConversionsAndRounding) {
  expectScore(R"(
    %d = arith.subi %i, %j : index
    %d32 = arith.index_cast %d : index to i32
    %a = math.absi %d32 : i32
    %f = arith.sitofp %a : i32 to f32
    %tenth = arith.constant 0.1 : f32
    %p = arith.mulf %f, %tenth : f32
    %h16 = arith.truncf %p : f32 to bf16
    %back = arith.extf %h16 : bf16 to f32
    %whole = arith.fptosi %s : f32 to i32
    %w = arith.sitofp %whole : i32 to f32
    %sum = arith.addf %back, %w : f32
    fa.yield %sum : f32)",
              [](auto &, double s, int64_t, int64_t, int64_t i, int64_t j) {
                const double tenth = 0.1f;
                return fromBF16(toBF16(static_cast<double>(std::abs(i - j)) * tenth)) + std::trunc(s);
              });
}

TEST(RegionInterpreter, CapturedTensorsAndHostValues) {
  expectScore(
      R"(
    %v = memref.load %bias[%i, %j] : memref<4x6xf32>
    %t = memref.load %turned[%j, %i] : memref<6x4xf32, strided<[1, 6]>>
    %sum = arith.addf %v, %t : f32
    %with = arith.addf %sum, %twice : f32
    fa.yield %with : f32)",
      [](Regions &r, double, int64_t, int64_t, int64_t i, int64_t j) { return 2.0 * r.bias[i * 6 + j] + 0.5; },
      "%turned = memref.transpose %bias (a, b) -> (b, a) : memref<4x6xf32> to memref<6x4xf32, strided<[1, 6]>>\n"
      "%twice = arith.addf %x, %x : f32\n");
}

TEST(RegionInterpreter, ViewsOfCaptures) {
  expectScore(
      R"(
    %c2 = arith.constant 2 : index
    %jj = arith.remui %j, %c2 : index
    %v = memref.load %part[%i, %jj] : memref<4x2xf32, strided<[6, 2], offset: 1>>
    fa.yield %v : f32)",
      [](Regions &r, double, int64_t, int64_t, int64_t i, int64_t j) { return r.bias[i * 6 + 1 + 2 * (j % 2)]; },
      "%part = memref.subview %bias[0, 1] [4, 2] [1, 2] : memref<4x6xf32> to memref<4x2xf32, strided<[6, 2], offset: "
      "1>>\n");
}

TEST(RegionInterpreter, IntegersWrapAtTheirWidth) {
  expectMask(R"(
    %i8 = arith.index_cast %i : index to i8
    %big = arith.constant 100 : i8
    %p = arith.muli %i8, %big : i8
    %zero = arith.constant 0 : i8
    %neg = arith.cmpi slt, %p, %zero : i8
    %c127 = arith.constant 127 : i8
    %above = arith.cmpi ugt, %p, %c127 : i8
    %one = arith.constant true
    %same = arith.cmpi eq, %neg, %above : i1
    %both = arith.andi %neg, %same : i1
    %result = arith.xori %both, %one : i1
    fa.yield %result : i1)",
             [](auto &, int64_t, int64_t, int64_t i, int64_t) { return static_cast<int8_t>(i * 100) >= 0; });
}

TEST(RegionInterpreter, DivisionsRoundAsTheirNamesSay) {
  expectMask(R"(
    %c3 = arith.constant 3 : index
    %c1 = arith.constant 1 : index
    %d = arith.subi %i, %j : index
    %f = arith.floordivsi %d, %c3 : index
    %c = arith.ceildivsi %d, %c3 : index
    %t = arith.divsi %d, %c3 : index
    %r = arith.remsi %d, %c3 : index
    %ft = arith.addi %f, %t : index
    %cr = arith.addi %c, %r : index
    %sum = arith.addi %ft, %cr : index
    %bit = arith.andi %sum, %c1 : index
    %keep = arith.cmpi eq, %bit, %c1 : index
    fa.yield %keep : i1)",
             [](auto &, int64_t, int64_t, int64_t i, int64_t j) {
               const double d = static_cast<double>(i - j);
               const auto sum = static_cast<int64_t>(std::floor(d / 3) + std::ceil(d / 3)) + (i - j) / 3 + (i - j) % 3;
               return (sum & 1) == 1;
             });
}

TEST(RegionInterpreter, AffineMaps) {
  expectMask(R"(
    %a = affine.apply #map(%i, %j)[%n]
    %m = affine.min affine_map<(d0, d1) -> (d0, d1 + 1)>(%a, %j)
    %c2 = arith.constant 2 : index
    %keep = arith.cmpi sgt, %m, %c2 : index
    fa.yield %keep : i1)",
             [](auto &, int64_t, int64_t, int64_t i, int64_t j) {
               return std::min(i * 2 + j % 3 - 2 + (j + 3) / 4, j + 1) > 2;
             });
}

TEST(RegionInterpreter, BranchesGuardLoads) {
  // The load in the branch would be out of bounds where the condition is false.
  expectScore(
      R"(
    %c2 = arith.constant 2 : index
    %shifted = arith.subi %i, %c2 : index
    %zero = arith.constant 0 : index
    %inside = arith.cmpi sge, %shifted, %zero : index
    %v = scf.if %inside -> (f32) {
      %near = arith.cmpi slt, %j, %c2 : index
      %w = scf.if %near -> (f32) {
        scf.yield %x : f32
      } else {
        %l = memref.load %bias[%shifted, %j] : memref<4x6xf32>
        scf.yield %l : f32
      }
      scf.yield %w : f32
    } else {
      scf.yield %outside : f32
    }
    %again = arith.addf %v, %outside : f32
    fa.yield %again : f32)",
      [](Regions &r, double, int64_t, int64_t, int64_t i, int64_t j) {
        return (i < 2 ? 1.25 : j < 2 ? 0.25 : r.bias[(i - 2) * 6 + j]) + 1.25;
      },
      "%one = arith.constant 1.0 : f32\n%outside = arith.addf %one, %x : f32\n");
}

TEST(RegionInterpreter, LengthsPerBatch) {
  expectMask(R"(
    %l = memref.load %len[%b] : memref<2xi32>
    %li = arith.index_cast %l : i32 to index
    %keep = arith.cmpi slt, %j, %li : index
    fa.yield %keep : i1)",
             [](Regions &r, int64_t b, int64_t, int64_t, int64_t j) { return j < r.lengths[b]; });
}

TEST(RegionInterpreter, ReportsLoadsOutOfBounds) {
  Regions regions(R"(score (%s: f32, %b: index, %h: index, %i: index, %j: index) {
    %v = memref.load %bias[%j, %i] : memref<4x6xf32>
    fa.yield %v : f32 })");
  RegionFunction function(std::move(*regions.score()));
  function.score(0, 0, 0, 1, 3);
  EXPECT_TRUE(function.status());
  EXPECT_EQ(function.score(0, 0, 0, 1, 4), 0);
  EXPECT_NE(
      function.status().message().find("expected index 0 of a load between 0 and 3, but got 4 for query 1 and key 4"),
      std::string::npos)
      << function.status().message();
}

TEST(RegionInterpreter, ReportsDivisionByZero) {
  Regions regions(R"(mask (%b: index, %h: index, %i: index, %j: index) {
    %r = arith.remsi %i, %j : index
    %keep = arith.cmpi eq, %r, %i : index
    fa.yield %keep : i1 })");
  RegionFunction function(std::move(*regions.mask()));
  function.visible(0, 0, 1, 0);
  EXPECT_NE(function.status().message().find("divisor other than 0"), std::string::npos);
}

TEST(RegionInterpreter, NamesOperationsItDoesNotKnow) {
  Regions regions(R"(score (%s: f32, %b: index, %h: index, %i: index, %j: index) {
    %v = vector.broadcast %s : f32 to vector<2xf32>
    %w = vector.extract %v[0] : f32 from vector<2xf32>
    fa.yield %w : f32 })");
  Expected<ScalarCode> code = regions.score();
  ASSERT_FALSE(code);
  EXPECT_NE(code.message().find("'vector.broadcast'"), std::string::npos) << code.message();
  EXPECT_NE(code.message().find("test.mlir:6:"), std::string::npos) << code.message();
}

TEST(RegionInterpreter, SeveralThreadsAtOnce) {
  Regions regions(R"(mask (%b: index, %h: index, %i: index, %j: index) {
    %l = memref.load %len[%b] : memref<2xi32>
    %li = arith.index_cast %l : i32 to index
    %sum = arith.addi %i, %j : index
    %keep = arith.cmpi slt, %sum, %li : index
    fa.yield %keep : i1 })");
  RegionFunction function(std::move(*regions.mask()));
  std::vector<std::thread> threads;
  std::vector<int> wrong(4, 0);
  for (size_t t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int n = 0; n < 20000; ++n)
        wrong[t] += function.visible(n & 1, 0, n % 4, n % 6) != (n % 4 + n % 6 < (n & 1 ? 5 : 3));
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(wrong, std::vector<int>(4, 0));
}
