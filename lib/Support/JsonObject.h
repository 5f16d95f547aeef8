// Reading JSON key by key: what is not understood is refused, because a runtime that ignores part of a contract gives
// wrong answers.
#pragma once
#include "fa/Support/LaunchDescriptor.h"
#include <nlohmann/json.hpp>
#include <set>

namespace fa::json {

using Json = nlohmann::ordered_json;
/// Thrown between the readers of one file only; readJson turns it into an Error.
struct Malformed {
  std::string message;
};

[[noreturn]] inline void malformed(const std::string &where, const std::string &expected, const Json &got) {
  std::string text = got.dump();
  if (text.size() > 60)
    text = text.substr(0, 57) + "...";
  throw Malformed{"expected " + expected + " at '" + where + "', but got " + text};
}

/// Reads the keys of one object and remembers which were asked for.
class Object {
public:
  Object(const Json &json, std::string where) : json(json), where(std::move(where)) {
    if (!json.is_object())
      malformed(this->where, "an object", json);
  }

  std::string path(const std::string &key) const { return where.empty() ? key : where + "." + key; }
  bool has(const std::string &key) const { return json.contains(key); }

  const Json &get(const std::string &key) {
    seen.insert(key);
    if (!json.contains(key))
      throw Malformed{"expected key '" + path(key) + "', but it is missing"};
    return json.at(key);
  }

  std::string string(const std::string &key) {
    const Json &value = get(key);
    if (!value.is_string())
      malformed(path(key), "a string", value);
    return value.get<std::string>();
  }

  int64_t integer(const std::string &key, int64_t low, int64_t high) {
    return toInteger(get(key), path(key), low, high);
  }

  void refuseOthers() const {
    for (const auto &[key, value] : json.items())
      if (!seen.count(key))
        throw Malformed{"expected only known keys, but got '" + path(key) +
                        "' (made by a newer compiler, or misspelt)"};
  }

  static int64_t toInteger(const Json &value, const std::string &where, int64_t low, int64_t high) {
    const std::string range = "an integer from " + std::to_string(low) + " to " + std::to_string(high);
    if (!value.is_number_integer() || (value.is_number_unsigned() && value.get<uint64_t>() > uint64_t(INT64_MAX)))
      malformed(where, range, value);
    const int64_t number = value.get<int64_t>();
    if (number < low || number > high)
      malformed(where, range, value);
    return number;
  }

private:
  const Json &json;
  std::string where;
  std::set<std::string> seen;
};

inline std::string toExpression(const Json &value, const std::string &where) {
  if (!value.is_number_integer() && !value.is_string())
    malformed(where, "an expression (a string or an integer)", value);
  std::string text = value.is_string() ? value.get<std::string>() : value.dump();
  if (Status status = checkExpressionSyntax(text); !status)
    throw Malformed{status.message() + " (key '" + where + "')"};
  return text;
}

/// Parses `text` and calls `read` on it. `what` stands for the document in errors: "a launch descriptor".
template <typename T> Expected<T> readJson(const std::string &text, const std::string &what, T (*read)(const Json &)) {
  // Printing a value in an error is recursive: nesting is bounded where it enters.
  const Json::parser_callback_t boundDepth = [&](int depth, Json::parse_event_t, Json &) {
    if (depth > 16)
      throw Malformed{"expected " + what + ", but got JSON nested deeper than 16"};
    return true;
  };
  try {
    return read(Json::parse(text, boundDepth));
  } catch (const Malformed &problem) {
    return makeError(problem.message);
  } catch (const nlohmann::json::parse_error &problem) {
    return makeError("expected " + what + " in JSON, but got a syntax error at byte " + std::to_string(problem.byte));
  } catch (const nlohmann::json::exception &problem) {
    return makeError("expected " + what + " in JSON, but got: " + problem.what());
  }
}

} // namespace fa::json
