// Sizes and strides of a program's arguments for one run: what types say, what the user gives, and what follows.
#include "fa/Execution/Program.h"
#include "fa/Support/Text.h"
#include <algorithm>
#include <set>

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

TensorLayout layoutOf(const Argument &argument, const std::vector<int64_t> &sizes) {
  const auto known = [](int64_t value) { return value == dynamic ? std::nullopt : std::optional(value); };
  std::vector<std::optional<int64_t>> strides;
  for (int64_t stride : argument.strides)
    strides.push_back(known(stride));
  return TensorLayout::withOpenStrides(argument.type, sizes, strides, known(argument.offset).value_or(0));
}

using Dim = std::pair<std::string, size_t>;

/// All dims that equal `dim` by definition, itself included.
std::set<Dim> equalDims(const Dim &dim, const std::map<char, std::string> &names) {
  std::set<Dim> equal{dim};
  for (size_t before = 0; before != equal.size();) {
    before = equal.size();
    for (const Equality &e : equalities) {
      if (!names.count(e.a) || !names.count(e.b))
        continue;
      const Dim a{names.at(e.a), e.dimA}, b{names.at(e.b), e.dimB};
      if (equal.count(a) || equal.count(b))
        equal.insert({a, b});
    }
  }
  return equal;
}

/// A number if one of the equal dims is static, else the first argument that has one of them, else `?`.
std::string describeSize(const Dim &dim, const std::vector<Argument> &arguments,
                         const std::map<char, std::string> &names) {
  const std::set<Dim> equal = equalDims(dim, names);
  std::string first = "?";
  for (const Argument &argument : arguments)
    for (const auto &[name, d] : equal) {
      if (name != argument.name)
        continue;
      if (argument.sizes[d] != dynamic)
        return std::to_string(argument.sizes[d]);
      if (first == "?" && Dim(name, d) != dim)
        first = name + ".dim" + std::to_string(d);
    }
  return first;
}
} // namespace

FunctionSignature Program::signature() const {
  FunctionSignature result;
  result.function = entryName;
  std::map<char, std::string> names;
  if (mlir::fa::AttentionOp op = attention())
    names = operandNames(op, argumentList);
  for (auto argument = argumentList.begin(); argument != argumentList.end(); ++argument) {
    SignatureArgument written;
    written.name = argument->name;
    written.isTensor = argument->isTensor;
    written.type = argument->type;
    written.isOutput = argument->isOutput;
    written.fill = argument->fill;
    written.offset = argument->offset == dynamic ? 0 : argument->offset;
    // Sizes are resolved in order: an argument may refer to earlier ones only.
    const std::vector<Argument> visible(argumentList.begin(), argument + 1);
    for (size_t d = 0; d < argument->sizes.size(); ++d) {
      const std::string whole = describeSize({argument->name, d}, argumentList, names);
      written.sizes.push_back(
          whole.find(".dim") == std::string::npos ? whole : describeSize({argument->name, d}, visible, names));
      written.strides.push_back(argument->strides[d] == dynamic ? std::nullopt : std::optional(argument->strides[d]));
    }
    result.arguments.push_back(std::move(written));
  }
  return result;
}

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
