// The argument layout of abi "so": memref descriptors as MLIR's C interface lays them out, scalars in their own type.
#include "Arguments.h"
#include "fa/Support/Text.h"
#include <cmath>

namespace fa::runtime {
namespace {

using Kind = KernelArgument::Kind;
using Words = std::vector<int64_t>;

int64_t toWord(DeviceAddress address) { return static_cast<int64_t>(address); }

class Builder {
public:
  Builder(const LaunchDescriptor &descriptor, const Bindings &bindings)
      : descriptor(descriptor), bindings(bindings), symbols(symbolsOf(descriptor, bindings)) {}

  Expected<Words> build(size_t index) {
    const KernelArgument &argument = descriptor.arguments[index];
    where = "kernel '" + descriptor.entry + "', argument " + std::to_string(index) + ": ";
    switch (argument.kind) {
    case Kind::Scalar:
      return scalar(argument);
    case Kind::Scratch: // base, aligned, offset, size, stride: filled in per thread
      return Words{0, 0, 0, 0, 1};
    case Kind::TensorMap:
      return makeError(where + "expected an argument of abi so, but got a tensor map");
    default:
      break;
    }
    const auto found = bindings.tensors.find(argument.tensor);
    if (found == bindings.tensors.end())
      return makeError(where + "expected a tensor '" + argument.tensor + "', but it was not given");
    const Tensor &tensor = found->second;
    if (argument.kind == Kind::MemRef)
      return memref(argument, tensor);
    if (argument.kind == Kind::Pointer)
      return Words{toWord(tensor.address())};
    if (static_cast<size_t>(argument.dim) >= tensor.sizes.size())
      return makeError(where + "expected dimension " + std::to_string(argument.dim) + " of '" + argument.tensor +
                       "', but it has " + std::to_string(tensor.sizes.size()));
    return Words{(argument.kind == Kind::Dim ? tensor.sizes : tensor.strides)[static_cast<size_t>(argument.dim)]};
  }

private:
  const LaunchDescriptor &descriptor;
  const Bindings &bindings;
  SymbolTable symbols;
  std::string where;

  Expected<Words> memref(const KernelArgument &argument, const Tensor &tensor) {
    if (tensor.sizes.size() != static_cast<size_t>(argument.rank))
      return makeError(where + "expected '" + argument.tensor + "' of rank " + std::to_string(argument.rank) +
                       ", but got shape " + formatShape(tensor.sizes));
    Words words{toWord(tensor.base), toWord(tensor.base), tensor.offset};
    words.insert(words.end(), tensor.sizes.begin(), tensor.sizes.end());
    words.insert(words.end(), tensor.strides.begin(), tensor.strides.end());
    return words;
  }

  Expected<Words> scalar(const KernelArgument &argument) {
    Words words{0};
    if (!argument.expression.empty()) {
      const Expected<int64_t> value = evaluateExpression(argument.expression, symbols);
      if (!value)
        return makeError(where + value.message());
      if (argument.type == DType::I64)
        words[0] = *value;
      else
        storeFromDouble(argument.type, words.data(), static_cast<double>(*value));
      return words;
    }
    const auto found = bindings.scalars.find(argument.scalar);
    if (found == bindings.scalars.end())
      return makeError(where + "expected a scalar '" + argument.scalar + "', but it was not given");
    storeFromDouble(argument.type, words.data(), found->second);
    if (!isFloat(argument.type) && loadAsDouble(argument.type, words.data()) != found->second)
      return makeError(where + "expected '" + argument.scalar + "' to be an " + std::string(nameOf(argument.type)) +
                       ", but got " + formatNumber(found->second, 17));
    return words;
  }
};

} // namespace

Expected<CpuArguments> CpuArguments::build(const LaunchDescriptor &descriptor, const Bindings &bindings) {
  CpuArguments result;
  Builder builder(descriptor, bindings);
  for (size_t i = 0; i < descriptor.arguments.size(); ++i) {
    Expected<Words> words = builder.build(i);
    if (!words)
      return words.error();
    result.words.push_back(std::move(*words));
    if (descriptor.arguments[i].kind == Kind::Scratch)
      result.scratchArguments.push_back(i);
  }
  return result;
}

std::vector<void *> CpuArguments::pointers(void *scratch, int64_t bytes) {
  for (size_t index : scratchArguments) {
    words[index][0] = words[index][1] = static_cast<int64_t>(reinterpret_cast<uintptr_t>(scratch));
    words[index][3] = bytes;
  }
  std::vector<void *> result;
  result.reserve(words.size());
  for (Words &argument : words)
    result.push_back(argument.data());
  return result;
}

} // namespace fa::runtime
