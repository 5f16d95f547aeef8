// The integer expressions of launch descriptors: a recursive-descent evaluator with checked arithmetic. The side of
// && and || that does not decide is parsed but not computed, so `n != 0 && m / n > 2` is safe.
#include "fa/Support/LaunchDescriptor.h"
#include <algorithm>
#include <cctype>
#include <limits>

namespace fa {
namespace {

constexpr int maxDepth = 200;

class Evaluator {
public:
  Evaluator(const std::string &text, const SymbolTable *symbols) : text(text), symbols(symbols) {}

  Expected<int64_t> run() {
    live = symbols != nullptr;
    const int64_t value = orExpression();
    skipSpace();
    if (!failed() && at < text.size())
      fail("expected an operator or the end, but got '" + std::string(1, text[at]) + "'", at);
    if (failed())
      return makeError(problem);
    return value;
  }

private:
  const std::string &text;
  const SymbolTable *symbols;
  size_t at = 0;
  int depth = 0;
  bool live = true; // false: parse only, compute nothing
  std::string problem;

  bool failed() const { return !problem.empty(); }

  int64_t fail(const std::string &what, size_t where) {
    if (!failed())
      problem = what + " at column " + std::to_string(where + 1) + " of `" + text + "`";
    return 0;
  }

  void skipSpace() {
    while (at < text.size() && std::isspace(static_cast<unsigned char>(text[at])))
      ++at;
  }

  bool accept(std::string_view token) {
    skipSpace();
    if (failed() || text.compare(at, token.size(), token) != 0)
      return false;
    at += token.size();
    return true;
  }

  void expect(std::string_view token) {
    if (accept(token) || failed())
      return;
    fail("expected '" + std::string(token) + "', but got " +
             (at < text.size() ? "'" + std::string(1, text[at]) + "'" : std::string("the end")),
         at);
  }

  int64_t orExpression() {
    if (++depth > maxDepth)
      return fail("expected at most " + std::to_string(maxDepth) + " nested parentheses, but got more", at);
    int64_t left = andExpression();
    while (accept("||")) {
      const bool wasLive = live;
      live = live && left == 0;
      const int64_t right = andExpression();
      live = wasLive;
      left = left != 0 || right != 0;
    }
    --depth;
    return left;
  }

  int64_t andExpression() {
    int64_t left = comparison();
    while (accept("&&")) {
      const bool wasLive = live;
      live = live && left != 0;
      const int64_t right = comparison();
      live = wasLive;
      left = left != 0 && right != 0;
    }
    return left;
  }

  int64_t comparison() {
    const int64_t left = sum();
    if (accept("=="))
      return left == sum();
    if (accept("!="))
      return left != sum();
    if (accept("<="))
      return left <= sum();
    if (accept(">="))
      return left >= sum();
    if (accept("<"))
      return left < sum();
    if (accept(">"))
      return left > sum();
    return left;
  }

  int64_t sum() {
    int64_t left = product();
    for (;;) {
      skipSpace();
      const size_t where = at;
      if (accept("+"))
        left = add(left, product(), where);
      else if (accept("-"))
        left = subtract(left, product(), where);
      else
        return left;
    }
  }

  int64_t product() {
    int64_t left = unary();
    for (;;) {
      skipSpace();
      const size_t where = at;
      if (accept("*"))
        left = multiply(left, unary(), where);
      else if (accept("/"))
        left = floorDivide(left, unary(), where);
      else if (accept("%"))
        left = floorModulo(left, unary(), where);
      else
        return left;
    }
  }

  int64_t unary() {
    skipSpace();
    const size_t where = at;
    if (++depth > maxDepth)
      return fail("expected at most " + std::to_string(maxDepth) + " nested operators, but got more", at);
    int64_t value;
    if (accept("-"))
      value = subtract(0, unary(), where);
    else if (at < text.size() && text[at] == '!' && text.compare(at, 2, "!=") != 0 && accept("!"))
      value = unary() == 0;
    else
      value = primary();
    --depth;
    return value;
  }

