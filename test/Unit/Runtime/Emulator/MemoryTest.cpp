// Loads, stores, atomics, address spaces; what is judged about an address.
#include "TinyKernel.h"

using namespace fa::test;

namespace {

TEST(Memory, WidthsAndVectors) {
  EXPECT_EQ(evaluateOne("ld.global.u8 %r4, [%rd4+1];", 0x8091a2b3), 0xa2u);
  EXPECT_EQ(evaluateOne("ld.global.s8 %r4, [%rd4+3];", 0x8091a2b3), 0xffffff80u);
  EXPECT_EQ(evaluateOne("ld.global.s16 %r4, [%rd4];", 0x8091a2b3), 0xffffa2b3u);
  TinyKernel kernel;
  kernel.input = {1, 2, 3, 4};
  kernel.outputs = 8;
  kernel.block = 1;
  kernel.body = "ld.global.nc.v4.u32 {%r1, %r2, %r3, %r4}, [%rd1];\nst.global.v2.b32 [%rd0], {%r4, "
                "%r3};\nst.global.u16 [%rd0+8], %r1;\nst.global.b8 [%rd0+11], %r2;";
  auto words = runClean(kernel).words;
  EXPECT_EQ(words[0], 4u);
  EXPECT_EQ(words[1], 3u);
  EXPECT_EQ(words[2], 0x02000001u);
}

TEST(Memory, SharedLocalConstantAndGeneric) {
  TinyKernel kernel;
  kernel.moduleScope =
      ".const .align 4 .u32 table[4] = {10, 20, 30, 40};\n.global .u32 scale = 3;\n.shared .align 16 .b8 tile[256];";
  kernel.body = R"(
    .local .align 4 .b8 depot[16];
    shl.b32 %r1, %r0, 2;
    mov.u32 %r2, tile;
    add.u32 %r2, %r2, %r1;
    st.shared.u32 [%r2], %r0;
    bar.sync 0;
    cvt.u64.u32 %rd5, %r2;
    cvta.shared.u64 %rd5, %rd5;
    ld.u32 %r3, [%rd5];
    mov.u64 %rd6, depot;
    cvta.local.u64 %rd6, %rd6;
    st.u32 [%rd6+4], %r3;
    ld.local.u32 %r4, [depot+4];
    and.b32 %r5, %r0, 3;
    mul.wide.u32 %rd7, %r5, 4;
    mov.u64 %rd8, table;
    add.u64 %rd8, %rd8, %rd7;
    ld.const.u32 %r6, [%rd8];
    ld.global.u32 %r7, [scale];
    mad.lo.u32 %r4, %r4, %r7, %r6;
    st.global.u32 [%rd2], %r4;)";
  auto words = runClean(kernel).words;
  for (uint32_t lane = 0; lane < 32; ++lane)
    EXPECT_EQ(words[lane], lane * 3 + 10 * (lane % 4 + 1));
}

TEST(Memory, ParametersByAddress) {
  TinyKernel kernel;
  kernel.scalar = 77;
  kernel.body = "mov.b64 %rd5, n;\nld.param.u32 %r1, [%rd5];\ncvta.param.u64 %rd6, %rd5;\nld.u32 %r2, [%rd6];\nadd.u32 "
                "%r1, %r1, %r2;\nst.global.u32 [%rd2], %r1;";
  EXPECT_EQ(runClean(kernel).words[3], 154u);
}

