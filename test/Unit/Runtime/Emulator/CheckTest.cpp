// Races between warps, registers nobody wrote, requests that cannot start.
#include "TinyKernel.h"
#include <functional>

using namespace fa::test;

namespace {

TinyKernel exchange(const std::string &between) {
  TinyKernel kernel;
  kernel.block = 64;
  kernel.outputs = 64;
  kernel.moduleScope = ".shared .align 4 .b8 s[256];";
  kernel.body =
      "mov.u32 %r1, s;\nmad.lo.u32 %r2, %r0, 4, %r1;\nst.shared.u32 [%r2], %r0;\n" + between +
      "\nxor.b32 %r3, %r0, 32;\nmad.lo.u32 %r3, %r3, 4, %r1;\nld.shared.u32 %r4, [%r3];\nst.global.u32 [%rd2], %r4;";
  return kernel;
}

TEST(Races, BarrierOrders) { EXPECT_EQ(runClean(exchange("bar.sync 0;")).words[3], 35u); }

TEST(Races, MissingBarrierNamesBothLines) {
  TinyKernel kernel = exchange("");
  auto result = run(kernel);
  const Report *report = result.find(ReportKind::Race);
  ASSERT_NE(report, nullptr);
  int store = lineOf(kernel.text(), "st.shared"), load = lineOf(kernel.text(), "ld.shared");
  EXPECT_TRUE((report->ptxLine == load && report->otherLine == store) ||
              (report->ptxLine == store && report->otherLine == load))
      << toString(*report);
  EXPECT_NE(report->nearest.find("s+"), std::string::npos);
  EXPECT_EQ(result.launch.status.error().code, LaunchFailed);
}

TEST(Races, NeighbouringBytesDoNotRace) {
  TinyKernel kernel;
  kernel.block = 64;
  kernel.moduleScope = ".shared .align 4 .b8 s[64];";
  kernel.body = "mov.u32 %r1, s;\nadd.u32 %r1, %r1, %r0;\nst.shared.u8 [%r1], %r0;\nld.shared.u8 %r2, [%r1];";
  EXPECT_EQ(run(kernel).all(), "");
}

TEST(Races, WriteAfterRead) {
  TinyKernel kernel = exchange("bar.sync 0;");
  kernel.body += "\nst.shared.u32 [%r2], 1;";
  EXPECT_NE(run(kernel).find(ReportKind::Race), nullptr);
}

TEST(Races, AtomicsAndFlagsOrder) {
  TinyKernel kernel;
  kernel.block = 64;
  kernel.outputs = 64;
  kernel.moduleScope = ".shared .align 4 .b8 s[8];";
  kernel.body = R"(
    setp.ne.u32 %p1, %r0, 0;
    @!%p1 st.shared.u32 [s+4], 0;
    bar.sync 0;
    setp.ge.u32 %p2, %r0, 32;
    @%p2 bra WAIT;
    @!%p1 st.shared.u32 [s], 9;
    bar.warp.sync -1;
    @!%p1 st.release.cta.shared.u32 [s+4], 1;
    bra.uni END;
  WAIT:
    ld.acquire.cta.shared.u32 %r1, [s+4];
    setp.eq.u32 %p3, %r1, 0;
    @%p3 bra WAIT;
    ld.shared.u32 %r2, [s];
    st.global.u32 [%rd2], %r2;
  END:)";
  EXPECT_EQ(runClean(kernel).words[40], 9u);
}

TEST(Races, CopyIsReadBeforeItsWait) {
  TinyKernel kernel;
  kernel.input.assign(32, 1);
  kernel.moduleScope = ".shared .align 16 .b8 s[128];";
  kernel.body =
      "mov.u32 %r1, s;\nmad.lo.u32 %r1, %r0, 4, %r1;\ncp.async.ca.shared.global [%r1], [%rd3], "
      "4;\ncp.async.commit_group;\ncp.async.wait_group 1;\nld.shared.u32 %r2, [%r1];\nst.global.u32 [%rd2], %r2;";
  EXPECT_NE(run(kernel).find(ReportKind::Race), nullptr);
  kernel.body.replace(kernel.body.find("wait_group 1"), 12, "wait_group 0");
  EXPECT_EQ(run(kernel).all(), "");
}

TEST(Races, GlobalMemoryInsideABlock) {
  TinyKernel kernel;
  kernel.block = 64;
  kernel.outputs = 64;
  kernel.body = "st.global.u32 [%rd2], %r0;\nxor.b32 %r3, %r0, 32;\nmul.wide.u32 %rd5, %r3, 4;\nadd.u64 %rd5, %rd0, "
                "%rd5;\nld.global.u32 %r4, [%rd5];";
  EXPECT_NE(run(kernel).find(ReportKind::Race), nullptr);
  kernel.body.insert(kernel.body.find("xor.b32"), "bar.sync 0;\n");
  EXPECT_EQ(run(kernel).all(), "");
}

TEST(Races, GlobalMemoryBetweenBlocks) {
  TinyKernel kernel;
  kernel.grid = 4;
  kernel.outputs = 32;
  kernel.body = "st.global.u32 [%rd2], %r0;"; // every block writes the same words
  auto result = run(kernel);
  ASSERT_NE(result.find(ReportKind::Race), nullptr);
  EXPECT_NE(result.find(ReportKind::Race)->nearest.find("\"out\""), std::string::npos);
  kernel.body = "mov.u32 %r1, %ctaid.x;\nadd.u64 %rd5, %rd0, 0;\nshl.b32 %r2, %r1, 5;\nadd.u32 %r2, %r2, "
                "%r0;\ncvt.u64.u32 %rd6, %r2;\nadd.u64 %rd5, %rd5, %rd6;\nst.global.u8 [%rd5], %r0;";
  EXPECT_EQ(run(kernel).all(), ""); // neighbouring bytes of one word
}

