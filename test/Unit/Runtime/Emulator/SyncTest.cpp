// Named barriers, mbarriers, setmaxnreg, clusters; deadlock and budget reports.
#include "TinyKernel.h"

using namespace fa::test;

namespace {

TEST(NamedBarrier, SyncAndArriveCountThreads) {
  TinyKernel kernel;
  kernel.block = 96;
  kernel.outputs = 96;
  kernel.moduleScope = ".shared .align 4 .b8 s[4];";
  kernel.body = R"(
    setp.ge.u32 %p1, %r0, 64;
    @%p1 bra CONSUMER;
    st.shared.u32 [s], 42;
    bar.arrive 3, 96;
    bra.uni END;
  CONSUMER:
    bar.sync 3, 96;
    ld.shared.u32 %r1, [s];
    st.global.u32 [%rd2], %r1;
  END:)";
  // Both producers write the same word, which races; only one may.
  kernel.body.replace(kernel.body.find("    st.shared"), 4, "setp.lt.u32 %p2, %r0, 1;\n@%p2 ");
  EXPECT_EQ(runClean(kernel).words[95], 42u);
}

TEST(NamedBarrier, Reduction) {
  TinyKernel kernel;
  kernel.block = 64;
  kernel.outputs = 64;
  kernel.body = "setp.lt.u32 %p1, %r0, 40;\nbar.red.popc.u32 %r1, 0, %p1;\nbar.red.and.pred %p2, 0, "
                "%p1;\nbar.red.or.pred %p3, 0, %p1;\n"
                "selp.u32 %r2, 1000, 0, %p2;\nselp.u32 %r3, 100, 0, %p3;\nadd.u32 %r1, %r1, %r2;\nadd.u32 %r1, %r1, "
                "%r3;\nst.global.u32 [%rd2], %r1;";
  EXPECT_EQ(runClean(kernel).words[50], 140u);
}

TEST(NamedBarrier, BadCounts) {
  TinyKernel kernel;
  kernel.body = "bar.sync 1, 40;";
  EXPECT_NE(run(kernel).find(ReportKind::Protocol), nullptr);
  kernel.body = "mov.u32 %r1, 16;\nbar.sync %r1;";
  EXPECT_NE(run(kernel).find(ReportKind::Protocol), nullptr);
}

TEST(Deadlock, NamesEveryWaiter) {
  TinyKernel kernel;
  kernel.block = 64;
  kernel.moduleScope = ".shared .align 8 .b64 full;";
  kernel.body = R"(
    setp.ne.u32 %p1, %r0, 0;
    @!%p1 mbarrier.init.shared.b64 [full], 1;
    bar.sync 0;
    setp.lt.u32 %p2, %r0, 32;
    @%p2 bra WAIT;
    bar.sync 2, 64;
    bra.uni END;
  WAIT:
    mbarrier.try_wait.parity.shared.b64 %p3, [full], 0;
    @!%p3 bra WAIT;
  END:)";
  auto result = run(kernel);
  const Report *report = result.find(ReportKind::Deadlock);
  ASSERT_NE(report, nullptr) << result.all();
  EXPECT_EQ(result.launch.status.error().code, LaunchTimeout);
  EXPECT_NE(report->message.find("waits for mbarrier full+0"), std::string::npos) << report->message;
  EXPECT_NE(report->message.find("phase 0, pending 1 of 1"), std::string::npos) << report->message;
  EXPECT_NE(report->message.find("waits for barrier 2 with 32 of 64 threads"), std::string::npos) << report->message;
  EXPECT_NE(report->message.find("line " + std::to_string(lineOf(kernel.text(), "bar.sync 2"))), std::string::npos)
      << report->message;
}

TEST(Budget, EndlessLoop) {
  TinyKernel kernel;
  kernel.options.instructionBudget = 10000;
  kernel.body = "LOOP: add.u32 %r1, %r0, 1;\nbra.uni LOOP;";
  auto result = run(kernel);
  ASSERT_NE(result.find(ReportKind::Budget), nullptr);
  EXPECT_EQ(result.launch.status.error().code, LaunchTimeout);
}

const char *initialise = "setp.ne.u32 %p1, %r0, 0;\n@!%p1 mbarrier.init.shared.b64 [full], 32;\nbar.sync 0;\n";

