// Host functions that hold more than one attention on arguments: tensors, other operations, several launches.
#include "Experiments.h"

using namespace fa;
using namespace fa::execution;

namespace {
const std::string m = "memref<1x2x40x8xf32>", t = "tensor<1x2x40x8xf32>";

test::Compiled compile(const std::string &text, const std::string &lowering = "loops") {
  CompileOptions options;
  options.lowering = lowering, options.tileQ = 16, options.tileKv = 16;
  return test::compile(Program::fromText(text, "test.mlir"), options);
}

std::string attention(const std::string &q, const std::string &o) {
  return "  fa.attention ins(" + q + ", %k, %v : " + m + ", " + m + ", " + m + ") outs(" + o + " : " + m +
         ") masks [#fa.causal<top_left>]\n";
}
} // namespace

TEST(HostFunction, TensorsReturned) {
  test::expectPass(compile("func.func @f(%q: " + t + ", %k: " + t + ", %v: " + t + ") -> " + t +
                           " {\n  %init = tensor.empty() : " + t + "\n  %o = fa.attention ins(%q, %k, %v : " + t +
                           ", " + t + ", " + t + ") outs(%init : " + t + ") -> " + t + "\n  return %o : " + t + "\n}"),
                   {}, "a tensor returned");
}

TEST(HostFunction, TensorsInPlace) {
  test::expectPass(compile("func.func @f(%q: " + t + ", %k: " + t + ", %v: " + t + ", %init: " + t + ") -> " + t +
                           " {\n  %o = fa.attention ins(%q, %k, %v : " + t + ", " + t + ", " + t +
                           ") outs(%init : " + t + ") -> " + t + "\n  return %o : " + t + "\n}"),
                   {}, "a tensor written in place");
}

/// What is more than launches runs as a whole function, whose launches use the thread pool.
TEST(HostFunction, OtherOperations) {
  for (const char *lowering : {"loops", "vector", "naive"})
    test::expectPass(compile("func.func @f(%q: " + m + ", %k: " + m + ", %v: " + m + ", %o: " + m +
                                 ") {\n  %zero = arith.constant 0.0 : f32\n  linalg.fill ins(%zero : f32) outs(%o : " +
                                 m + ")\n" + attention("%q", "%o") + "  return\n}",
                             lowering),
                     {}, std::string("a fill before the attention, ") + lowering);
}

/// Two attentions: the second reads what the first wrote. With identity windows the result is V, whatever the scores.
TEST(HostFunction, AttentionsInARow) {
  const std::string identity = " masks [#fa.window<left = 0, right = 0, top_left>]\n";
  const auto op = [&](const std::string &v, const std::string &o) {
    return "  fa.attention ins(%q, %k, " + v + " : " + m + ", " + m + ", " + m + ") outs(" + o + " : " + m + ")" +
           identity;
  };
  test::Compiled compiled =
      compile("func.func @f(%q: " + m + ", %k: " + m + ", %v: " + m + " {fa.name = \"v\"}, %p: " + m + ", %o: " + m +
              " {fa.name = \"o\"}) {\n" + op("%v", "%p") + op("%p", "%o") + "  return\n}");
  ASSERT_TRUE(compiled.kernel);
  EXPECT_EQ(compiled.kernel->report().kernels.size(), 2u);
  RunOptions run;
  run.check = false;
  run.fills["v"] = *Fill::parse("arange");
  std::vector<double> values = test::outputOf(compiled, "o", run);
  for (size_t n = 0; n < values.size(); ++n)
    ASSERT_EQ(values[n], static_cast<double>(n));
}

TEST(HostFunction, ViewsOfArguments) {
  // Queries 8 .. 23 of a longer buffer, heads outside of batches in memory.
  const std::string whole = "memref<2x1x40x8xf32>", turned = "memref<1x2x40x8xf32, strided<[320, 320, 8, 1]>>";
  const std::string part = "memref<1x2x16x8xf32, strided<[320, 320, 8, 1], offset: 64>>", o = "memref<1x2x16x8xf32>";
  test::expectPass(compile("func.func @f(%q: " + whole + ", %k: " + m + ", %o: " + o +
                           ") {\n  %t = memref.transpose %q (a, b, c, d) -> (b, a, c, d) : " + whole + " to " + turned +
                           "\n  %part = memref.subview %t[0, 0, 8, 0] [1, 2, 16, 8] [1, 1, 1, 1] : " + turned + " to " +
                           part + "\n  fa.attention ins(%part, %k, %k : " + part + ", " + m + ", " + m +
                           ") outs(%o : " + o + ") masks [#fa.causal<bottom_right>]\n  return\n}"),
                   {}, "views");
}
