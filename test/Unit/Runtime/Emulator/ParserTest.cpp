// PTX text to a module: traps of the grammar, errors with their line, malformed text.
#include "TinyKernel.h"
#include "fa/Runtime/Emulator/PtxModule.h"
#include "fa/Support/File.h"
#include <cstdlib>

using namespace fa;
using namespace fa::test;

namespace {

const std::string header = ".version 8.6\n.target sm_90a\n.address_size 64\n";

std::string entry(const std::string &body) {
  return header + ".visible .entry k(.param .u64 p0)\n{\n" + body + "\nret;\n}\n";
}

std::string errorOf(const std::string &text) {
  Emulator device;
  auto program = device.load(text);
  return program ? "" : program.message();
}

TEST(Parser, NestedScopesMayRepeatNames) {
  auto module = ptx::parse(entry(".reg .pred p;\n.reg .b32 a;\n{\n.reg .b32 a;\nL: mov.b32 a, 1;\n@p bra "
                                 "L;\n}\n{\n.reg .b32 a;\nL: mov.b32 a, 2;\n@!p bra L;\n}\nmov.b32 a, 3;"));
  ASSERT_TRUE(module) << module.message();
  const ptx::Entry &k = (*module)->entries[0];
  EXPECT_EQ(k.labels.size(), 2u);
  ASSERT_EQ(k.instructions.size(), 6u);
  EXPECT_NE(k.instructions[0].operands[0].reg, k.instructions[2].operands[0].reg);
  EXPECT_NE(k.instructions[0].operands[0].reg, k.instructions[4].operands[0].reg);
  EXPECT_TRUE(k.instructions[3].guardNegated);
}

TEST(Parser, OperandForms) {
  auto module = ptx::parse(entry(
      ".reg .pred p<3>;\n.reg .b32 %r<4>;\n.reg .b64 %rd<3>;\n.shared .align 8 .b8 s[64];\n"
      "elect.sync %r0|p1, -1;\nelect.sync _|p1, 0xffffffff;\nld.shared.v2.b32 {%r0, %r1}, [s+8];\n"
      "ld.param.b64 %rd0, [%rd1+-16];\nmov.b32 %r2, 0f3F800000;\nsetp.lt.s32 p1|p2, %r0, 010;\n"
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r0], [%rd0, {%r1, 3}], [s];"));
  ASSERT_TRUE(module) << module.message();
  const auto &code = (*module)->entries[0].instructions;
  EXPECT_EQ(code[0].operands[0].reg2, 1);
  EXPECT_EQ(code[1].operands[0].kind, ptx::Operand::Kind::Sink);
  EXPECT_EQ(code[2].operands[0].elements.size(), 2u);
  EXPECT_EQ(code[2].operands[1].offset, 8);
  EXPECT_EQ(code[3].operands[1].offset, -16);
  EXPECT_EQ(code[4].operands[1].bits, 0x3f800000u);
  EXPECT_EQ(code[5].operands[2].bits, 8u); // octal
  EXPECT_EQ(code[6].operands[1].elements[1].elements.size(), 2u);
}

TEST(Parser, VariablesAndDirectives) {
  auto module = ptx::parse(
      header +
      ".extern .shared .align 1024 .b8 smem[];\n.global .align 4 .u32 table[3] = {1, 2, 0xff};\n"
      ".const .f32 half = 0f3F000000;\n.visible .entry k(.param .align 64 .b8 m[128], .param .u64 .ptr .global .align "
      "1 p, .param .f32 s)\n"
      ".reqntid 384, 1, 1\n.minnctapersm 1\n{\n.pragma \"nounroll\";\n.loc 1 2 3\nret;\n}\n.func helper { }\n");
  ASSERT_TRUE(module) << module.message();
  EXPECT_EQ((*module)->variables.size(), 3u);
  EXPECT_EQ((*module)->variables[1].initialiser.size(), 12u);
  const ptx::Entry &k = (*module)->entries[0];
  EXPECT_EQ(k.requiredThreads[0], 384u);
  EXPECT_EQ(k.parameters[0].align, 64u);
  EXPECT_EQ(k.parameters[1].align, 8u);
  EXPECT_EQ(k.instructions[0].line, 13);
}

TEST(Parser, ErrorsNameTheLine) {
  EXPECT_NE(errorOf(entry("frobnicate.b32 a;")).find("ptx line 6: expected"), std::string::npos)
      << errorOf(entry("frobnicate.b32 a;"));
  EXPECT_NE(errorOf(entry(".reg .b32 a;\nadd.q32 a, a, a;"))
                .find("line 7: expected a known form of add, but got qualifier `q32`"),
            std::string::npos);
  EXPECT_NE(errorOf(entry(".reg .b32 a;\nadd.s32 a, a;")).find("expected 3 operands for add.s32, but got 2"),
            std::string::npos);
  EXPECT_NE(errorOf(entry(".reg .b32 a;\n.reg .b64 b;\nadd.s32 a, b, a;")).find("expected a 32-bit operand"),
            std::string::npos);
  EXPECT_NE(errorOf(entry(".reg .b32 a;\nadd.s32 a, a, missing;")).find("`missing`"), std::string::npos);
  EXPECT_NE(errorOf(entry("bra nowhere;")).find("expected a label in scope, but got `nowhere`"), std::string::npos);
  EXPECT_NE(errorOf(entry(".reg .b32 a;\nmov.u32 a, %nosuch;")).find("%nosuch"), std::string::npos);
  EXPECT_NE(errorOf("").find("expected PTX text"), std::string::npos);
  EXPECT_NE(errorOf(entry("call helper;")).find("expected a known opcode, but got `call`"), std::string::npos);
}

/// Every prefix of a text, and every text with one byte changed, is accepted or refused with a message.
void sweep(const std::string &text, size_t step) {
  for (size_t length = 0; length < text.size(); length += step) {
    auto module = ptx::parse(text.substr(0, length));
    if (module)
      continue;
    EXPECT_NE(module.message().find("expected"), std::string::npos) << module.message();
    EXPECT_EQ(module.error().code, 218);
  }
}

TEST(Parser, TruncatedTextIsRefused) {
  const char *source = std::getenv("FA_SOURCE_DIR");
  auto text = readFile(std::string(source ? source : ".") + "/test/Unit/Runtime/Emulator/Fixtures/TwoProducts.ptx");
  ASSERT_TRUE(text) << text.message();
  sweep(*text, std::max<size_t>(1, text->size() / 500));
  sweep(entry(".reg .b32 %r<4>;\n.shared .b8 s[4];\nL: ld.shared.v2.b32 {%r0, %r1}, [s+8];\n@!p bra L;"), 1);
}

TEST(Parser, DamagedTextNeverCrashes) {
  const char *source = std::getenv("FA_SOURCE_DIR");
  auto text = readFile(std::string(source ? source : ".") + "/test/Unit/Runtime/Emulator/Fixtures/TwoProducts.ptx");
  ASSERT_TRUE(text) << text.message();
  uint32_t state = 1;
  const std::string bytes = "{}[];,.%$-+@!|<>:\"0xfF_ \n\xff";
  for (int trial = 0; trial < 150; ++trial) {
    std::string damaged = *text;
    for (int change = 0; change < 3; ++change) {
      state = state * 1664525u + 1013904223u;
      damaged[state % damaged.size()] = bytes[(state >> 8) % bytes.size()];
    }
    Emulator device;
    auto program = device.load(damaged);
    if (!program)
      EXPECT_NE(program.message().find("expected"), std::string::npos) << program.message();
  }
}

} // namespace