TEST(Mbarrier, StateAndParity) {
  TinyKernel kernel;
  kernel.block = 64;
  kernel.outputs = 64;
  kernel.moduleScope = ".shared .align 8 .b64 full;\n.shared .align 4 .b8 s[128];";
  kernel.body = std::string(initialise) + R"(
    setp.lt.u32 %p2, %r0, 32;
    @%p2 bra PRODUCER;
    mbarrier.test_wait.parity.shared.b64 %p4, [full], 1;
  WAIT:
    mbarrier.try_wait.parity.shared.b64 %p3, [full], 0;
    @!%p3 bra WAIT;
    sub.u32 %r1, %r0, 32;
    shl.b32 %r1, %r1, 2;
    mov.u32 %r2, s;
    add.u32 %r1, %r1, %r2;
    ld.shared.u32 %r3, [%r1];
    selp.u32 %r4, 100, 0, %p4;
    add.u32 %r3, %r3, %r4;
    st.global.u32 [%rd2], %r3;
    bra.uni END;
  PRODUCER:
    shl.b32 %r1, %r0, 2;
    mov.u32 %r2, s;
    add.u32 %r1, %r1, %r2;
    st.shared.u32 [%r1], %r0;
    mbarrier.arrive.shared.b64 %rd5, [full];
    mbarrier.pending_count.b64 %r5, %rd5;
    setp.eq.u32 %p5, %r5, 32;
    @%p5 st.global.u32 [%rd2], 7;
  END:)";
  auto words = runClean(kernel).words;
  EXPECT_EQ(words[40], 108u);
  EXPECT_EQ(words[0], 7u);
}

TEST(Mbarrier, MisuseIsReported) {
  TinyKernel kernel;
  kernel.block = 1;
  kernel.moduleScope = ".shared .align 8 .b64 full;";
  kernel.body = "mbarrier.arrive.shared.b64 %rd5, [full];";
  EXPECT_NE(run(kernel).find(ReportKind::Protocol), nullptr); // before init
  kernel.body = "mbarrier.init.shared.b64 [full], 2;\nmbarrier.arrive.shared.b64 %rd5, [full], 3;";
  EXPECT_NE(run(kernel).find(ReportKind::Protocol), nullptr); // too many
  kernel.body = "mbarrier.init.shared.b64 [full], 2;\nst.shared.u32 [full], 3;";
  EXPECT_NE(run(kernel).find(ReportKind::Protocol), nullptr); // plain access
  kernel.body = "mbarrier.init.shared.b64 [full], 2;\nmbarrier.init.shared.b64 [full], 2;";
  EXPECT_NE(run(kernel).find(ReportKind::Protocol), nullptr); // twice
  kernel.body = "mbarrier.init.shared.b64 [full], 1;\nmbarrier.arrive.shared.b64 %rd5, "
                "[full];\nmbarrier.arrive.shared.b64 %rd5, [full];";
  EXPECT_NE(run(kernel).find(ReportKind::Protocol), nullptr); // nobody waited in between
  kernel.body = "mbarrier.init.shared.b64 [full], 2;\nmbarrier.inval.shared.b64 [full];\nst.shared.u32 [full], 3;";
  EXPECT_EQ(run(kernel).all(), "");
}

TEST(Mbarrier, InitialisationMustBeOrdered) {
  TinyKernel kernel;
  kernel.block = 64;
  kernel.moduleScope = ".shared .align 8 .b64 full;";
  kernel.body =
      "setp.ne.u32 %p1, %r0, 0;\n@!%p1 mbarrier.init.shared.b64 [full], 64;\nmbarrier.arrive.shared.b64 %rd5, [full];";
  auto result = run(kernel);
  EXPECT_NE(result.find(ReportKind::Race), nullptr) << result.all();
}