TEST(Memory, Atomics) {
  TinyKernel kernel;
  kernel.outputs = 40;
  kernel.grid = 4;
  kernel.body = R"(
    atom.global.add.u32 %r1, [%rd0], 1;
    red.global.max.s32 [%rd0+4], %r0;
    atom.global.or.b32 %r2, [%rd0+8], 4;
    red.global.add.f32 [%rd0+12], 0f3F000000;
    setp.eq.u32 %p1, %r0, 3;
    @%p1 atom.global.exch.b32 %r3, [%rd0+16], 9;
    atom.global.cas.b32 %r4, [%rd0+20], 0, 5;
    atom.global.inc.u32 %r5, [%rd0+24], 2;
    red.global.add.noftz.bf16x2 [%rd0+28], 0x3f803f80;)";
  kernel.options.threads = 2;
  auto words = runClean(kernel).words;
  EXPECT_EQ(words[0], 128u);
  EXPECT_EQ(words[1], 31u);
  EXPECT_EQ(words[2], 4u);
  EXPECT_EQ(asFloat(words[3]), 64.0f);
  EXPECT_EQ(words[4], 9u);
  EXPECT_EQ(words[5], 5u);
  EXPECT_EQ(words[6], 128u % 3);
  EXPECT_EQ(words[7], 0x43004300u); // 128 in bf16
}

TEST(Memory, OutOfBoundsNamesLineLaneAndAllocation) {
  TinyKernel kernel;
  kernel.outputs = 30;
  kernel.body = "st.global.u32 [%rd2], 1;";
  auto result = run(kernel);
  const Report *report = result.find(ReportKind::OutOfBounds);
  ASSERT_NE(report, nullptr);
  EXPECT_TRUE(report->fatal);
  EXPECT_EQ(report->ptxLine, lineOf(kernel.text(), "st.global"));
  EXPECT_EQ(report->lane, 30);
  EXPECT_NE(report->nearest.find("0 bytes after the end of \"out\""), std::string::npos) << report->nearest;
  EXPECT_EQ(result.launch.status.error().code, IllegalAddress);
}

TEST(Memory, SharedBoundsAndNullPointer) {
  TinyKernel kernel;
  kernel.moduleScope = ".shared .align 4 .b8 s[64];";
  kernel.body = "st.shared.u32 [s+64], 1;";
  EXPECT_NE(run(kernel).find(ReportKind::OutOfBounds), nullptr);
  kernel.body = "mov.u32 %r1, 0;\nst.shared.u32 [%r1], 1;";
  EXPECT_NE(run(kernel).find(ReportKind::OutOfBounds), nullptr);
}

TEST(Memory, Misaligned) {
  TinyKernel kernel;
  kernel.body = "st.global.u32 [%rd2+2], 1;";
  auto result = run(kernel);
  ASSERT_NE(result.find(ReportKind::Misaligned), nullptr);
  EXPECT_EQ(result.launch.status.error().code, MisalignedAddress);
}

TEST(Memory, UninitialisedReads) {
  TinyKernel kernel;
  kernel.zeroOutput = false;
  kernel.body = "ld.global.u32 %r1, [%rd2];\nst.global.u32 [%rd2], %r1;";
  EXPECT_NE(run(kernel).find(ReportKind::Uninitialised), nullptr);
  kernel.moduleScope = ".shared .align 4 .b8 s[128];";
  kernel.body = "ld.shared.u32 %r1, [s];\nst.global.u32 [%rd2], %r1;";
  EXPECT_NE(run(kernel).find(ReportKind::Uninitialised), nullptr);
  kernel.body = "st.shared.u32 [s], 3;\nld.shared.u32 %r1, [s];\nst.global.u32 [%rd2], %r1;";
  EXPECT_EQ(run(kernel).all(), "");
}

TEST(Memory, UseAfterRelease) {
  Emulator device;
  auto address = device.allocate(64, "gone");
  ASSERT_TRUE(address);
  ASSERT_TRUE(device.release(*address));
  uint32_t word = 0;
  fa::Status copied = device.copyToHost(&word, *address, 4);
  ASSERT_FALSE(copied);
  EXPECT_NE(copied.message().find("released"), std::string::npos) << copied.message();
  EXPECT_FALSE(device.release(*address));
}

TEST(Memory, ErrorsAreStickyUntilReset) {
  TinyKernel kernel;
  kernel.body = "trap;";
  Emulator device;
  auto program = device.load(kernel.text());
  ASSERT_TRUE(program);
  LaunchRequest request;
  request.entry = "k";
  request.parameters.resize(20);
  auto result = device.launch(**program, request);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->status.error().code, IllegalInstructionCode);
  EXPECT_FALSE(device.allocate(16));
  EXPECT_FALSE(device.launch(**program, request));
  device.resetError();
  EXPECT_TRUE(device.allocate(16));
}

