// wgmma and bulk copies: results, groups, proxies, registers in flight. Tensor maps: Truth/FixturesTest.
#include "TinyKernel.h"

using namespace fa::test;

namespace {

/// D[64 x 8] = A[64 x 16] B[16 x 8] in bf16 without swizzle: A is all ones, B[k][n] = n.
/// K-major tiles of 8 x 8 core matrices: the two k cores 128 bytes apart (LBO), the next 8 rows 256 bytes (SBO).
struct Product {
  std::string proxyFence = "fence.proxy.async.shared::cta;\n", fence = "wgmma.fence.sync.aligned;\n", beforeWait,
              wait = "wgmma.wait_group.sync.aligned 0;\n";
  std::string descriptor = "mov.b64 %rd7, %rd6;\n", scaleD = "0";

  TinyKernel kernel() const {
    TinyKernel result;
    result.block = 128;
    result.outputs = 512;
    result.moduleScope = ".shared .align 128 .b8 a[2048];\n.shared .align 128 .b8 b[256];";
    result.body =
        R"(
      mov.u32 %r1, a;
      mad.lo.u32 %r2, %r0, 16, %r1;
      mov.u32 %r3, 0x3f803f80;
      st.shared.v4.b32 [%r2], {%r3, %r3, %r3, %r3};
      setp.ge.u32 %p1, %r0, 16;
      @%p1 bra READY;
      mov.u32 %r4, b;
      mad.lo.u32 %r4, %r0, 16, %r4;
      and.b32 %r5, %r0, 7;
      cvt.rn.f32.u32 %f1, %r5;
      cvt.rn.bf16x2.f32 %r5, %f1, %f1;
      st.shared.v4.b32 [%r4], {%r5, %r5, %r5, %r5};
    READY:
    )" + proxyFence +
        R"(
      bar.sync 0;
      shr.u32 %r6, %r1, 4;
      cvt.u64.u32 %rd5, %r6;
      or.b64 %rd5, %rd5, 0x0000001000080000;
      mov.u32 %r7, b;
      shr.u32 %r7, %r7, 4;
      cvt.u64.u32 %rd6, %r7;
      or.b64 %rd6, %rd6, 0x0000001000080000;
    )" + descriptor +
        "mov.f32 %f10, 0f3F800000;\nmov.f32 %f11, %f10;\nmov.f32 %f12, %f10;\nmov.f32 %f13, %f10;\nsetp.ne.b32 %p2, " +
        scaleD + ", 0;\n" + fence +
        "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f10, %f11, %f12, %f13}, %rd5, %rd7, %p2, 1, 1, 0, "
        "0;\nwgmma.commit_group.sync.aligned;\n" +
        beforeWait + wait + R"(
      mad.lo.u32 %r8, %r0, 16, 0;
      cvt.u64.u32 %rd8, %r8;
      add.u64 %rd8, %rd0, %rd8;
      st.global.v4.f32 [%rd8], {%f10, %f11, %f12, %f13};)";
    return result;
  }
};

TEST(Wgmma, Product) {
  for (uint64_t seed : {0, 1, 2, 3}) {
    TinyKernel kernel = Product().kernel();
    kernel.options.seed = seed;
    auto result = runClean(kernel);
    for (uint32_t thread = 0; thread < 128; ++thread)
      for (uint32_t v = 0; v < 4; ++v)
        EXPECT_EQ(asFloat(result.words[4 * thread + v]), 16.0f * (2 * (thread % 4) + v % 2));
    EXPECT_EQ(result.launch.counters.wgmmaMacs, 64u * 8 * 16);
  }
}

TEST(Wgmma, AccumulatesWhenAsked) {
  Product product;
  product.scaleD = "1";
  auto words = runClean(product.kernel()).words;
  EXPECT_EQ(asFloat(words[1]), 17.0f);
}

TEST(Wgmma, OrdinaryWritesNeedTheProxyFence) {
  Product product;
  product.proxyFence = "";
  auto result = run(product.kernel());
  const Report *report = result.find(ReportKind::Race);
  ASSERT_NE(report, nullptr) << result.all();
  EXPECT_NE(report->message.find("fence.proxy.async"), std::string::npos);
}

TEST(Wgmma, FenceBeforeTheFirst) {
  Product product;
  product.fence = "";
  EXPECT_NE(run(product.kernel()).find(ReportKind::Protocol), nullptr);
}

TEST(Wgmma, RegistersInFlight) {
  Product product;
  product.beforeWait = "add.f32 %f20, %f10, %f10;\n";
  TinyKernel kernel = product.kernel();
  auto result = run(kernel);
  const Report *report = result.find(ReportKind::RegisterInFlight);
  ASSERT_NE(report, nullptr) << result.all();
  EXPECT_EQ(report->ptxLine, lineOf(kernel.text(), "add.f32 %f20"));
  EXPECT_EQ(report->otherLine, lineOf(kernel.text(), "wgmma.mma_async"));
  product.beforeWait = "mov.f32 %f12, 0f00000000;\n";
  EXPECT_NE(run(product.kernel()).find(ReportKind::RegisterInFlight), nullptr);
  product.beforeWait = "";
  product.wait = "wgmma.wait_group.sync.aligned 1;\n";
  EXPECT_NE(run(product.kernel()).find(ReportKind::RegisterInFlight), nullptr);
}

TEST(Wgmma, OverwritesWhatIsStillRead) {
  Product product;
  product.beforeWait = "st.shared.b32 [%r2], %r3;\n";
  EXPECT_NE(run(product.kernel()).find(ReportKind::Race), nullptr);
}

