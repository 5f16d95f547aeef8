#include "fa/Runtime/Driver.h"
#include <gtest/gtest.h>

using namespace fa;
using namespace fa::runtime;

namespace {

LaunchDescriptor descriptor() {
  LaunchDescriptor result;
  result.entry = "k";
  result.abi = "so";
  result.symbols = {{"Sq", "q.dim2"}, {"tiles", "ceildiv(Sq, 4)"}, {"a", "b + 1"}, {"b", "a + 1"}};
  return result;
}

Bindings bindings() {
  Bindings result;
  result.tensors["q"] = {DType::F32, 64, 3, {2, 3, 10, 4}, {120, 40, 4, 1}};
  result.scalars = {{"n", 7}, {"half", 0.5}};
  return result;
}

TEST(Launch, ResolvesNames) {
  const LaunchDescriptor d = descriptor();
  const Bindings b = bindings();
  const SymbolTable symbols = symbolsOf(d, b);
  EXPECT_EQ(symbols("Sq"), 10);
  EXPECT_EQ(symbols("tiles"), 3);
  EXPECT_EQ(symbols("q.stride0"), 120);
  EXPECT_EQ(symbols("n"), 7);
  EXPECT_EQ(b.tensors.at("q").address(), 64u + 12u);
}

TEST(Launch, UnknownNamesStayUnknown) {
  const LaunchDescriptor d = descriptor();
  const Bindings b = bindings();
  const SymbolTable symbols = symbolsOf(d, b);
  for (const char *name : {"nope", "q", "q.dim4", "q.dim", "q.dimx", "q.dim-1", "q.dim1x", "r.dim0", "half", "a",
                           "q.size0", "q.dim99999999999999999999"})
    EXPECT_EQ(symbols(name), std::nullopt) << name;
}

TEST(Launch, FailedGuardTellsValuesAndRemedy) {
  LaunchDescriptor d = descriptor();
  const Bindings b = bindings();
  d.guards = {{"q.stride3 == 1", ""}, {"q.stride2 % 8 == 0 && Sq > 0", "pad the rows of q to 16 bytes"}};
  const Status status = checkGuards(d, b);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.message(), "kernel 'k': expected q.stride2 % 8 == 0 && Sq > 0, but got q.stride2 = 4; "
                              "pad the rows of q to 16 bytes");
  d.guards = {{"q.stride3 == 1", ""}};
  EXPECT_TRUE(checkGuards(d, b));
  d.guards = {{"k.dim0 == 1", ""}};
  const Status unknown = checkGuards(d, b);
  ASSERT_FALSE(unknown);
  EXPECT_NE(unknown.message().find("'k.dim0'"), std::string::npos);
}

} // namespace
