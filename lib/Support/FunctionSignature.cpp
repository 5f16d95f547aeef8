// JSON form of a function's signature, and the sizes that follow from those given.
#include "fa/Support/FunctionSignature.h"
#include "JsonObject.h"
#include "fa/Support/Text.h"
#include <algorithm>

namespace fa {
namespace {
using namespace json;

/// `q.dim2` -> ("q", 2).
std::optional<std::pair<std::string, size_t>> parseReference(const std::string &size) {
  const size_t dot = size.rfind(".dim");
  const std::string digits = dot == std::string::npos ? "" : size.substr(dot + 4);
  if (dot == std::string::npos || dot == 0 || digits.size() != 1 || digits[0] < '0' || digits[0] > '7')
    return std::nullopt;
  return std::pair(size.substr(0, dot), static_cast<size_t>(digits[0] - '0'));
}

bool isNumber(const std::string &size) {
  return !size.empty() && size.find_first_not_of("0123456789") == std::string::npos;
}

std::string readSize(const Json &value, const std::string &where) {
  if (value.is_number_integer())
    return std::to_string(Object::toInteger(value, where, 0, int64_t(1) << 40));
  if (!value.is_string() || (value != "?" && !parseReference(value.get<std::string>())))
    malformed(where, "a number, \"?\" or a dimension such as \"q.dim2\"", value);
  return value.get<std::string>();
}

const Json &list(Object &object, const std::string &key) {
  const Json &value = object.get(key);
  if (!value.is_array() || value.size() > 8)
    malformed(object.path(key), "an array of at most 8 sizes", value);
  return value;
}

DType readType(Object &object) {
  Expected<DType> type = parseDType(object.string("type"));
  if (!type)
    throw Malformed{type.message() + " (key '" + object.path("type") + "')"};
  return *type;
}

void readTensor(Object &object, SignatureArgument &argument) {
  argument.name = object.string("tensor");
  for (const Json &size : list(object, "sizes"))
    argument.sizes.push_back(readSize(size, object.path("sizes")));
  for (const Json &stride : list(object, "strides")) {
    std::optional<int64_t> value;
    if (stride != "?")
      value = Object::toInteger(stride, object.path("strides"), -(int64_t(1) << 40), int64_t(1) << 40);
    argument.strides.push_back(value);
  }
  if (argument.strides.size() != argument.sizes.size())
    malformed(object.path("strides"), "as many strides as sizes", object.get("strides"));
  if (object.has("offset"))
    argument.offset = object.integer("offset", 0, int64_t(1) << 40);
  if (object.has("fill"))
    argument.fill = object.string("fill");
  if (object.has("output")) {
    const Json &output = object.get("output");
    if (!output.is_boolean())
      malformed(object.path("output"), "true or false", output);
    argument.isOutput = output.get<bool>();
  }
}

SignatureArgument readArgument(const Json &json, const std::string &where) {
  Object object(json, where);
  SignatureArgument argument;
  argument.isTensor = object.has("tensor");
  if (argument.isTensor)
    readTensor(object, argument);
  else
    argument.name = object.string("scalar");
  argument.type = readType(object);
  object.refuseOthers();
  return argument;
}

FunctionSignature readSignature(const Json &json) {
  Object object(json, "");
  FunctionSignature result;
  if (const int64_t version = object.integer("version", 1, INT32_MAX); version > FunctionSignature::currentVersion)
    throw Malformed{"expected a signature of version " + std::to_string(FunctionSignature::currentVersion) +
                    " or older, but got version " + std::to_string(version) + "; update the runtime"};
  result.function = object.string("function");
  const Json &arguments = object.get("arguments");
  if (!arguments.is_array())
    malformed("arguments", "an array", arguments);
  for (size_t i = 0; i < arguments.size(); ++i)
    result.arguments.push_back(readArgument(arguments[i], "arguments[" + std::to_string(i) + "]"));
  object.refuseOthers();
  return result;
}

Json writeArgument(const SignatureArgument &argument) {
  const std::string type(nameOf(argument.type));
  if (!argument.isTensor)
    return {{"scalar", argument.name}, {"type", type}};
  Json sizes = Json::array(), strides = Json::array();
  for (const std::string &size : argument.sizes)
    sizes.push_back(isNumber(size) ? Json(std::stoll(size)) : Json(size));
  for (const std::optional<int64_t> &stride : argument.strides)
    strides.push_back(stride ? Json(*stride) : Json("?"));
  Json json{{"tensor", argument.name}, {"type", type}, {"sizes", sizes}, {"strides", strides}};
  if (argument.offset != 0)
    json["offset"] = argument.offset;
  if (!argument.fill.empty())
    json["fill"] = argument.fill;
  json["output"] = argument.isOutput;
  return json;
}

std::string spell(const std::vector<std::string> &sizes) {
  std::string text;
  for (const std::string &size : sizes)
    text += (text.empty() ? "" : "x") + (isNumber(size) ? size : "?");
  return text;
}
} // namespace

const SignatureArgument *FunctionSignature::find(const std::string &name) const {
  const auto found =
      std::find_if(arguments.begin(), arguments.end(), [&](const SignatureArgument &a) { return a.name == name; });
  return found == arguments.end() ? nullptr : &*found;
}

Expected<std::map<std::string, std::vector<int64_t>>>
FunctionSignature::resolve(const std::map<std::string, std::vector<int64_t>> &given) const {
  for (const auto &[name, sizes] : given) {
    const SignatureArgument *argument = find(name);
    if (!argument || !argument->isTensor)
      return makeError("expected the name of a tensor, but got '" + name + "'");
    if (argument->sizes.size() != sizes.size())
      return makeError("expected " + std::to_string(argument->sizes.size()) + " sizes for '" + name + "' (" +
                       spell(argument->sizes) + "), but got " + formatShape(sizes));
  }
  std::map<std::string, std::vector<int64_t>> result;
  for (const SignatureArgument &argument : arguments) {
    if (!argument.isTensor)
      continue;
    const auto own = given.find(argument.name);
    std::vector<int64_t> &sizes = result[argument.name];
    for (size_t d = 0; d < argument.sizes.size(); ++d) {
      std::optional<int64_t> implied;
      if (isNumber(argument.sizes[d]))
        implied = std::stoll(argument.sizes[d]);
      else if (const auto reference = parseReference(argument.sizes[d]))
        if (const auto other = result.find(reference->first);
            other != result.end() && reference->second < other->second.size())
          implied = other->second[reference->second];
      if (own != given.end() && implied && *implied != own->second[d])
        return makeError("expected dimension " + std::to_string(d) + " of '" + argument.name + "' to be " +
                         std::to_string(*implied) + " (" + argument.sizes[d] + "), but got " +
                         std::to_string(own->second[d]));
      if (own == given.end() && !implied)
        return makeError("expected sizes for '" + argument.name + "' (" + spell(argument.sizes) +
                         "), because its type leaves them open");
      sizes.push_back(implied ? *implied : own->second[d]);
    }
  }
  return result;
}

std::string FunctionSignature::toJson() const {
  Json json{{"version", currentVersion}, {"function", function}, {"arguments", Json::array()}};
  for (const SignatureArgument &argument : arguments)
    json["arguments"].push_back(writeArgument(argument));
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Expected<FunctionSignature> FunctionSignature::fromJson(const std::string &text) {
  return readJson(text, "a function's signature", readSignature);
}

} // namespace fa
