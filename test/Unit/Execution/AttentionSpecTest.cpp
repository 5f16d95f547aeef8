// What AttentionSpec accepts and refuses, and that its IR says the same.
#include "fa/Execution/AttentionSpec.h"
#include "fa/Execution/Program.h"
#include <gtest/gtest.h>

using namespace fa;
using namespace fa::execution;

namespace {
void expectError(const AttentionSpec &spec, const std::string &part) {
  Status status = spec.validate();
  ASSERT_FALSE(status) << "accepted, instead of " << part;
  EXPECT_NE(status.message().find(part), std::string::npos) << status.message();
}
} // namespace

TEST(AttentionSpec, RefusesContradictions) {
  AttentionSpec spec;
  ASSERT_TRUE(spec.validate());
  spec.heads = 3, spec.kvHeads = 2;
  expectError(spec, "--heads to be a multiple of --kv-heads");
  spec = {}, spec.seqQ = -1;
  expectError(spec, "--seq-q between 0 and 2^40");
  spec = {}, spec.depth = 0;
  expectError(spec, "--depth between 1 and 2^20");
  spec = {}, spec.scale = NAN;
  expectError(spec, "finite --scale");
  spec = {}, spec.softcap = 0;
  expectError(spec, "--softcap above 0");
  spec = {}, spec.dtype = DType::I32;
  expectError(spec, "--dtype f64, f32, f16 or bf16");
  spec = {}, spec.kvHeads = 0;
  expectError(spec, "multiple of --kv-heads");
}

TEST(AttentionSpec, Windows) {
  Expected<Window> window = parseWindow("127,none", Corner::TopLeft);
  ASSERT_TRUE(window);
  EXPECT_EQ(window->left, 127);
  EXPECT_FALSE(window->right);
  EXPECT_EQ(window->corner, Corner::TopLeft);
  EXPECT_EQ(parseWindow("0,0,bottom_right", std::nullopt)->corner, Corner::BottomRight);
  EXPECT_NE(parseWindow("-3,0", Corner::TopLeft).message().find("`none` for unlimited"), std::string::npos);
  EXPECT_NE(parseWindow("3,0", std::nullopt).message().find("because --seq-q and --seq-kv differ"), std::string::npos);
  for (const char *text : {"", "3", "3,0,left", "3,0,top_left,1", "3.5,0", ",", "all,0"})
    EXPECT_FALSE(parseWindow(text, Corner::TopLeft)) << text;
}

TEST(AttentionSpec, BiasShapes) {
  AttentionSpec spec;
  spec.batch = 2, spec.heads = 4, spec.seqQ = 8, spec.seqKv = 16;
  using Shape = std::vector<int64_t>;
  EXPECT_EQ(*spec.parseBias("BxHxQxK"), Shape({2, 4, 8, 16}));
  EXPECT_EQ(*spec.parseBias("1x4x1x16"), Shape({1, 4, 1, 16}));
  EXPECT_EQ(*spec.parseBias("QxK"), Shape({8, 16}));
  EXPECT_EQ(*spec.parseBias("K"), Shape({16}));
  for (const char *text : {"", "8", "KxQ", "HxK", "2x2x4x8x16", "x", "1xHxQx15"})
    EXPECT_FALSE(spec.parseBias(text)) << text;
}

TEST(AttentionSpec, IrHoldsWhatWasAsked) {
  AttentionSpec spec;
  spec.batch = 2, spec.heads = 4, spec.kvHeads = 2, spec.depthV = 32;
  spec.causal = Corner::BottomRight;
  spec.window = Window{7, std::nullopt, Corner::TopLeft};
  spec.scale = 0.1, spec.softcap = 30, spec.alibi = Corner::BottomRight;
  spec.bias = {4, 512, 1};
  for (DType dtype : {DType::F64, DType::F32, DType::F16, DType::BF16})
    for (Layout layout : {Layout::Bhsd, Layout::Bshd})
      for (bool dynamic : {false, true}) {
        spec.dtype = dtype, spec.layout = layout, spec.dynamicLengths = dynamic;
        Expected<Program> program = Program::fromSpec(spec);
        ASSERT_TRUE(program) << program.message();
        mlir::fa::AttentionOp op = program->attention();
        ASSERT_TRUE(op);
        EXPECT_EQ(op.getScaleAttr().getValueAsDouble(), 0.1);
        ASSERT_EQ(op.getMasksAttr().size(), 2u);
        EXPECT_FALSE(op.getScore().empty());
        Expected<std::map<std::string, TensorLayout>> layouts = program->layouts(spec.openShapes());
        ASSERT_TRUE(layouts) << layouts.message();
        EXPECT_EQ(layouts->at("o").sizes, (std::vector<int64_t>{2, 4, 512, 32}));
        EXPECT_EQ(layouts->at("k").strides[1], layout == Layout::Bshd ? 64 : 512 * 64);
        EXPECT_EQ(layouts->at("k").strides[2], layout == Layout::Bshd ? 128 : 64);
        EXPECT_EQ(layouts->at("k").strides[0], 512 * 128);
      }
}
