// The portable CPU path against the float64 reference: element types, shapes, layouts, masks, scores, all forms.
#include "HostAttention.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace fa;
using namespace fa::test;

namespace {
/// What the reference is told beside the tensors: written out here, independent of the IR.
struct Expected {
  double scale = 0; ///< 0: 1/sqrt(depth)
  reference::ScoreFunction score = {};
  reference::MaskFunction visible = {};
};

void checkAllForms(const HostAttention &a, const Expected &expected) {
  HostArray q = a.query(), k = a.key(), v = a.value();
  q.fillNormal(1);
  k.fillNormal(2);
  v.fillNormal(3);
  reference::Problem problem{q.view(),       k.view(),
                             v.view(),       expected.scale != 0 ? expected.scale : 1 / std::sqrt(double(a.depth)),
                             expected.score, expected.visible};
  for (Form form : allForms) {
    Result result = run(a, form, q, k, v);
    reference::TensorView lse = result.lse.view();
    auto verdict = reference::check(problem, result.output.view(), &lse);
    ASSERT_TRUE(bool(verdict)) << verdict.message();
    EXPECT_TRUE(verdict->passed()) << a.ir(form) << verdict->report();
  }
}

TEST(CpuLoops, ElementTypes) {
  for (DType type : {DType::F64, DType::F32, DType::F16, DType::BF16}) {
    HostAttention a;
    a.type = type;
    a.seqQ = a.seqKv = 37;
    a.depth = a.depthV = 16;
    a.tileQ = 8;
    a.tileKv = 16;
    checkAllForms(a, {});
  }
}

TEST(CpuLoops, GroupedHeadsUnequalDepthsAndLengths) {
  HostAttention a;
  a.batch = 2;
  a.heads = 6;
  a.kvHeads = 2;
  a.seqQ = 5;
  a.seqKv = 19;
  a.depth = 3;
  a.depthV = 7;
  a.clauses = "masks [#fa.causal<bottom_right>]";
  checkAllForms(a, {.visible = [](int64_t, int64_t, int64_t i, int64_t j) { return j <= i + 14; }});
}

TEST(CpuLoops, StridedLayout) {
  HostAttention a;
  a.batch = 2;
  a.heads = a.kvHeads = 2;
  a.seqQ = 9;
  a.seqKv = 7;
  a.layout = {0, 2, 1, 3}; // batch, sequence, head, depth
  a.gap = 3;
  checkAllForms(a, {});
}

TEST(CpuLoops, DepthNotContiguous) {
  HostAttention a;
  a.layout = {0, 1, 3, 2};
  checkAllForms(a, {});
}

TEST(CpuLoops, ScoreThenMask) {
  HostAttention a;
  a.heads = a.kvHeads = 2;
  a.seqQ = a.seqKv = 13;
  // Softcap 2 after the scale, then the mask: a hidden logit of -inf must not become -2.
  a.clauses = R"(scale(0.5) masks [#fa.window<left = 3, right = 1, top_left>]
    score (%s: f32, %b: index, %h: index, %i: index, %j: index) {
      %cap = arith.constant 2.0 : f32
      %t = arith.divf %s, %cap : f32
      %u = math.tanh %t : f32
      %r = arith.mulf %u, %cap : f32
      fa.yield %r : f32
    }
    mask (%b: index, %h: index, %i: index, %j: index) {
      %sum = arith.addi %i, %j : index
      %shifted = arith.addi %sum, %h : index
      %c3 = arith.constant 3 : index
      %c1 = arith.constant 1 : index
      %rest = arith.remui %shifted, %c3 : index
      %keep = arith.cmpi ne, %rest, %c1 : index
      fa.yield %keep : i1
    })";
  checkAllForms(a, {.scale = 0.5,
                    .score = [](double s, int64_t, int64_t, int64_t, int64_t) { return 2 * std::tanh(s / 2); },
                    .visible = [](int64_t, int64_t h, int64_t i,
                                  int64_t j) { return j >= i - 3 && j <= i + 1 && (i + j + h) % 3 != 1; }});
}

TEST(CpuLoops, DynamicAndNegativeScale) {
  HostAttention a;
  a.clauses = "scale(%x : f32)";
  a.extra = -0.75;
  checkAllForms(a, {.scale = -0.75});
  a.clauses = "scale(-1.25)";
  checkAllForms(a, {.scale = -1.25});
}

TEST(CpuLoops, EdgeLengths) {
  for (int64_t length : {1, 3, 4, 5}) {
    HostAttention a;
    a.seqQ = length;
    a.seqKv = 9 - length;
    a.clauses = "masks [#fa.causal<top_left>]";
    checkAllForms(a, {.visible = [](int64_t, int64_t, int64_t i, int64_t j) { return j <= i; }});
  }
}

TEST(CpuLoops, EmptyProblems) {
  for (Form form : allForms) {
    HostAttention noKeys{.seqQ = 3, .seqKv = 0};
    HostArray q = noKeys.query();
    q.fillNormal(1);
    Result result = run(noKeys, form, q, noKeys.key(), noKeys.value());
    EXPECT_EQ(result.output.values(), std::vector<double>(12, 0.0));
    EXPECT_EQ(result.lse.values(), std::vector<double>(3, -INFINITY));

    HostAttention noQueries{.seqQ = 0, .seqKv = 5};
    run(noQueries, form, noQueries.query(), noQueries.key(), noQueries.value());
    HostAttention noBatch{.batch = 0, .seqQ = 3};
    run(noBatch, form, noBatch.query(), noBatch.key(), noBatch.value());
  }
}

TEST(CpuLoops, RowsDependOnVisibleKeysOnly) {
  HostAttention a;
  a.seqQ = a.seqKv = 11;
  a.clauses = "masks [#fa.causal<top_left>]";
  HostArray q = a.query(), k = a.key(), v = a.value();
  q.fillNormal(1);
  k.fillNormal(2);
  v.fillNormal(3);
  for (Form form : allForms) {
    std::vector<double> before = run(a, form, q, k, v).output.values();
    HostArray k2 = k, v2 = v;
    for (int64_t j = 6; j < 11; ++j)
      for (int64_t d = 0; d < 4; ++d) {
        k2.set({0, 0, j, d}, 100.0);
        v2.set({0, 0, j, d}, -7.0);
      }
    std::vector<double> after = run(a, form, q, k2, v2).output.values();
    for (int64_t n = 0; n < 6 * 4; ++n)
      EXPECT_EQ(before[n], after[n]) << n; // bit for bit
    EXPECT_NE(before[6 * 4], after[6 * 4]);
  }
}
} // namespace