TEST(Mbarrier, CpAsyncArrives) {
  TinyKernel kernel;
  kernel.block = 64;
  kernel.outputs = 64;
  kernel.input.assign(32, 5);
  kernel.moduleScope = ".shared .align 8 .b64 full;\n.shared .align 16 .b8 s[128];";
  kernel.body = std::string(initialise) + R"(
    setp.ge.u32 %p2, %r0, 32;
    @%p2 bra WAIT;
    mov.u32 %r2, s;
    mad.lo.u32 %r2, %r0, 4, %r2;
    cp.async.ca.shared.global [%r2], [%rd3], 4;
    cp.async.mbarrier.arrive.noinc.shared.b64 [full];
    bra.uni END;
  WAIT:
    mbarrier.try_wait.parity.shared.b64 %p3, [full], 0;
    @!%p3 bra WAIT;
    ld.shared.u32 %r3, [s+4];
    st.global.u32 [%rd2], %r3;
  END:)";
  EXPECT_EQ(runClean(kernel).words[63], 5u);
}

TEST(SetMaxRegisters, PoolLimitsIncrease) {
  TinyKernel kernel;
  kernel.block = 256;
  kernel.directives = ".reqntid 256, 1, 1\n.maxnreg 128";
  kernel.body = "setp.lt.u32 %p1, %r0, 128;\n@%p1 bra LOW;\nsetmaxnreg.inc.sync.aligned.u32 232;\nbra.uni "
                "END;\nLOW:\nsetmaxnreg.dec.sync.aligned.u32 24;\nEND:";
  EXPECT_EQ(run(kernel).all(), "");
  kernel.body = "setmaxnreg.inc.sync.aligned.u32 232;";
  auto result = run(kernel);
  ASSERT_NE(result.find(ReportKind::Deadlock), nullptr);
  EXPECT_NE(result.find(ReportKind::Deadlock)->message.find("setmaxnreg.inc 232"), std::string::npos);
  kernel.directives = "";
  kernel.body = "setmaxnreg.dec.sync.aligned.u32 24;";
  EXPECT_NE(run(kernel).find(ReportKind::Protocol), nullptr); // no launch bounds
}

TEST(Cluster, RemoteStoresAndBarriers) {
  TinyKernel kernel;
  kernel.grid = 4;
  kernel.cluster = 2;
  kernel.outputs = 4 * 32;
  kernel.moduleScope = ".shared .align 4 .b8 s[128];";
  kernel.body = R"(
    mov.u32 %r1, %cluster_ctarank;
    xor.b32 %r2, %r1, 1;
    mov.u32 %r3, s;
    mad.lo.u32 %r3, %r0, 4, %r3;
    mapa.shared::cluster.u32 %r4, %r3, %r2;
    mov.u32 %r5, %ctaid.x;
    mad.lo.u32 %r6, %r5, 100, %r0;
    barrier.cluster.arrive.release.aligned;
    barrier.cluster.wait.acquire.aligned;
    st.shared::cluster.u32 [%r4], %r6;
    barrier.cluster.arrive.release.aligned;
    barrier.cluster.wait.acquire.aligned;
    ld.shared.u32 %r7, [%r3];
    mad.lo.u32 %r8, %r5, 32, %r0;
    mul.wide.u32 %rd5, %r8, 4;
    add.u64 %rd5, %rd0, %rd5;
    st.global.u32 [%rd5], %r7;)";
  auto words = runClean(kernel).words;
  EXPECT_EQ(words[32 * 2 + 9], 309u);
  EXPECT_EQ(words[32 * 3 + 9], 209u);
  // Without the second barrier the read races with the neighbour's store.
  size_t at = kernel.body.rfind("barrier.cluster.arrive");
  kernel.body.erase(at, kernel.body.find("ld.shared") - at);
  EXPECT_NE(run(kernel).find(ReportKind::Race), nullptr);
}

TEST(Seeds, SameSeedSameRun) {
  TinyKernel kernel;
  kernel.block = 256;
  kernel.outputs = 4;
  kernel.options.seed = 3;
  kernel.options.checkRaces = false;
  kernel.body = "setp.eq.u32 %p1, %r0, 77;\nLOOP: add.u32 %r1, %r1, 1;\nsetp.lt.u32 %p2, %r1, %r0;\n@%p2 bra "
                "LOOP;\natom.global.exch.b32 %r2, [%rd0], %r0;";
  kernel.options.checkRegisters = false;
  uint32_t first = run(kernel).words[0];
  EXPECT_EQ(run(kernel).words[0], first);
  bool differs = false;
  for (uint64_t seed = 4; seed < 12; ++seed) {
    kernel.options.seed = seed;
    differs |= run(kernel).words[0] != first;
  }
  EXPECT_TRUE(differs);
}

} // namespace
