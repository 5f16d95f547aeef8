// The check must find kernels that are wrong: each test runs the kernel of one program under the check of another.
#include "Experiments.h"

using namespace fa;
using namespace fa::execution;

namespace {
AttentionSpec base() {
  AttentionSpec spec;
  spec.heads = 4, spec.kvHeads = 2, spec.seqQ = 40, spec.seqKv = 70, spec.depth = spec.depthV = 16;
  spec.causal = Corner::BottomRight;
  return spec;
}

void expectFailure(const AttentionSpec &stated, const AttentionSpec &executed, const std::string &what) {
  CompileOptions options;
  options.lowering = "loops"; // compiles fastest
  test::Compiled right = test::compile(stated, options), wrong = test::compile(executed, options);
  ASSERT_TRUE(right.kernel && wrong.kernel);
  Expected<RunReport> report = run(*right.program, *wrong.kernel, {});
  ASSERT_TRUE(report) << report.message();
  EXPECT_FALSE(report->passed()) << what << "\n" << report->verdict->report();
}
} // namespace

TEST(WrongKernel, OtherCorner) {
  AttentionSpec executed = base();
  executed.causal = Corner::TopLeft;
  expectFailure(base(), executed, "causal corner");
}

TEST(WrongKernel, WindowOffByOne) {
  AttentionSpec stated = base(), executed = base();
  stated.window = Window{10, std::nullopt, Corner::BottomRight};
  executed.window = Window{11, std::nullopt, Corner::BottomRight};
  expectFailure(stated, executed, "window one key too wide");
  executed.window = Window{9, std::nullopt, Corner::BottomRight};
  expectFailure(stated, executed, "window one key too narrow");
}

TEST(WrongKernel, ScaleAndSoftcap) {
  AttentionSpec executed = base();
  executed.scale = 0.26; // instead of 0.25
  expectFailure(base(), executed, "scale");
  executed = base();
  executed.softcap = 5;
  expectFailure(base(), executed, "softcap");
}

TEST(WrongKernel, WritesOutOfBounds) {
  AttentionSpec small = base(), large = base();
  small.seqQ = small.seqKv = 40, large.seqQ = large.seqKv = 41;
  small.heads = small.kvHeads = large.heads = large.kvHeads = 1;
  test::Compiled right = test::compile(small), wrong = test::compile(large);
  Expected<RunReport> report = run(*right.program, *wrong.kernel, {});
  // The guards of the launch descriptor refuse the other length before anything runs.
  ASSERT_FALSE(report);
  EXPECT_NE(report.message().find("dim2"), std::string::npos) << report.message();
}