  int64_t primary() {
    skipSpace();
    const size_t where = at;
    if (failed())
      return 0;
    if (accept("(")) {
      const int64_t value = orExpression();
      expect(")");
      return value;
    }
    if (at < text.size() && std::isdigit(static_cast<unsigned char>(text[at])))
      return number();
    if (at < text.size() && (std::isalpha(static_cast<unsigned char>(text[at])) || text[at] == '_'))
      return name();
    return fail("expected a number, a name or '(', but got " +
                    (at < text.size() ? "'" + std::string(1, text[at]) + "'" : std::string("the end")),
                where);
  }

  int64_t number() {
    const size_t where = at;
    int64_t value = 0;
    for (; at < text.size() && std::isdigit(static_cast<unsigned char>(text[at])); ++at)
      if (__builtin_mul_overflow(value, int64_t{10}, &value) ||
          __builtin_add_overflow(value, static_cast<int64_t>(text[at] - '0'), &value))
        return fail("expected a 64-bit number, but got one that overflows", where);
    return value;
  }

  int64_t name() {
    const size_t where = at;
    while (at < text.size() &&
           (std::isalnum(static_cast<unsigned char>(text[at])) || text[at] == '_' || text[at] == '.'))
      ++at;
    const std::string word = text.substr(where, at - where);
    skipSpace();
    if (at < text.size() && text[at] == '(')
      return call(word, where);
    if (!live)
      return 0;
    if (std::optional<int64_t> value = (*symbols)(word))
      return *value;
    return fail("expected a known name, but got '" + word + "'", where);
  }

  int64_t call(const std::string &function, size_t where) {
    if (function != "ceildiv" && function != "floordiv" && function != "min" && function != "max")
      return fail("expected a function (ceildiv, floordiv, min, max), but got '" + function + "'", where);
    expect("(");
    const int64_t left = orExpression();
    expect(",");
    const int64_t right = orExpression();
    expect(")");
    if (function == "min")
      return std::min(left, right);
    if (function == "max")
      return std::max(left, right);
    if (function == "floordiv")
      return floorDivide(left, right, where);
    // Ceiling as floor + 1 unless exact: negating twice would overflow at the smallest number.
    const int64_t quotient = floorDivide(left, right, where);
    return live && !failed() && floorModulo(left, right, where) != 0 ? quotient + 1 : quotient;
  }

  int64_t overflow(size_t where) { return fail("expected a 64-bit result, but got an overflow", where); }

  int64_t add(int64_t left, int64_t right, size_t where) {
    int64_t result = 0;
    if (live && __builtin_add_overflow(left, right, &result))
      return overflow(where);
    return result;
  }

  int64_t subtract(int64_t left, int64_t right, size_t where) {
    int64_t result = 0;
    if (live && __builtin_sub_overflow(left, right, &result))
      return overflow(where);
    return result;
  }

  int64_t multiply(int64_t left, int64_t right, size_t where) {
    int64_t result = 0;
    if (live && __builtin_mul_overflow(left, right, &result))
      return overflow(where);
    return result;
  }

  bool divisible(int64_t left, int64_t right, size_t where) {
    if (!live || failed())
      return false;
    if (right == 0)
      fail("expected a divisor other than 0, but got 0", where);
    else if (left == std::numeric_limits<int64_t>::min() && right == -1)
      overflow(where);
    return !failed();
  }

  int64_t floorDivide(int64_t left, int64_t right, size_t where) {
    if (!divisible(left, right, where))
      return 0;
    return left / right - (left % right != 0 && (left < 0) != (right < 0) ? 1 : 0);
  }

  int64_t floorModulo(int64_t left, int64_t right, size_t where) {
    if (!divisible(left, right, where))
      return 0;
    const int64_t rest = left % right;
    return rest != 0 && (rest < 0) != (right < 0) ? rest + right : rest;
  }
};

} // namespace

Expected<int64_t> evaluateExpression(const std::string &text, const SymbolTable &symbols) {
  return Evaluator(text, &symbols).run();
}

Status checkExpressionSyntax(const std::string &text) {
  if (Expected<int64_t> value = Evaluator(text, nullptr).run(); !value)
    return value.error();
  return Status::success();
}

} // namespace fa
