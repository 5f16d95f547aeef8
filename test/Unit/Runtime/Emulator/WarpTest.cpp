// Divergence, reconvergence and the exchanges between the lanes of a warp.
#include "TinyKernel.h"

using namespace fa::test;

namespace {

TEST(Divergence, LanesReconvergeAtThePostDominator) {
  TinyKernel kernel;
  kernel.body = R"(
    and.b32 %r1, %r0, 3;
    mov.u32 %r2, 0;
    setp.gt.u32 %p1, %r1, 1;
    @%p1 bra HIGH;
    add.u32 %r2, %r2, 10;
    bra.uni JOIN;
  HIGH:
    add.u32 %r2, %r2, 20;
  JOIN:
    activemask.b32 %r3;
    popc.b32 %r3, %r3;
    add.u32 %r2, %r2, %r3;
    st.global.u32 [%rd2], %r2;)";
  auto words = runClean(kernel).words;
  for (uint32_t lane = 0; lane < 32; ++lane)
    EXPECT_EQ(words[lane], (lane % 4 > 1 ? 20 : 10) + 32u);
}

TEST(Divergence, LoopsOfDifferentLength) {
  TinyKernel kernel;
  kernel.body = R"(
    mov.u32 %r1, 0;
    mov.u32 %r2, 0;
  LOOP:
    add.u32 %r2, %r2, %r1;
    add.u32 %r1, %r1, 1;
    setp.le.u32 %p1, %r1, %r0;
    @%p1 bra LOOP;
    shfl.sync.bfly.b32 %r3, %r2, 1, 31, -1;
    st.global.u32 [%rd2], %r3;)";
  auto words = runClean(kernel).words;
  for (uint32_t lane = 0; lane < 32; ++lane) {
    uint32_t other = lane ^ 1;
    EXPECT_EQ(words[lane], other * (other + 1) / 2);
  }
}

TEST(Divergence, SomeLanesExitEarly) {
  TinyKernel kernel;
  kernel.body = R"(
    setp.lt.u32 %p1, %r0, 5;
    @%p1 ret;
    activemask.b32 %r1;
    bar.sync 0;
    st.global.u32 [%rd2], %r1;)";
  auto words = runClean(kernel).words;
  EXPECT_EQ(words[4], 0u);
  EXPECT_EQ(words[5], 0xffffffe0u);
}

TEST(Divergence, IndexedBranch) {
  TinyKernel kernel;
  kernel.body = R"(
    and.b32 %r1, %r0, 3;
    mov.u32 %r2, 0;
    TARGETS: .branchtargets A, B, C, B;
    brx.idx %r1, TARGETS;
  A: add.u32 %r2, %r2, 1;
    bra.uni END;
  B: add.u32 %r2, %r2, 2;
    bra.uni END;
  C: add.u32 %r2, %r2, 3;
  END:
    bar.warp.sync -1;
    st.global.u32 [%rd2], %r2;)";
  auto words = runClean(kernel).words;
  const uint32_t expected[] = {1, 2, 3, 2};
  for (uint32_t lane = 0; lane < 32; ++lane)
    EXPECT_EQ(words[lane], expected[lane % 4]);
}

TEST(Divergence, AlignedInstructionNeedsAllLanes) {
  TinyKernel kernel;
  kernel.body = "setp.lt.u32 %p1, %r0, 16;\n@%p1 bar.sync 0;";
  auto result = run(kernel);
  ASSERT_NE(result.find(ReportKind::Divergence), nullptr) << result.all();
  EXPECT_EQ(result.find(ReportKind::Divergence)->ptxLine, lineOf(kernel.text(), "@%p1 bar.sync"));
}

TEST(Divergence, LaneWaitsForAnotherLane) {
  TinyKernel kernel;
  kernel.body = R"(
    .shared .align 8 .b64 bar;
    setp.ne.u32 %p1, %r0, 0;
    @%p1 bra SYNC;
    mbarrier.init.shared.b64 [bar], 1;
  SYNC:
    bar.warp.sync -1;
    @%p1 bra WAIT;
    mbarrier.arrive.shared.b64 %rd5, [bar];
  WAIT:
    mbarrier.try_wait.parity.shared.b64 %p2, [bar], 0;
    @!%p2 bra WAIT;
    st.global.u32 [%rd2], 1;)";
  auto words = runClean(kernel).words;
  EXPECT_EQ(words[31], 1u);
}

