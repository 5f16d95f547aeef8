// JSON form of the launch descriptor (docs/LaunchDescriptor.md).
#include "fa/Support/LaunchDescriptor.h"
#include "JsonObject.h"

namespace fa {
namespace {

using namespace json;
using Kind = KernelArgument::Kind;

/// "q.2" -> tensor q, dimension 2.
void splitDimension(const std::string &text, const std::string &where, KernelArgument &argument) {
  const size_t dot = text.rfind('.');
  const std::string digits = dot == std::string::npos ? "" : text.substr(dot + 1);
  const bool good = dot != std::string::npos && dot > 0 && digits.size() == 1 && digits[0] >= '0' && digits[0] <= '9';
  if (!good)
    malformed(where, "tensor.dimension such as \"q.2\"", Json(text));
  argument.tensor = text.substr(0, dot);
  argument.dim = digits[0] - '0';
}

DType toScalarType(Object &object) {
  const std::string name = object.string("type");
  Expected<DType> type = parseDType(name);
  if (!type)
    throw Malformed{type.message() + " (key '" + object.path("type") + "')"};
  return *type;
}

void readTensorMap(Object &object, KernelArgument &argument) {
  argument.kind = Kind::TensorMap;
  argument.tensor = object.string("tensor_map");
  const Json &box = object.get("box");
  if (!box.is_array() || box.empty() || box.size() > 5)
    malformed(object.path("box"), "an array of 1 to 5 integers", box);
  for (const Json &size : box)
    argument.box.push_back(Object::toInteger(size, object.path("box"), 1, 256));
  if (object.has("order"))
    for (const Json &dim : object.get("order"))
      argument.order.push_back(static_cast<int>(Object::toInteger(dim, object.path("order"), 0, 7)));
  if (!object.has("swizzle"))
    return;
  argument.swizzle = static_cast<int>(object.integer("swizzle", 0, 128));
  if (argument.swizzle != 0 && argument.swizzle != 32 && argument.swizzle != 64 && argument.swizzle != 128)
    malformed(object.path("swizzle"), "0, 32, 64 or 128", object.get("swizzle"));
}

KernelArgument readArgument(const Json &json, const std::string &where) {
  Object object(json, where);
  KernelArgument argument;
  if (object.has("tensor_map")) {
    readTensorMap(object, argument);
  } else if (object.has("pointer")) {
    argument.kind = Kind::Pointer;
    argument.tensor = object.string("pointer");
  } else if (object.has("stride")) {
    argument.kind = Kind::Stride;
    splitDimension(object.string("stride"), object.path("stride"), argument);
  } else if (object.has("dim")) {
    argument.kind = Kind::Dim;
    splitDimension(object.string("dim"), object.path("dim"), argument);
  } else if (object.has("memref")) {
    argument.kind = Kind::MemRef;
    argument.tensor = object.string("memref");
    argument.rank = static_cast<int>(object.integer("rank", 0, 8));
  } else if (object.has("scalar")) {
    argument.kind = Kind::Scalar;
    argument.scalar = object.string("scalar");
    argument.type = toScalarType(object);
  } else if (object.has("expression")) {
    argument.kind = Kind::Scalar;
    argument.expression = toExpression(object.get("expression"), object.path("expression"));
    argument.type = toScalarType(object);
  } else if (object.has("scratch")) {
    argument.kind = Kind::Scratch;
    if (const Json &value = object.get("scratch"); !value.is_boolean() || !value.get<bool>())
      malformed(object.path("scratch"), "true", value);
  } else {
    malformed(where, "an argument (tensor_map, pointer, stride, dim, memref, scalar, expression or scratch)", json);
  }
  object.refuseOthers();
  return argument;
}

Json writeArgument(const KernelArgument &argument) {
  const std::string dimension = argument.tensor + "." + std::to_string(argument.dim);
  const std::string type(nameOf(argument.type));
  switch (argument.kind) {
  case Kind::TensorMap: {
    Json json{{"tensor_map", argument.tensor}, {"box", argument.box}};
    if (!argument.order.empty())
      json["order"] = argument.order;
    json["swizzle"] = argument.swizzle;
    return json;
  }
  case Kind::Pointer:
    return {{"pointer", argument.tensor}};
  case Kind::Stride:
    return {{"stride", dimension}};
  case Kind::Dim:
    return {{"dim", dimension}};
  case Kind::MemRef:
    return {{"memref", argument.tensor}, {"rank", argument.rank}};
  case Kind::Scalar:
    if (!argument.expression.empty())
      return {{"expression", argument.expression}, {"type", type}};
    return {{"scalar", argument.scalar}, {"type", type}};
  case Kind::Scratch:
    return {{"scratch", true}};
  }
  return {};
}

/// `384` or `[384, 1, 1]`.
void readTriple(Object &object, const std::string &key, int64_t (&triple)[3]) {
  const Json &value = object.get(key);
  const std::string where = object.path(key);
  if (!value.is_array()) {
    triple[0] = Object::toInteger(value, where, 1, INT32_MAX);
    return;
  }
  if (value.empty() || value.size() > 3)
    malformed(where, "an integer or an array of 1 to 3 integers", value);
  for (size_t i = 0; i < value.size(); ++i)
    triple[i] = Object::toInteger(value[i], where, 1, INT32_MAX);
}

void readGrid(Object &object, LaunchDescriptor &result) {
  const Json &value = object.get("grid");
  if (!value.is_array() || value.empty() || value.size() > 3)
    malformed(object.path("grid"), "an array of 1 to 3 expressions", value);
  for (size_t i = 0; i < value.size(); ++i)
    result.grid[i] = toExpression(value[i], "grid[" + std::to_string(i) + "]");
}

Guard readGuard(const Json &json, const std::string &where) {
  if (json.is_string())
    return {toExpression(json, where), ""};
  Object object(json, where);
  Guard guard{toExpression(object.get("condition"), object.path("condition")), ""};
  if (object.has("remedy"))
    guard.remedy = object.string("remedy");
  object.refuseOthers();
  return guard;
}

const Json &array(Object &object, const std::string &key) {
  const Json &value = object.get(key);
  if (!value.is_array())
    malformed(object.path(key), "an array", value);
  return value;
}

CpuRequirement readCpu(const Json &json) {
  Object object(json, "cpu");
  CpuRequirement cpu;
  cpu.architecture = object.string("architecture");
  const Json &features = array(object, "features");
  for (size_t i = 0; i < features.size(); ++i) {
    if (!features[i].is_string())
      malformed("cpu.features[" + std::to_string(i) + "]", "a string", features[i]);
    cpu.features.push_back(features[i].get<std::string>());
  }
  object.refuseOthers();
  return cpu;
}

DerivedTensor readView(const Json &json, const std::string &where) {
  Object object(json, where);
  DerivedTensor view;
  view.name = object.string("view");
  view.of = object.string("of");
  for (const auto &[key, texts] : {std::pair("sizes", &view.sizes), std::pair("strides", &view.strides)})
    for (const Json &text : array(object, key))
      texts->push_back(toExpression(text, object.path(key)));
  if (view.sizes.size() != view.strides.size())
    malformed(object.path("strides"), "as many strides as sizes", object.get("strides"));
  view.offset = toExpression(object.get("offset"), object.path("offset"));
  object.refuseOthers();
  return view;
}

LaunchDescriptor read(const Json &json) {
  Object object(json, "");
  LaunchDescriptor result;
  result.version = static_cast<int>(object.integer("version", 1, INT32_MAX));
  if (result.version > LaunchDescriptor::currentVersion)
    throw Malformed{"expected a launch descriptor of version " + std::to_string(LaunchDescriptor::currentVersion) +
                    " or older, but got version " + std::to_string(result.version) + "; update the runtime"};
  result.entry = object.string("entry");
  result.abi = object.string("abi");
  if (result.abi != "ptx" && result.abi != "so")
    malformed("abi", "\"ptx\" or \"so\"", object.get("abi"));
  readGrid(object, result);
  if (object.has("block"))
    readTriple(object, "block", result.block);
  if (object.has("cluster"))
    readTriple(object, "cluster", result.cluster);
  if (object.has("shared_bytes"))
    result.sharedBytes = toExpression(object.get("shared_bytes"), "shared_bytes");
  if (object.has("scratch_bytes"))
    result.scratchBytes = toExpression(object.get("scratch_bytes"), "scratch_bytes");
  if (object.has("symbols")) {
    const Json &symbols = object.get("symbols");
    if (!symbols.is_object())
      malformed("symbols", "an object", symbols);
    for (const auto &[name, value] : symbols.items())
      result.symbols[name] = toExpression(value, "symbols." + name);
  }
  if (object.has("views")) {
    const Json &views = array(object, "views");
    for (size_t i = 0; i < views.size(); ++i)
      result.views.push_back(readView(views[i], "views[" + std::to_string(i) + "]"));
  }
  const Json &arguments = array(object, "args");
  for (size_t i = 0; i < arguments.size(); ++i)
    result.arguments.push_back(readArgument(arguments[i], "args[" + std::to_string(i) + "]"));
  if (object.has("guards")) {
    const Json &guards = array(object, "guards");
    for (size_t i = 0; i < guards.size(); ++i)
      result.guards.push_back(readGuard(guards[i], "guards[" + std::to_string(i) + "]"));
  }
  if (object.has("cpu"))
    result.cpu = readCpu(object.get("cpu"));
  if (object.has("order")) {
    result.order = object.string("order");
    if (result.order != "linear" && result.order != "heavy_first")
      malformed("order", "\"linear\" or \"heavy_first\"", object.get("order"));
  }
  object.refuseOthers();
  return result;
}

} // namespace

std::string LaunchDescriptor::toJson() const {
  Json json{{"version", version}, {"entry", entry}, {"abi", abi}, {"grid", grid}, {"block", block}};
  if (cluster[0] != 1 || cluster[1] != 1 || cluster[2] != 1)
    json["cluster"] = cluster;
  json["shared_bytes"] = sharedBytes;
  json["scratch_bytes"] = scratchBytes;
  json["symbols"] = symbols;
  if (!views.empty())
    json["views"] = Json::array();
  for (const DerivedTensor &view : views)
    json["views"].push_back({{"view", view.name},
                             {"of", view.of},
                             {"sizes", view.sizes},
                             {"strides", view.strides},
                             {"offset", view.offset}});
  json["args"] = Json::array();
  for (const KernelArgument &argument : arguments)
    json["args"].push_back(writeArgument(argument));
  json["guards"] = Json::array();
  for (const Guard &guard : guards)
    json["guards"].push_back(Json{{"condition", guard.condition}, {"remedy", guard.remedy}});
  if (!cpu.empty())
    json["cpu"] = Json{{"architecture", cpu.architecture}, {"features", cpu.features}};
  json["order"] = order;
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Expected<LaunchDescriptor> LaunchDescriptor::fromJson(const std::string &text) {
  return readJson(text, "a launch descriptor", read);
}

} // namespace fa