TEST(Wgmma, WarpsMustAgree) {
  Product product;
  product.descriptor = "shr.u32 %r20, %r0, 5;\ncvt.u64.u32 %rd9, %r20;\nadd.u64 %rd7, %rd6, %rd9;\n";
  EXPECT_NE(run(product.kernel()).find(ReportKind::Protocol), nullptr);
}

TEST(Wgmma, BadDescriptorsAndShapes) {
  Product product;
  product.descriptor = "or.b64 %rd7, %rd6, 0x8000;\n"; // reserved bit
  EXPECT_NE(run(product.kernel()).find(ReportKind::Protocol), nullptr);
  product.descriptor = "or.b64 %rd7, %rd6, 0x3fff;\n"; // end of the address space
  EXPECT_NE(run(product.kernel()).find(ReportKind::OutOfBounds), nullptr);
  TinyKernel kernel = Product().kernel();
  kernel.body.replace(kernel.body.find("m64n8k16"), 8, "m64n9k16");
  EXPECT_NE(run(kernel).error.find("expected"), std::string::npos);
}

TEST(Wgmma, NeedsAWholeWarpgroup) {
  TinyKernel kernel = Product().kernel();
  kernel.block = 96;
  EXPECT_NE(run(kernel).find(ReportKind::Protocol), nullptr);
}

struct BulkCopy {
  std::string init = "mbarrier.init.shared.b64 [full], 1;\nfence.mbarrier_init.release.cluster;\n", expect = "128",
              wait = "WAIT:\nmbarrier.try_wait.parity.shared.b64 %p2, [full], 0;\n@!%p2 bra WAIT;\n";
  std::string proxyFence = "fence.proxy.async.shared::cta;\n", storeWait = "cp.async.bulk.wait_group.read 0;\n",
              afterStore;

  TinyKernel kernel() const {
    TinyKernel result;
    for (uint32_t i = 0; i < 32; ++i)
      result.input.push_back(100 + i);
    result.moduleScope = ".shared .align 128 .b8 s[128];\n.shared .align 8 .b64 full;";
    result.body = "mov.u32 %r1, s;\nmad.lo.u32 %r2, %r0, 4, %r1;\nsetp.ne.u32 %p1, %r0, 0;\n@%p1 bra GO;\n" + init +
                  "mbarrier.arrive.expect_tx.shared.b64 %rd5, [full], " + expect +
                  ";\ncp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s], [%rd1], 128, "
                  "[full];\nGO:\nbar.warp.sync -1;\n" +
                  wait + "ld.shared.u32 %r3, [%r2];\nadd.u32 %r3, %r3, 1;\nst.shared.u32 [%r2], %r3;\n" + proxyFence +
                  "bar.warp.sync -1;\n@%p1 bra END;\ncp.async.bulk.global.shared::cta.bulk_group [%rd0], [s], "
                  "128;\ncp.async.bulk.commit_group;\n" +
                  storeWait + afterStore + "END:";
    return result;
  }
};

TEST(Bulk, ThereAndBack) {
  for (uint64_t seed : {0, 1, 2}) {
    TinyKernel kernel = BulkCopy().kernel();
    kernel.options.seed = seed;
    auto result = runClean(kernel);
    EXPECT_EQ(result.words[9], 110u);
    EXPECT_EQ(result.launch.counters.tmaLoads, 1u);
    for (const BufferTraffic &buffer : result.launch.counters.buffers)
      EXPECT_EQ(buffer.tmaBytesRead + buffer.tmaBytesWritten, 128u);
  }
}

TEST(Bulk, Faults) {
  BulkCopy copy;
  copy.wait = "";
  EXPECT_NE(run(copy.kernel()).find(ReportKind::Race), nullptr); // read before the phase ends
  copy = BulkCopy();
  copy.proxyFence = "";
  EXPECT_NE(run(copy.kernel()).find(ReportKind::Race), nullptr);
  copy = BulkCopy();
  copy.storeWait = "";
  copy.afterStore = "st.shared.u32 [s], 5;\n";
  EXPECT_NE(run(copy.kernel()).find(ReportKind::Race), nullptr); // overwrites the source of a store
  copy = BulkCopy();
  copy.expect = "112";
  EXPECT_FALSE(run(copy.kernel()).launch.status);
  copy = BulkCopy();
  copy.expect = "256";
  EXPECT_NE(run(copy.kernel()).find(ReportKind::Deadlock), nullptr);
  copy = BulkCopy();
  copy.init = "mbarrier.init.shared.b64 [full], 1;\n";
  EXPECT_NE(run(copy.kernel()).find(ReportKind::Protocol), nullptr); // not visible to the async proxy
}

TEST(Bulk, CorruptTensorMap) {
  TinyKernel kernel;
  kernel.moduleScope = ".global .align 128 .b8 map[128];\n.shared .align 128 .b8 s[128];\n.shared .align 8 .b64 full;";
  kernel.block = 1;
  kernel.body =
      "mbarrier.init.shared.b64 [full], 1;\nfence.mbarrier_init.release.cluster;\nmov.u64 %rd5, "
      "map;\ncp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [s], [%rd5, {0, 0}], [full];";
  auto result = run(kernel);
  ASSERT_NE(result.find(ReportKind::Protocol), nullptr) << result.all();
  EXPECT_NE(result.find(ReportKind::Protocol)->message.find("tensor map"), std::string::npos);
}

} // namespace
