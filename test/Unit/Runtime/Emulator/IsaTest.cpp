// Every copy of the vector code gives the same bits.
#include "TinyKernel.h"

using namespace fa::test;

namespace {

const char *snippets[] = {
    "mad.lo.u32 %r4, %r1, %r2, %r3;",
    "mul.hi.s32 %r4, %r1, %r2;",
    "div.s32 %r4, %r1, %r2;",
    "rem.u32 %r4, %r1, %r2;",
    "shf.l.wrap.b32 %r4, %r1, %r2, %r3;",
    "shr.s32 %r4, %r1, %r3;",
    "bfe.s32 %r4, %r1, %r2, %r3;",
    "prmt.b32 %r4, %r1, %r2, %r3;",
    "popc.b32 %r4, %r1;",
    "brev.b32 %r4, %r1;",
    "clz.b32 %r4, %r1;",
    "min.s32 %r4, %r1, %r2;",
    "dp4a.s32.u32 %r4, %r1, %r2, %r3;",
    "add.f32 %r4, %r1, %r2;",
    "fma.rn.f32 %r4, %r1, %r2, %r3;",
    "fma.rn.ftz.f32 %r4, %r1, %r2, %r3;",
    "mul.ftz.f32 %r4, %r1, %r2;",
    "max.f32 %r4, %r1, %r2;",
    "min.ftz.f32 %r4, %r1, %r2;",
    "max.NaN.f32 %r4, %r1, %r2;",
    "add.sat.f32 %r4, %r1, %r2;",
    "fma.rn.bf16x2 %r4, %r1, %r2, %r3;",
    "fma.rn.f16x2 %r4, %r1, %r2, %r3;",
    "max.bf16x2 %r4, %r1, %r2;",
    "setp.lt.f32 %p1, %r1, %r2;\nselp.b32 %r4, %r1, %r3, %p1;",
    "setp.geu.ftz.f32 %p1, %r1, %r2;\nselp.b32 %r4, %r1, %r3, %p1;",
    "setp.gt.u32 %p1, %r1, %r2;\n@%p1 xor.b32 %r4, %r1, %r3;",
    "cvt.rn.f32.s32 %r4, %r1;",
    "mul.wide.s32 %rd5, %r1, %r2;\nadd.s64 %rd5, %rd5, 77;\nshr.s64 %rd5, %rd5, 7;\ncvt.u32.u64 %r4, %rd5;",
    "cvt.f64.f32 %fd1, %r1;\ncvt.f64.f32 %fd2, %r2;\nfma.rn.f64 %fd1, %fd1, %fd2, %fd2;\ncvt.rn.f32.f64 %r4, %fd1;"};

TEST(Isa, AllGiveTheSameBits) {
  const std::string best = coreIsa();
  std::vector<uint32_t> operands;
  uint32_t state = 12345;
  const uint32_t corners[] = {0, 0x80000000, 0x7f800000, 0x7fc00000, 1, 0xffffffff, 0x3f800000, 0x00400000};
  for (unsigned i = 0; i < 96; ++i) {
    state = state * 1664525u + 1013904223u;
    operands.push_back(i % 5 == 0 ? corners[state >> 29] : state);
  }
  for (const char *snippet : snippets) {
    std::vector<uint32_t> expected;
    for (const char *isa : {"sse2", "avx2", "avx512"}) {
      if (!selectCoreIsa(isa))
        continue;
      auto words = evaluate(snippet, operands);
      if (expected.empty())
        expected = words;
      EXPECT_EQ(words, expected) << isa << ": " << snippet;
    }
  }
  EXPECT_TRUE(selectCoreIsa(best));
  EXPECT_FALSE(selectCoreIsa("mmx"));
}

} // namespace
