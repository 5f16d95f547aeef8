#include "fa/Support/LaunchDescriptor.h"
#include <gtest/gtest.h>

using namespace fa;

namespace {

const SymbolTable symbols = [](const std::string &name) -> std::optional<int64_t> {
  if (name == "Sq")
    return 1000;
  if (name == "q.dim2")
    return 7;
  if (name == "zero")
    return 0;
  if (name == "big")
    return INT64_MAX;
  if (name == "small")
    return INT64_MIN;
  return std::nullopt;
};

int64_t value(const std::string &text) {
  Expected<int64_t> result = evaluateExpression(text, symbols);
  EXPECT_TRUE(result) << text;
  return result ? *result : -999999;
}

std::string error(const std::string &text) {
  Expected<int64_t> result = evaluateExpression(text, symbols);
  EXPECT_FALSE(result) << text;
  return result ? "" : result.message();
}

TEST(Expression, PrecedenceAndAssociativity) {
  EXPECT_EQ(value("1 + 2 * 3"), 7);
  EXPECT_EQ(value("(1 + 2) * 3"), 9);
  EXPECT_EQ(value("10 - 3 - 2"), 5);
  EXPECT_EQ(value("100 / 5 / 2"), 10);
  EXPECT_EQ(value("1 + 1 == 2 && 3 < 4"), 1);
  EXPECT_EQ(value("0 && 0 || 1"), 1);
  EXPECT_EQ(value("-2 * -3"), 6);
  EXPECT_EQ(value("!0 + !5"), 1);
  EXPECT_EQ(value("Sq*q.dim2"), 7000);
}

TEST(Expression, DivisionRoundsDown) {
  EXPECT_EQ(value("-7 / 2"), -4);
  EXPECT_EQ(value("-7 % 2"), 1);
  EXPECT_EQ(value("7 % -2"), -1);
  EXPECT_EQ(value("floordiv(-7, 2)"), -4);
  EXPECT_EQ(value("ceildiv(Sq, 128)"), 8);
  EXPECT_EQ(value("ceildiv(1024, 128)"), 8);
  EXPECT_EQ(value("ceildiv(-7, 2)"), -3);
  EXPECT_EQ(value("ceildiv(0, 128)"), 0);
  EXPECT_EQ(value("ceildiv(big, 2)"), INT64_MAX / 2 + 1);
}

TEST(Expression, Comparisons) {
  EXPECT_EQ(value("2 <= 2"), 1);
  EXPECT_EQ(value("2 >= 3"), 0);
  EXPECT_EQ(value("2 != 3"), 1);
  EXPECT_EQ(value("2 > 3"), 0);
  EXPECT_EQ(value("min(3, max(1, 2))"), 2);
}

TEST(Expression, UndecidingSideIsNotComputed) {
  EXPECT_EQ(value("zero != 0 && 5 / zero > 1"), 0);
  EXPECT_EQ(value("zero == 0 || 5 / zero > 1"), 1);
  EXPECT_NE(error("zero == 0 && 5 / zero").find("divisor"), std::string::npos);
}

TEST(Expression, OverflowIsAnError) {
  for (const char *text : {"big + 1", "small - 1", "big * 2", "-small", "small / -1", "small % -1",
                           "9223372036854775808", "ceildiv(small, -1)"})
    EXPECT_NE(error(text).find("overflow"), std::string::npos) << text;
}

TEST(Expression, ErrorsNameTheColumn) {
  EXPECT_EQ(error("1 + nope"), "expected a known name, but got 'nope' at column 5 of `1 + nope`");
  EXPECT_EQ(error("1 +"), "expected a number, a name or '(', but got the end at column 4 of `1 +`");
  EXPECT_EQ(error("(1"), "expected ')', but got the end at column 3 of `(1`");
  EXPECT_EQ(error("1 2"), "expected an operator or the end, but got '2' at column 3 of `1 2`");
  EXPECT_EQ(error("1 / zero"), "expected a divisor other than 0, but got 0 at column 3 of `1 / zero`");
  EXPECT_NE(error("foo(1, 2)").find("expected a function (ceildiv, floordiv, min, max)"), std::string::npos);
  EXPECT_NE(error("min(1)").find("expected ','"), std::string::npos);
  EXPECT_NE(error("").find("the end"), std::string::npos);
  EXPECT_NE(error("1 @ 2").find("'@'"), std::string::npos);
}

TEST(Expression, DeepNestingIsAnErrorNotACrash) {
  const size_t depth = 100000;
  EXPECT_NE(error(std::string(depth, '(') + "1" + std::string(depth, ')')).find("nested"), std::string::npos);
  EXPECT_NE(error(std::string(depth, '-') + "1").find("nested"), std::string::npos);
  EXPECT_NE(error(std::string(depth, '!') + "1").find("nested"), std::string::npos);
}

TEST(Expression, SyntaxCheckNeedsNoSymbols) {
  EXPECT_TRUE(checkExpressionSyntax("ceildiv(Sq, 128) * Hq * B / unknown"));
  EXPECT_FALSE(checkExpressionSyntax("ceildiv(Sq 128)"));
  EXPECT_FALSE(checkExpressionSyntax("a ++"));
}

} // namespace