TEST(MatrixMove, LoadsWhatItStored) {
  TinyKernel kernel;
  kernel.moduleScope = ".shared .align 16 .b8 s[512];";
  kernel.outputs = 64;
  kernel.body = R"(
    mov.u32 %r1, s;
    shl.b32 %r2, %r0, 4;
    add.u32 %r1, %r1, %r2;
    mul.lo.u32 %r5, %r0, 3;
    stmatrix.sync.aligned.m8n8.x4.shared.b16 [%r1], {%r0, %r5, %r0, %r5};
    bar.warp.sync -1;
    ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r6, %r7}, [%r1];
    ldmatrix.sync.aligned.x1.trans.m8n8.shared.b16 {%r8}, [%r1];
    xor.b32 %r6, %r6, %r0;
    xor.b32 %r7, %r7, %r5;
    or.b32 %r6, %r6, %r7;
    st.global.u32 [%rd2], %r6;
    st.global.u32 [%rd2+128], %r8;)";
  auto words = runClean(kernel).words;
  for (uint32_t lane = 0; lane < 32; ++lane)
    EXPECT_EQ(words[lane], 0u);
  // Lane 0 of the transposed load: rows 0 and 1 of column 0, which lanes 0 and 4 stored in their low halves.
  EXPECT_EQ(words[32], 0u | 4u << 16);
}

TEST(CpAsync, CopiesAndZeroFills) {
  TinyKernel kernel;
  kernel.moduleScope = ".shared .align 16 .b8 s[1024];";
  for (uint32_t i = 0; i < 128; ++i)
    kernel.input.push_back(i + 1);
  kernel.body = R"(
    mov.u32 %r1, s;
    shl.b32 %r2, %r0, 4;
    add.u32 %r1, %r1, %r2;
    cvt.u64.u32 %rd5, %r2;
    add.u64 %rd5, %rd1, %rd5;
    setp.lt.u32 %p1, %r0, 16;
    selp.u32 %r3, 16, 4, %p1;
    cp.async.cg.shared.global [%r1], [%rd5], 16, %r3;
    cp.async.commit_group;
    cp.async.wait_group 0;
    ld.shared.v4.u32 {%r4, %r5, %r6, %r7}, [%r1];
    add.u32 %r4, %r4, %r7;
    st.global.u32 [%rd2], %r4;)";
  auto words = runClean(kernel).words;
  EXPECT_EQ(words[2], 9u + 12u);
  EXPECT_EQ(words[20], 81u);
}

TEST(Counters, BytesOfEachBuffer) {
  TinyKernel kernel;
  kernel.input.assign(32, 1);
  kernel.options.countOpcodes = kernel.options.countConflicts = true;
  kernel.moduleScope = ".shared .align 4 .b8 s[4096];";
  kernel.body = "ld.global.u32 %r1, [%rd3];\nst.global.u32 [%rd2], %r1;\nmov.u32 %r2, s;\nmad.lo.u32 %r2, %r0, 128, "
                "%r2;\nst.shared.u32 [%r2], %r1;";
  auto counters = runClean(kernel).launch.counters;
  ASSERT_EQ(counters.buffers.size(), 2u);
  for (const BufferTraffic &buffer : counters.buffers) {
    EXPECT_EQ(buffer.bytesRead, buffer.name == "in" ? 128u : 0u);
    EXPECT_EQ(buffer.bytesWritten, buffer.name == "out" ? 128u : 0u);
  }
  EXPECT_EQ(counters.globalSectors, 8u);
  EXPECT_EQ(counters.sharedWriteTransactions, 32u); // all lanes on one bank
  EXPECT_EQ(counters.sharedBankConflicts, 31u);
  EXPECT_EQ(counters.opcodes.at("ld.global.u32"), 1u);
}

} // namespace