TEST(Registers, NeverWritten) {
  TinyKernel kernel;
  kernel.body = "add.u32 %r1, %r2, 1;\nst.global.u32 [%rd2], %r1;";
  auto result = run(kernel);
  const Report *report = result.find(ReportKind::Uninitialised);
  ASSERT_NE(report, nullptr);
  EXPECT_NE(report->message.find("%r2"), std::string::npos);
}

TEST(Registers, WrittenOnlyOnOnePath) {
  TinyKernel kernel;
  kernel.body = "setp.lt.u32 %p1, %r0, 4;\n@%p1 mov.u32 %r1, 5;\n@%p1 st.global.u32 [%rd2], %r1;";
  EXPECT_EQ(run(kernel).all(), "");
  kernel.body = "setp.lt.u32 %p1, %r0, 4;\n@%p1 mov.u32 %r1, 5;\nst.global.u32 [%rd2], %r1;";
  auto result = run(kernel);
  ASSERT_NE(result.find(ReportKind::Uninitialised), nullptr);
  EXPECT_EQ(result.find(ReportKind::Uninitialised)->lane, 4);
}

TEST(Registers, ManyLiveValuesKeepApart) {
  // More registers than any reuse of slots could confuse: sums of values that live across each other.
  std::string body;
  for (int i = 1; i < 100; ++i)
    body += "mad.lo.u32 %r" + std::to_string(i) + ", %r0, " + std::to_string(i) + ", " + std::to_string(i * i) + ";\n";
  body += "mov.u32 %r100, 0;\n";
  for (int i = 99; i > 0; --i)
    body +=
        "add.u32 %r100, %r100, %r" + std::to_string(i) + ";\nmul.wide.u32 %rd5, %r100, 3;\ncvt.u32.u64 %r100, %rd5;\n";
  TinyKernel kernel;
  kernel.body = body + "st.global.u32 [%rd2], %r100;";
  auto words = runClean(kernel).words;
  for (uint32_t lane = 0; lane < 32; ++lane) {
    uint32_t sum = 0;
    for (uint32_t i = 99; i > 0; --i)
      sum = (sum + lane * i + i * i) * 3;
    EXPECT_EQ(words[lane], sum);
  }
}

std::string refused(const std::function<void(LaunchRequest &)> &change, const std::string &directives = "") {
  TinyKernel kernel;
  kernel.directives = directives;
  Emulator device;
  auto program = device.load(kernel.text());
  EXPECT_TRUE(program) << program.message();
  LaunchRequest request;
  request.entry = "k";
  request.parameters.resize(20);
  change(request);
  auto result = device.launch(**program, request);
  return result ? "" : result.message();
}

TEST(Launch, RequestsThatCannotStart) {
  EXPECT_NE(refused([](auto &r) { r.entry = "other"; }).find("expected an entry of the module, but got `other`"),
            std::string::npos);
  EXPECT_NE(refused([](auto &r) { r.parameters.resize(8); }).find("expected 20 bytes of parameters"),
            std::string::npos);
  EXPECT_NE(refused([](auto &r) { r.block[0] = 2048; }).find("block size"), std::string::npos);
  EXPECT_NE(refused([](auto &r) { r.grid[1] = 0; }).find("grid size"), std::string::npos);
  EXPECT_NE(refused([](auto &r) { r.block[0] = 64; }, ".maxntid 32, 1, 1").find("at most 32 threads"),
            std::string::npos);
  EXPECT_NE(refused([](auto &r) { r.block[0] = 16; }, ".reqntid 32, 1, 1").find("requires (.reqntid)"),
            std::string::npos);
  EXPECT_NE(refused([](auto &r) { r.dynamicSharedBytes = 300000; }).find("bytes of shared memory"), std::string::npos);
  EXPECT_NE(refused([](auto &r) { r.grid[0] = 3, r.cluster[0] = 2; }).find("multiple of the cluster size"),
            std::string::npos);
}

TEST(Launch, DeviceMemoryIsLimited) {
  Options options;
  options.maxMemory = 1000;
  Emulator device(options);
  EXPECT_TRUE(device.allocate(900));
  auto second = device.allocate(200);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, OutOfMemory);
}

TEST(Timeline, ShowsWaitsAndRuns) {
  // Warp 0 has more to do before the barrier.
  TinyKernel kernel = exchange(
      "setp.ge.u32 %p5, %r0, 32;\n@%p5 bra SHORT;\nadd.u32 %r9, %r0, 1;\nadd.u32 %r9, %r9, 1;\nSHORT:\nbar.sync 0;");
  kernel.options.timeline = true;
  auto timeline = runClean(kernel).launch.timeline;
  bool ran = false, waited = false;
  for (const TimelineEvent &event : timeline) {
    EXPECT_LE(event.begin, event.end);
    ran |= event.track == "warp 1" && event.name == "run";
    waited |= event.track == "warp 1" && event.name == "bar.sync";
  }
  EXPECT_TRUE(ran);
  EXPECT_TRUE(waited);
}

} // namespace
