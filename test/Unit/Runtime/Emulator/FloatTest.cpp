// f32, f64, f16 and bf16 arithmetic and conversions: rounding, NaN, subnormals.
#include "TinyKernel.h"
#include <cmath>
#include <limits>

using namespace fa::test;

namespace {

const float nan = std::numeric_limits<float>::quiet_NaN(), infinity = std::numeric_limits<float>::infinity();
const float tiny = std::numeric_limits<float>::denorm_min() * 5;

/// %f1, %f2, %f3 from the operands, %f4 back.
float apply(const std::string &instruction, float a, float b = 0, float c = 0) {
  return asFloat(
      evaluateOne("mov.b32 %f1, %r1;\nmov.b32 %f2, %r2;\nmov.b32 %f3, %r3;\n" + instruction + "\nmov.b32 %r4, %f4;",
                  asBits(a), asBits(b), asBits(c)));
}

TEST(Float, Basics) {
  EXPECT_EQ(apply("add.f32 %f4, %f1, %f2;", 1.5f, 2.25f), 3.75f);
  EXPECT_EQ(apply("fma.rn.f32 %f4, %f1, %f2, %f3;", 1 + 0x1p-12f, 1 - 0x1p-12f, -1), -0x1p-24f);
  EXPECT_EQ(apply("div.rn.f32 %f4, %f1, %f2;", 1, 3), 1.0f / 3);
  EXPECT_EQ(apply("sqrt.rn.f32 %f4, %f1;", 2), std::sqrt(2.0f));
  EXPECT_EQ(apply("neg.f32 %f4, %f1;", 2), -2);
  EXPECT_EQ(apply("add.sat.f32 %f4, %f1, %f2;", 2, 3), 1);
  EXPECT_EQ(apply("copysign.f32 %f4, %f1, %f2;", -1, 3), -3);
}

TEST(Float, DirectedRounding) {
  EXPECT_EQ(apply("add.rz.f32 %f4, %f1, %f2;", 1, 0x1.8p-24f), 1.0f);
  EXPECT_EQ(apply("add.rp.f32 %f4, %f1, %f2;", 1, 0x1p-30f), 1 + 0x1p-23f);
  EXPECT_EQ(apply("fma.rm.f32 %f4, %f1, %f2, %f3;", 1, 1, -0x1p-30f), 1 - 0x1p-24f);
  EXPECT_EQ(apply("div.rz.f32 %f4, %f1, %f2;", 2, 3), std::nextafter(2.0f / 3, 0.0f));
}

TEST(Float, FlushesOnlyWhenAsked) {
  EXPECT_EQ(apply("add.f32 %f4, %f1, %f2;", tiny, tiny), 2 * tiny);
  EXPECT_EQ(apply("add.ftz.f32 %f4, %f1, %f2;", tiny, tiny), 0);
  EXPECT_TRUE(std::signbit(apply("mul.ftz.f32 %f4, %f1, %f2;", -tiny, 1)));
  EXPECT_EQ(apply("setp.eq.ftz.f32 %p1, %f1, %f2;\nselp.f32 %f4, 0f3F800000, 0f00000000, %p1;", tiny, 0), 1);
  EXPECT_EQ(apply("setp.eq.f32 %p1, %f1, %f2;\nselp.f32 %f4, 0f3F800000, 0f00000000, %p1;", tiny, 0), 0);
}

TEST(Float, MaximumAndNaN) {
  EXPECT_EQ(apply("max.f32 %f4, %f1, %f2;", nan, 2), 2);
  EXPECT_EQ(apply("max.f32 %f4, %f1, %f2;", 2, nan), 2);
  EXPECT_EQ(asBits(apply("max.f32 %f4, %f1, %f2;", nan, nan)), 0x7fffffffu);
  EXPECT_EQ(asBits(apply("max.NaN.f32 %f4, %f1, %f2;", 1, nan)), 0x7fffffffu);
  EXPECT_FALSE(std::signbit(apply("max.f32 %f4, %f1, %f2;", -0.0f, 0.0f)));
  EXPECT_TRUE(std::signbit(apply("min.f32 %f4, %f1, %f2;", 0.0f, -0.0f)));
  EXPECT_EQ(apply("max.f32 %f4, %f1, %f2;", -infinity, -3), -3);
}

TEST(Float, UnorderedComparisons) {
  const char *tail = " %p1, %f1, %f2;\nselp.f32 %f4, 0f3F800000, 0f00000000, %p1;";
  for (const char *name : {"eq", "ne", "lt", "le", "gt", "ge", "num"})
    EXPECT_EQ(apply(std::string("setp.") + name + ".f32" + tail, nan, 1), 0) << name;
  for (const char *name : {"equ", "neu", "ltu", "leu", "gtu", "geu", "nan"})
    EXPECT_EQ(apply(std::string("setp.") + name + ".f32" + tail, nan, 1), 1) << name;
  EXPECT_EQ(apply(std::string("setp.ne.f32") + tail, 1, 2), 1);
  EXPECT_EQ(apply(std::string("setp.equ.f32") + tail, 1, 2), 0);
}

TEST(Float, SpecialFunctions) {
  EXPECT_EQ(apply("ex2.approx.ftz.f32 %f4, %f1;", -infinity), 0);
  EXPECT_EQ(apply("ex2.approx.ftz.f32 %f4, %f1;", 0), 1);
  EXPECT_NEAR(apply("ex2.approx.ftz.f32 %f4, %f1;", 0.3f), std::exp2(0.3f), 3e-7);
  EXPECT_NEAR(apply("lg2.approx.ftz.f32 %f4, %f1;", 10), std::log2(10.0f), 1e-6);
  EXPECT_EQ(apply("rcp.approx.ftz.f32 %f4, %f1;", 4), 0.25f);
  EXPECT_NEAR(apply("tanh.approx.f32 %f4, %f1;", 0.5f), std::tanh(0.5f), 1e-3);
}

TEST(Convert, PackedPairsPutTheFirstOperandHigh) {
  EXPECT_EQ(evaluateOne("cvt.rn.bf16x2.f32 %r4, %r1, %r2;", asBits(1.0f), asBits(-2.0f)), 0x3f80c000u);
  EXPECT_EQ(evaluateOne("cvt.rn.f16x2.f32 %r4, %r1, %r2;", asBits(1.0f), asBits(65536.0f)), 0x3c007c00u);
  EXPECT_EQ(evaluateOne("cvt.rn.satfinite.e4m3x2.f32 %h1, %r1, %r2;\nmov.b32 %r4, {%h1, %h1};", asBits(1000.0f),
                        asBits(-1.0f)),
            0x7eb87eb8u);
  EXPECT_EQ(evaluateOne("mov.b32 {%h1, %h2}, %r1;\ncvt.rn.f16x2.e4m3x2 %r4, %h1;", 0x387e), 0x3c005f00u);
}

TEST(Convert, FloatToInteger) {
  EXPECT_EQ(evaluateOne("cvt.rzi.s32.f32 %r4, %r1;", asBits(-2.7f)), static_cast<uint32_t>(-2));
  EXPECT_EQ(evaluateOne("cvt.rni.s32.f32 %r4, %r1;", asBits(2.5f)), 2u);
  EXPECT_EQ(evaluateOne("cvt.rpi.s32.f32 %r4, %r1;", asBits(2.1f)), 3u);
  EXPECT_EQ(evaluateOne("cvt.rzi.u32.f32 %r4, %r1;", asBits(-5.0f)), 0u);
  EXPECT_EQ(evaluateOne("cvt.rzi.s32.f32 %r4, %r1;", asBits(1e20f)), 0x7fffffffu);
  EXPECT_EQ(evaluateOne("cvt.rzi.s32.f32 %r4, %r1;", asBits(nan)), 0u);
}

TEST(Convert, IntegerWidths) {
  EXPECT_EQ(evaluateOne("cvt.s32.s8 %r4, %r1;", 0x180), 0xffffff80u);
  EXPECT_EQ(evaluateOne("cvt.u32.u8 %r4, %r1;", 0x180), 0x80u);
  EXPECT_EQ(evaluateOne("cvt.sat.u8.s32 %r4, %r1;", 300), 255u);
  EXPECT_EQ(evaluateOne("cvt.sat.s8.s32 %r4, %r1;", static_cast<uint32_t>(-300)), 0xffffff80u);
  EXPECT_EQ(evaluateOne("cvt.s64.s32 %rd5, %r1;\nshr.u64 %rd5, %rd5, 32;\ncvt.u32.u64 %r4, %rd5;", 0x80000000),
            0xffffffffu);
  EXPECT_EQ(evaluateOne("cvt.rn.f32.u32 %r4, %r1;", 0xffffffff), asBits(4294967296.0f));
  EXPECT_EQ(evaluateOne("cvt.rz.f32.u32 %r4, %r1;", 0xffffffff), asBits(4294967040.0f));
}

TEST(Convert, Halves) {
  EXPECT_EQ(evaluateOne("cvt.rn.f16.f32 %h1, %r1;\ncvt.f32.f16 %r4, %h1;", asBits(1.0f / 3)), asBits(0x1.554p-2f));
  EXPECT_EQ(evaluateOne("cvt.rn.bf16.f32 %h1, %r1;\ncvt.f32.bf16 %r4, %h1;", asBits(1.0f / 3)), asBits(0x1.56p-2f));
  EXPECT_EQ(evaluateOne("fma.rn.bf16x2 %r4, %r1, %r2, %r3;", 0x40003f80, 0x40404000, 0x3f80bf80), 0x40e03f80u);
  EXPECT_EQ(evaluateOne("add.f16x2 %r4, %r1, %r2;", 0x3c004000, 0x3c004000), 0x40004400u);
  EXPECT_EQ(evaluateOne("max.bf16x2 %r4, %r1, %r2;", 0x3f80ffc0, 0x4000bf80), 0x4000bf80u);
}

TEST(Double, ArithmeticAndConversion) {
  EXPECT_EQ(evaluateOne("cvt.f64.f32 %fd1, %r1;\ncvt.rn.f64.s32 %fd2, %r2;\nfma.rn.f64 %fd3, %fd1, %fd2, "
                        "0d3FF0000000000000;\ncvt.rn.f32.f64 %r4, %fd3;",
                        asBits(1.5f), 4),
            asBits(7.0f));
  EXPECT_EQ(evaluateOne("cvt.rn.f64.s32 %fd1, %r1;\nsqrt.rn.f64 %fd2, %fd1;\ncvt.rzi.s32.f64 %r4, %fd2;", 49), 7u);
}

} // namespace
