// Integer arithmetic, bits and comparisons: each against its definition.
#include "TinyKernel.h"

using namespace fa::test;

namespace {

TEST(Integer, Arithmetic) {
  EXPECT_EQ(evaluateOne("add.s32 %r4, %r1, %r2;", 0xffffffff, 2), 1u);
  EXPECT_EQ(evaluateOne("add.sat.s32 %r4, %r1, %r2;", 0x7fffffff, 2), 0x7fffffffu);
  EXPECT_EQ(evaluateOne("sub.sat.s32 %r4, %r1, %r2;", 0x80000000, 2), 0x80000000u);
  EXPECT_EQ(evaluateOne("mul.hi.u32 %r4, %r1, %r2;", 0x80000000, 6), 3u);
  EXPECT_EQ(evaluateOne("mul.hi.s32 %r4, %r1, %r2;", 0xffffffff, 6), 0xffffffffu);
  EXPECT_EQ(evaluateOne("mad.lo.s32 %r4, %r1, %r2, %r3;", 7, 6, 5), 47u);
  EXPECT_EQ(evaluateOne("div.s32 %r4, %r1, %r2;", static_cast<uint32_t>(-7), 2), static_cast<uint32_t>(-3));
  EXPECT_EQ(evaluateOne("rem.s32 %r4, %r1, %r2;", static_cast<uint32_t>(-7), 2), static_cast<uint32_t>(-1));
  EXPECT_EQ(evaluateOne("div.s32 %r4, %r1, %r2;", 0x80000000, static_cast<uint32_t>(-1)), 0x80000000u);
  EXPECT_EQ(evaluateOne("abs.s32 %r4, %r1;", static_cast<uint32_t>(-5)), 5u);
  EXPECT_EQ(evaluateOne("min.u32 %r4, %r1, %r2;", 0xffffffff, 3), 3u);
  EXPECT_EQ(evaluateOne("min.s32 %r4, %r1, %r2;", 0xffffffff, 3), 0xffffffffu);
  EXPECT_EQ(evaluateOne("max.s32 %r4, %r1, %r2;", 0xffffffff, 3), 3u);
  EXPECT_EQ(evaluateOne("sad.s32 %r4, %r1, %r2, %r3;", static_cast<uint32_t>(-2), 3, 10), 15u);
}

TEST(Integer, WideAndSixtyFourBit) {
  EXPECT_EQ(evaluateOne("mul.wide.s32 %rd5, %r1, %r2;\nshr.u64 %rd5, %rd5, 32;\ncvt.u32.u64 %r4, %rd5;", 0xffffffff, 2),
            0xffffffffu);
  EXPECT_EQ(evaluateOne("mul.wide.u32 %rd5, %r1, %r2;\nshr.u64 %rd5, %rd5, 32;\ncvt.u32.u64 %r4, %rd5;", 0xffffffff, 2),
            1u);
  EXPECT_EQ(evaluateOne("mov.b64 %rd5, {%r1, %r2};\nadd.u64 %rd5, %rd5, 1;\nmov.b64 {%r6, %r4}, %rd5;", 0xffffffff, 7),
            8u);
  EXPECT_EQ(evaluateOne("add.cc.u32 %r5, %r1, %r2;\naddc.u32 %r4, %r3, 0;", 0xffffffff, 1, 41), 42u);
  EXPECT_EQ(evaluateOne("sub.cc.u32 %r5, %r1, %r2;\nsubc.u32 %r4, %r3, 0;", 0, 1, 41), 40u);
  EXPECT_EQ(evaluateOne("mov.b32 {%h1, %h2}, %r1;\nmov.b32 %r4, {%h2, %h1};", 0x12345678), 0x56781234u);
}

TEST(Integer, ShiftsBeyondTheWidth) {
  EXPECT_EQ(evaluateOne("shl.b32 %r4, %r1, %r2;", 1, 32), 0u);
  EXPECT_EQ(evaluateOne("shr.u32 %r4, %r1, %r2;", 0x80000000, 40), 0u);
  EXPECT_EQ(evaluateOne("shr.s32 %r4, %r1, %r2;", 0x80000000, 40), 0xffffffffu);
  EXPECT_EQ(evaluateOne("shf.l.wrap.b32 %r4, %r1, %r2, %r3;", 0x80000000, 1, 33), 3u);
  EXPECT_EQ(evaluateOne("shf.r.clamp.b32 %r4, %r1, %r2, %r3;", 5, 9, 64), 9u);
}

TEST(Integer, Bits) {
  EXPECT_EQ(evaluateOne("popc.b32 %r4, %r1;", 0xf0f0), 8u);
  EXPECT_EQ(evaluateOne("clz.b32 %r4, %r1;", 0), 32u);
  EXPECT_EQ(evaluateOne("brev.b32 %r4, %r1;", 1), 0x80000000u);
  EXPECT_EQ(evaluateOne("bfind.u32 %r4, %r1;", 0), 0xffffffffu);
  EXPECT_EQ(evaluateOne("bfind.s32 %r4, %r1;", 0xfffffff0), 3u);
  EXPECT_EQ(evaluateOne("bfe.u32 %r4, %r1, %r2, %r3;", 0xabcd1234, 8, 8), 0x12u);
  EXPECT_EQ(evaluateOne("bfe.s32 %r4, %r1, %r2, %r3;", 0x0000f000, 12, 4), 0xffffffffu);
  EXPECT_EQ(evaluateOne("bfe.s32 %r4, %r1, %r2, %r3;", 0x80000000, 28, 8), 0xfffffff8u);
  EXPECT_EQ(evaluateOne("bfi.b32 %r4, %r1, %r2, 4, 8;", 0xfff, 0), 0xff0u);
  EXPECT_EQ(evaluateOne("prmt.b32 %r4, %r1, %r2, %r3;", 0x33221100, 0x77665584, 0x0c74),
            0x00ff7784u); // c: sign of byte 4
  EXPECT_EQ(evaluateOne("lop3.b32 %r4, %r1, %r2, %r3, 0x96;", 0xff00ff00, 0xf0f0f0f0, 0xcccccccc),
            0xff00ff00u ^ 0xf0f0f0f0u ^ 0xccccccccu);
  EXPECT_EQ(evaluateOne("dp4a.s32.s32 %r4, %r1, %r2, %r3;", 0xff020304, 0x01010101, 10), 18u);
}

TEST(Integer, Comparisons) {
  const char *choose = "\nselp.u32 %r4, 1, 2, %p1;";
  EXPECT_EQ(evaluateOne(std::string("setp.lt.s32 %p1, %r1, %r2;") + choose, 0xffffffff, 0), 1u);
  EXPECT_EQ(evaluateOne(std::string("setp.lt.u32 %p1, %r1, %r2;") + choose, 0xffffffff, 0), 2u);
  EXPECT_EQ(evaluateOne(std::string("setp.hs.u32 %p1, %r1, %r2;") + choose, 5, 5), 1u);
  EXPECT_EQ(evaluateOne(std::string("setp.ne.b32 %p2, 1, 0;\nsetp.eq.and.s32 %p1|%p3, %r1, %r2, !%p2;") + choose, 4, 4),
            2u);
  EXPECT_EQ(
      evaluateOne("setp.ne.b32 %p2, 1, 0;\nsetp.eq.and.s32 %p1|%p3, %r1, %r2, %p2;\nselp.u32 %r4, 1, 2, %p3;", 4, 5),
      1u);
  EXPECT_EQ(evaluateOne(
                std::string(
                    "setp.eq.s32 %p2, %r1, 1;\nsetp.eq.s32 %p3, %r2, 2;\nxor.pred %p4, %p2, %p3;\nnot.pred %p1, %p4;") +
                    choose,
                1, 2),
            1u);
  EXPECT_EQ(evaluateOne("slct.u32.s32 %r4, %r1, %r2, %r3;", 10, 20, 0x80000000), 20u);
}

TEST(Integer, EachLaneOnItsOwn) {
  std::vector<uint32_t> operands;
  for (uint32_t lane = 0; lane < 32; ++lane)
    operands.insert(operands.end(), {lane * 77, lane, 3});
  auto words = evaluate("mad.lo.u32 %r4, %r1, %r2, %r3;", operands);
  for (uint32_t lane = 0; lane < 32; ++lane)
    EXPECT_EQ(words[lane], lane * 77 * lane + 3);
}

TEST(Integer, GuardKeepsOtherLanes) {
  auto words =
      evaluate("mov.u32 %r4, 7;\nand.b32 %r5, %r0, 1;\nsetp.eq.s32 %p1, %r5, 0;\n@!%p1 add.u32 %r4, %r0, 100;", {});
  for (uint32_t lane = 0; lane < 32; ++lane)
    EXPECT_EQ(words[lane], lane % 2 ? lane + 100 : 7);
}

} // namespace
