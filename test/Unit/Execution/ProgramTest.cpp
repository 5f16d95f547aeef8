// Entry functions, names of arguments, tensors at the boundary, open sizes and errors of Program.
#include "fa/Execution/Program.h"
#include <gtest/gtest.h>

using namespace fa;
using namespace fa::execution;

namespace {
Program parse(const std::string &text, const std::string &entry = "") {
  Expected<Program> program = Program::fromText(text, "test.mlir", entry);
  EXPECT_TRUE(program) << program.message();
  return std::move(*program);
}

void expectError(const std::string &text, const std::string &part, const std::string &entry = "") {
  Expected<Program> program = Program::fromText(text, "test.mlir", entry);
  ASSERT_FALSE(program);
  EXPECT_NE(program.message().find(part), std::string::npos) << program.message();
}

const char *dynamic = R"(
func.func @f(%a: memref<?x4x?x8xf32>, %b: memref<?x2x?x8xf32>, %c: memref<?x2x?x?xf32>, %d: memref<?x?x?x?xf32>,
             %len: memref<?xi32> {fa.name = "len"}, %s: f32) {
  fa.attention ins(%a, %b, %c : memref<?x4x?x8xf32>, memref<?x2x?x8xf32>, memref<?x2x?x?xf32>)
               outs(%d : memref<?x?x?x?xf32>) scale(%s : f32)
  return
})";
} // namespace

TEST(Program, NamesFollowRoles) {
  Program program = parse(dynamic);
  std::vector<std::string> names;
  for (const Argument &argument : program.arguments())
    names.push_back(argument.name);
  EXPECT_EQ(names, (std::vector<std::string>{"q", "k", "v", "o", "len", "arg5"}));
  EXPECT_TRUE(program.arguments()[3].isOutput);
  EXPECT_FALSE(program.arguments()[0].isOutput);
  EXPECT_FALSE(program.arguments()[5].isTensor);
}

TEST(Program, SizesImplyOneAnother) {
  Program program = parse(dynamic);
  auto layouts = program.layouts({{"q", {3, 4, 5, 8}}, {"v", {3, 2, 7, 6}}, {"len", {3}}});
  ASSERT_TRUE(layouts) << layouts.message();
  EXPECT_EQ(layouts->at("k").sizes, (std::vector<int64_t>{3, 2, 7, 8}));
  EXPECT_EQ(layouts->at("o").sizes, (std::vector<int64_t>{3, 4, 5, 6}));
}

TEST(Program, MissingAndContradictingSizes) {
  Program program = parse(dynamic);
  EXPECT_NE(program.layouts({}).message().find("expected --shape"), std::string::npos);
  EXPECT_NE(program.layouts({{"q", {3, 5, 5, 8}}}).message().find("expected 'q' of shape ?x4x?x8, but got 3x5x5x8"),
            std::string::npos);
  EXPECT_NE(program.layouts({{"q", {3, 4, 5}}}).message().find("4 sizes"), std::string::npos);
  EXPECT_NE(program.layouts({{"q", {3, 4, 5, 8}}, {"k", {2, 2, 7, 8}}}).message().find("to agree, but got 3 and 2"),
            std::string::npos);
  EXPECT_NE(program.layouts({{"x", {1}}}).message().find("name of a tensor"), std::string::npos);
}

TEST(Program, TensorsBecomeOutputArguments) {
  Program program = parse(R"(
func.func @f(%q: tensor<1x1x4x8xf32>, %k: tensor<1x1x4x8xf32>, %v: tensor<1x1x4x8xf32>) -> tensor<1x1x4x8xf32> {
  %init = tensor.empty() : tensor<1x1x4x8xf32>
  %o = fa.attention ins(%q, %k, %v : tensor<1x1x4x8xf32>, tensor<1x1x4x8xf32>, tensor<1x1x4x8xf32>)
                    outs(%init : tensor<1x1x4x8xf32>) -> tensor<1x1x4x8xf32>
  return %o : tensor<1x1x4x8xf32>
})");
  ASSERT_EQ(program.arguments().size(), 4u);
  EXPECT_TRUE(program.arguments()[3].isOutput);
  EXPECT_EQ(program.arguments()[3].name, "o");
  EXPECT_EQ(program.function().getNumResults(), 0u);
}

TEST(Program, TensorsWrittenInPlace) {
  Program program = parse(R"(
func.func @f(%q: tensor<1x1x4x8xf32>, %k: tensor<1x1x4x8xf32>, %v: tensor<1x1x4x8xf32>, %init: tensor<1x1x4x8xf32>)
    -> tensor<1x1x4x8xf32> {
  %o = fa.attention ins(%q, %k, %v : tensor<1x1x4x8xf32>, tensor<1x1x4x8xf32>, tensor<1x1x4x8xf32>)
                    outs(%init : tensor<1x1x4x8xf32>) -> tensor<1x1x4x8xf32>
  return %o : tensor<1x1x4x8xf32>
})");
  ASSERT_EQ(program.arguments().size(), 4u);
  EXPECT_TRUE(program.arguments()[3].isOutput);
  EXPECT_FALSE(program.arguments()[0].isOutput);
}

TEST(Program, PaddedStridesKeepRowsApart) {
  Program program = parse(R"(
func.func @f(%x: memref<2x3x4xf32, strided<[?, 10, 1]>> {fa.name = "x"}) { return })");
  auto layouts = program.layouts({});
  ASSERT_TRUE(layouts) << layouts.message();
  EXPECT_EQ(layouts->at("x").strides, (std::vector<int64_t>{30, 10, 1}));
}

TEST(Program, Errors) {
  expectError("func.func @f( {", "test.mlir:1:");
  expectError("", "expected a function with a body");
  expectError("func.func @f(%q: memref<1x1x4x8xf32>) { fa.attention ins(%q, %q, %q : memref<1x1x4x8xf32>, "
              "memref<1x1x4x8xf32>, memref<1x1x4x8xf32>) outs(%q : memref<1x1x4x8xf32>) return }",
              "outputs of fa.attention in memory of their own");
  expectError("func.func @f() { return }\nfunc.func @g() { return }", "--entry=NAME");
  expectError("func.func @f() { return }", "(@f), but got 'h'", "h");
  expectError("func.func @f() -> f32 { %c = arith.constant 0.0 : f32\n return %c : f32 }", "returns a scalar");
  expectError("func.func @f(%a: !llvm.ptr) { return }", "strided memref or a number");
  expectError("func.func @f(%a: f32 {fa.name = \"x\"}, %b: f32 {fa.name = \"x\"}) { return }", "two named 'x'");
  expectError(R"(func.func @f(%q: memref<1x3x4x8xf32>, %k: memref<1x2x4x8xf32>) {
  fa.attention ins(%q, %k, %k : memref<1x3x4x8xf32>, memref<1x2x4x8xf32>, memref<1x2x4x8xf32>) outs(%q : memref<1x3x4x8xf32>)
  return })",
              "test.mlir:2:3: error: 'fa.attention' op (C6)");
  EXPECT_NE(Program::fromFile("/nowhere/x.mlir").message().find("/nowhere/x.mlir: cannot read"), std::string::npos);
}