TEST(Exchange, Shuffle) {
  auto idx = evaluate("shfl.sync.idx.b32 %r4|%p1, %r0, 5, 31, -1;", {});
  EXPECT_EQ(idx[17], 5u);
  auto up = evaluate("shfl.sync.up.b32 %r4|%p1, %r0, 2, 0, -1;\n@!%p1 mov.u32 %r4, 99;", {});
  EXPECT_EQ(up[1], 99u);
  EXPECT_EQ(up[9], 7u);
  auto down = evaluate("shfl.sync.down.b32 %r4|%p1, %r0, 4, 0x181f, -1;", {}); // segments of 8
  EXPECT_EQ(down[2], 6u);
  EXPECT_EQ(down[5], 5u);
  auto xored = evaluate("shfl.sync.bfly.b32 %r4, %r0, 3, 31, 0xffffffff;", {});
  EXPECT_EQ(xored[8], 11u);
}

TEST(Exchange, VoteMatchReduceElect) {
  EXPECT_EQ(evaluate("setp.lt.u32 %p1, %r0, 4;\nvote.sync.ballot.b32 %r4, %p1, -1;", {})[9], 15u);
  EXPECT_EQ(evaluate("setp.lt.u32 %p1, %r0, 40;\nvote.sync.all.pred %p2, %p1, -1;\nselp.u32 %r4, 1, 0, %p2;", {})[3],
            1u);
  EXPECT_EQ(evaluate("setp.lt.u32 %p1, %r0, 4;\nvote.sync.any.pred %p2, !%p1, -1;\nselp.u32 %r4, 1, 0, %p2;", {})[3],
            1u);
  EXPECT_EQ(evaluate("redux.sync.add.s32 %r4, %r0, -1;", {})[3], 496u);
  EXPECT_EQ(evaluate("neg.s32 %r5, %r0;\nredux.sync.min.s32 %r4, %r5, -1;", {})[3], static_cast<uint32_t>(-31));
  EXPECT_EQ(evaluate("and.b32 %r5, %r0, 1;\nmatch.any.sync.b32 %r4, %r5, -1;", {})[3], 0xaaaaaaaau);
  auto elected = evaluate("elect.sync %r5|%p1, -1;\nselp.u32 %r4, 1, 0, %p1;", {});
  EXPECT_EQ(std::count(elected.begin(), elected.end(), 1u), 1);
}

TEST(Exchange, SeedElectsAnotherLane) {
  TinyKernel kernel;
  kernel.body = "elect.sync %r5|%p1, -1;\n@%p1 st.global.u32 [%rd2], 1;";
  kernel.options.seed = 7;
  auto words = runClean(kernel).words;
  EXPECT_EQ(std::count(words.begin(), words.end(), 1u), 1);
  EXPECT_EQ(words[0], 0u);
}

TEST(Exchange, AbsentLaneIsReported) {
  TinyKernel kernel;
  kernel.body = "setp.lt.u32 %p1, %r0, 16;\n@!%p1 bra OUT;\nshfl.sync.idx.b32 %r1, %r0, 20, 31, -1;\nst.global.u32 "
                "[%rd2], %r1;\nOUT:";
  EXPECT_NE(run(kernel).find(ReportKind::Divergence), nullptr);
}

TEST(SpecialRegisters, Identity) {
  TinyKernel kernel;
  kernel.block = 64;
  kernel.grid = 3;
  kernel.outputs = 3 * 64;
  kernel.body = R"(
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mad.lo.u32 %r3, %r1, %r2, %r0;
    mul.wide.u32 %rd5, %r3, 4;
    add.u64 %rd5, %rd0, %rd5;
    mov.u32 %r4, %warpid;
    mov.u32 %r5, %laneid;
    mov.u32 %r6, %nctaid.x;
    shl.b32 %r4, %r4, 8;
    add.u32 %r4, %r4, %r5;
    mad.lo.u32 %r4, %r6, 65536, %r4;
    st.global.u32 [%rd5], %r4;)";
  auto words = runClean(kernel).words;
  EXPECT_EQ(words[64 * 2 + 40], 3u * 65536 + 256 + 8);
}

} // namespace
