// Sizes and strides of a program's arguments for one run: what types say, what the user gives, and what follows.
#include "fa/Execution/Program.h"
#include "fa/Support/Text.h"
#include <algorithm>

namespace fa::execution {
namespace {
constexpr int64_t dynamic = mlir::ShapedType::kDynamic;

std::string spell(const std::vector<int64_t> &sizes) {
  std::string text;
  for (int64_t size : sizes)
    text += (text.empty() ? "" : "x") + (size == dynamic ? std::string("?") : std::to_string(size));
  return text;
}

/// Sizes known so far, by argument; sizes of the operands of one attention imply one another.
class Sizes {
public:
  Status merge(const Argument &argument, const std::vector<int64_t> &given) {
    std::vector<int64_t> &known = sizes[argument.name];
    if (known.empty() && argument.isTensor)
      known = argument.sizes;
    if (given.size() != known.size())
      return makeError("expected " + std::to_string(known.size()) + " sizes for '" + argument.name + "' (" +
                       spell(known) + "), but got " + spell(given));
    for (size_t d = 0; d < known.size(); ++d)
      if (known[d] != dynamic && known[d] != given[d])
        return makeError("expected '" + argument.name + "' of shape " + spell(known) + ", but got " + spell(given));
    known = given;
    return Status::success();
  }

  /// Makes two dims equal when one is known.
  Status unify(const std::string &a, size_t dimA, const std::string &b, size_t dimB) {
    const auto x = sizes.find(a), y = sizes.find(b);
    if (x == sizes.end() || y == sizes.end())
      return Status::success();
    int64_t &first = x->second[dimA], &second = y->second[dimB];
    if (first == dynamic)
      first = second;
    else if (second == dynamic)
      second = first;
    else if (first != second)
      return makeError("expected dimension " + std::to_string(dimA) + " of '" + a + "' and dimension " +
                       std::to_string(dimB) + " of '" + b + "' to agree, but got " + std::to_string(first) + " and " +
                       std::to_string(second));
    return Status::success();
  }

  std::map<std::string, std::vector<int64_t>> sizes;
};

/// Pairs of dims of fa.attention that are equal by definition.
struct Equality {
  char a;
  size_t dimA;
  char b;
  size_t dimB;
};
constexpr Equality equalities[] = {{'q', 0, 'k', 0}, {'q', 0, 'v', 0}, {'k', 1, 'v', 1}, {'k', 2, 'v', 2},
                                   {'q', 3, 'k', 3}, {'q', 0, 'o', 0}, {'q', 1, 'o', 1}, {'q', 2, 'o', 2},
                                   {'v', 3, 'o', 3}, {'q', 0, 'l', 0}, {'q', 1, 'l', 1}, {'q', 2, 'l', 2}};

std::map<char, std::string> operandNames(mlir::fa::AttentionOp op, const std::vector<Argument> &arguments) {
  std::map<char, std::string> names;
  const std::pair<char, mlir::Value> operands[] = {
      {'q', op.getQuery()}, {'k', op.getKey()}, {'v', op.getValue()}, {'o', op.getOutput()}, {'l', op.getLse()}};
  for (const auto &[letter, value] : operands)
    if (auto argument = llvm::dyn_cast_if_present<mlir::BlockArgument>(value))
      names[letter] = arguments[argument.getArgNumber()].name;
  return names;
}

/// Row-major strides where the type leaves them open; a static stride inside keeps those outside apart.
TensorLayout layoutOf(const Argument &argument, const std::vector<int64_t> &sizes) {
  TensorLayout layout = TensorLayout::contiguous(argument.type, sizes);
  layout.offset = argument.offset == dynamic ? 0 : argument.offset;
  int64_t reach = 1; // elements that the dims inside span
  for (size_t d = sizes.size(); d-- > 0;) {
    layout.strides[d] = argument.strides[d] == dynamic ? reach : argument.strides[d];
    int64_t span = 0;
    if (__builtin_mul_overflow(std::abs(layout.strides[d]), std::max<int64_t>(sizes[d], 1), &span))
      span = INT64_MAX;
    reach = std::max(reach, span);
  }
  return layout;
}
} // namespace

Expected<std::map<std::string, TensorLayout>>
Program::layouts(const std::map<std::string, std::vector<int64_t>> &given) const {
  Sizes known;
  for (const Argument &argument : argumentList)
    if (argument.isTensor)
      known.sizes[argument.name] = argument.sizes;
  for (const auto &[name, sizes] : given) {
    const auto found = std::find_if(argumentList.begin(), argumentList.end(),
                                    [&, &wanted = name](const Argument &a) { return a.isTensor && a.name == wanted; });
    if (found == argumentList.end())
      return makeError("expected the name of a tensor argument, but got '" + name + "'");
    if (Status status = known.merge(*found, sizes); !status)
      return status.error();
  }
  if (mlir::fa::AttentionOp op = attention()) {
    std::map<char, std::string> names = operandNames(op, argumentList);
    for (int round = 0; round < 2; ++round) // sizes travel over at most two equalities
      for (const Equality &e : equalities)
        if (names.count(e.a) && names.count(e.b))
          if (Status status = known.unify(names[e.a], e.dimA, names[e.b], e.dimB); !status)
            return status.error();
  }
  std::map<std::string, TensorLayout> layouts;
  for (const Argument &argument : argumentList) {
    if (!argument.isTensor)
      continue;
    const std::vector<int64_t> &sizes = known.sizes[argument.name];
    if (std::find(sizes.begin(), sizes.end(), dynamic) != sizes.end())
      return makeError("expected --shape " + argument.name + "=" + spell(sizes) +
                       " with a number for each ?, because the "
                       "type of '" +
                       argument.name + "' leaves them open");
    layouts[argument.name] = layoutOf(argument, sizes);
  }
  return layouts;
}

} // namespace fa::execution
