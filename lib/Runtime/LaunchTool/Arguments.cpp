// Parsing and checking of what the user says about arguments.
#include "Arguments.h"
#include "fa/Runtime/Host/Fill.h"
#include "fa/Support/Npy.h"
#include "fa/Support/Text.h"
#include <charconv>
#include <cstdlib>

namespace fa::runtime::launcher {
namespace {

using Pairs = std::map<std::string, std::string>;

Expected<Pairs> parsePairs(const FunctionSignature &signature, const std::string &flag,
                           const std::vector<std::string> &texts) {
  Pairs pairs;
  for (const std::string &text : texts) {
    Expected<std::pair<std::string, std::string>> pair = parsePair(flag, text);
    if (!pair)
      return pair.error();
    if (Status status = checkTensor(signature, flag, pair->first); !status)
      return status.error();
    pairs[pair->first] = pair->second;
  }
  return pairs;
}

Expected<std::vector<int64_t>> parseShape(const std::string &flag, const std::string &text) {
  std::vector<int64_t> shape;
  for (const std::string &part : split(text, 'x')) {
    int64_t size = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), size);
    if (part.empty() || error != std::errc() || end != part.data() + part.size() || size < 0)
      return makeError("expected " + flag + "=NAME=AxBxCxD with numbers, but got '" + text + "'");
    shape.push_back(size);
  }
  return shape;
}

class Builder {
public:
  Builder(const FunctionSignature &signature, const LaunchToolOptions &options)
      : signature(signature), options(options) {}

  Expected<Arguments> build() {
    for (Status (Builder::*step)() :
         {&Builder::readFlags, &Builder::makeTensors, &Builder::setElements, &Builder::bindScalars})
      if (Status status = (this->*step)(); !status)
        return status.error();
    return std::move(result);
  }

private:
  const FunctionSignature &signature;
  const LaunchToolOptions &options;
  Pairs inputs, fills;
  std::map<std::string, std::vector<int64_t>> shapes;
  Arguments result;

  Status readFlags() {
    Expected<Pairs> files = parsePairs(signature, "--input", options.inputs);
    if (!files)
      return files.error();
    Expected<Pairs> kinds = parsePairs(signature, "--fill", options.fills);
    if (!kinds)
      return kinds.error();
    Expected<Pairs> sizes = parsePairs(signature, "--shape", options.shapes);
    if (!sizes)
      return sizes.error();
    inputs = std::move(*files);
    fills = std::move(*kinds);
    for (const auto &[name, text] : *sizes) {
      Expected<std::vector<int64_t>> shape = parseShape("--shape", text);
      if (!shape)
        return shape.error();
      shapes[name] = std::move(*shape);
    }
    for (const auto &[name, file] : inputs) {
      if (shapes.count(name))
        continue;
      Expected<NpyArray> array = readNpy(file, rawTypeOf(signature.find(name)->type));
      if (!array)
        return array.error();
      shapes[name] = array->sizes;
    }
    return Status::success();
  }

  Status makeTensors() {
    Expected<std::map<std::string, std::vector<int64_t>>> sizes = signature.resolve(shapes);
    if (!sizes)
      return makeError(sizes.message() + "; use --shape=NAME=AxBxCxD");
    for (const SignatureArgument &argument : signature.arguments) {
      if (!argument.isTensor)
        continue;
      Expected<HostTensor> tensor =
          HostTensor::allocate(argument.name, TensorLayout::withOpenStrides(argument.type, sizes->at(argument.name),
                                                                            argument.strides, argument.offset));
      if (!tensor)
        return tensor.error();
      if (Status status = fill(*tensor, argument); !status)
        return status;
      result.bindings.tensors[argument.name] = tensor->view();
      result.tensors.emplace(argument.name, std::move(*tensor));
    }
    return Status::success();
  }

  Status fill(HostTensor &tensor, const SignatureArgument &argument) {
    if (const auto file = inputs.find(argument.name); file != inputs.end())
      return fillFromFile(tensor, file->second);
    const auto chosen = fills.find(argument.name);
    if (argument.isOutput && chosen == fills.end())
      return Status::success();
    const std::string kind = chosen != fills.end() ? chosen->second : argument.fill;
    if (kind.empty() && !isFloat(argument.type))
      return makeError("expected --fill=" + argument.name + "=KIND or --input=" + argument.name +
                       "=FILE.npy, because '" + argument.name + "' is a tensor of integers (" +
                       std::string(nameOf(argument.type)) + ")");
    const Expected<Fill> parsed = kind.empty() ? Expected<Fill>(Fill()) : Fill::parse(kind);
    if (!parsed)
      return makeError("--fill=" + argument.name + ": " + parsed.message());
    return fillTensor(tensor, *parsed, options.seed);
  }

  Status setElements() {
    for (const std::string &text : options.elements) {
      const size_t bracket = text.find('[');
      if (bracket == std::string::npos || bracket == 0)
        return makeError("expected --set=NAME[I,J,*]=X, but got '" + text + "'");
      const std::string name = text.substr(0, bracket);
      if (Status status = checkTensor(signature, "--set", name); !status)
        return status;
      if (Status status = runtime::setElements(result.tensors.at(name), text.substr(bracket)); !status)
        return status;
    }
    return Status::success();
  }

  Status bindScalars() {
    std::map<std::string, double> given;
    for (const std::string &text : options.scalars) {
      Expected<std::pair<std::string, std::string>> pair = parsePair("--arg", text);
      if (!pair)
        return pair.error();
      const SignatureArgument *argument = signature.find(pair->first);
      char *end = nullptr;
      const double value = std::strtod(pair->second.c_str(), &end);
      if (!argument || argument->isTensor || *end)
        return makeError("expected --arg=NAME=NUMBER for a scalar of the function, but got '" + text + "'");
      uint64_t bits = 0;
      storeFromDouble(argument->type, &bits, value);
      if (!isFloat(argument->type) && loadAsDouble(argument->type, &bits) != value)
        return makeError("expected --arg=" + argument->name + " to be an integer of type " +
                         std::string(nameOf(argument->type)) + ", but got " + pair->second);
      given[pair->first] = value;
    }
    for (const SignatureArgument &argument : signature.arguments)
      if (!argument.isTensor && !given.count(argument.name))
        return makeError("expected --arg=" + argument.name + "=VALUE for the scalar argument '" + argument.name +
                         "' (" + std::string(nameOf(argument.type)) + ")");
    result.bindings.scalars = std::move(given);
    return Status::success();
  }
};
} // namespace

Expected<std::pair<std::string, std::string>> parsePair(const std::string &flag, const std::string &text) {
  const size_t at = text.find('=');
  if (at == std::string::npos || at == 0 || at + 1 == text.size())
    return makeError("expected " + flag + "=NAME=VALUE, but got '" + text + "'");
  return std::pair(text.substr(0, at), text.substr(at + 1));
}

Status checkTensor(const FunctionSignature &signature, const std::string &flag, const std::string &name) {
  const SignatureArgument *argument = signature.find(name);
  if (argument && argument->isTensor)
    return Status::success();
  std::string names;
  for (const SignatureArgument &known : signature.arguments)
    if (known.isTensor)
      names += (names.empty() ? "" : ", ") + known.name;
  return makeError("expected " + flag + " to name a tensor of the function (" + names + "), but got '" + name + "'");
}

Expected<Arguments> Arguments::create(const FunctionSignature &signature, const LaunchToolOptions &options) {
  return Builder(signature, options).build();
}

} // namespace fa::runtime::launcher
