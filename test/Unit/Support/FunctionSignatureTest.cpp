// Signatures: JSON round trip, sizes that follow from others, refusals.
#include "fa/Support/FunctionSignature.h"
#include <gtest/gtest.h>

using namespace fa;

namespace {
constexpr const char *text = R"({
  "version": 1, "function": "attention", "arguments": [
  {"tensor": "q", "type": "bf16", "sizes": ["?", 2, "?", 64], "strides": ["?", "?", 128, 1], "offset": 8, "output": false},
  {"tensor": "doc", "type": "i32", "sizes": ["q.dim0", "q.dim2"], "strides": ["?", 1], "fill": "documents:3", "output": false},
  {"scalar": "scale", "type": "f32"},
  {"tensor": "o", "type": "bf16", "sizes": ["q.dim0", 2, "q.dim2", 64], "strides": ["?", "?", "?", 1], "output": true}]})";

FunctionSignature parse(const std::string &json) {
  Expected<FunctionSignature> signature = FunctionSignature::fromJson(json);
  EXPECT_TRUE(signature) << signature.message();
  return signature ? *signature : FunctionSignature();
}

std::string errorOf(const std::string &json) {
  Expected<FunctionSignature> signature = FunctionSignature::fromJson(json);
  return signature ? "" : signature.message();
}

std::string replaced(std::string from, const std::string &to) {
  std::string json = text;
  const size_t at = json.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return json.replace(at, from.size(), to);
}
} // namespace

TEST(FunctionSignature, RoundTrip) {
  const FunctionSignature signature = parse(text);
  EXPECT_EQ(signature.toJson(), parse(signature.toJson()).toJson());
  ASSERT_EQ(signature.arguments.size(), 4u);
  EXPECT_EQ(signature.find("q")->offset, 8);
  EXPECT_EQ(signature.find("q")->strides[2], 128);
  EXPECT_FALSE(signature.find("q")->strides[0]);
  EXPECT_EQ(signature.find("doc")->fill, "documents:3");
  EXPECT_FALSE(signature.find("scale")->isTensor);
  EXPECT_TRUE(signature.find("o")->isOutput);
  EXPECT_EQ(signature.find("k"), nullptr);
}

TEST(FunctionSignature, SizesFollow) {
  const FunctionSignature signature = parse(text);
  const auto sizes = signature.resolve({{"q", {3, 2, 65, 64}}});
  ASSERT_TRUE(sizes) << sizes.message();
  EXPECT_EQ(sizes->at("o"), (std::vector<int64_t>{3, 2, 65, 64}));
  EXPECT_EQ(sizes->at("doc"), (std::vector<int64_t>{3, 65}));
  EXPECT_EQ(sizes->count("scale"), 0u);
}

TEST(FunctionSignature, SizesRefused) {
  const FunctionSignature signature = parse(text);
  const auto error = [&](const std::map<std::string, std::vector<int64_t>> &given) {
    const auto sizes = signature.resolve(given);
    return sizes ? "" : sizes.message();
  };
  EXPECT_EQ(error({}), "expected sizes for 'q' (?x2x?x64), because its type leaves them open");
  EXPECT_EQ(error({{"q", {3, 4, 65, 64}}}), "expected dimension 1 of 'q' to be 2 (2), but got 4");
  EXPECT_EQ(error({{"q", {3, 2, 65, 64}}, {"o", {3, 2, 66, 64}}}),
            "expected dimension 2 of 'o' to be 65 (q.dim2), but got 66");
  EXPECT_EQ(error({{"q", {3, 2}}}), "expected 4 sizes for 'q' (?x2x?x64), but got 3x2");
  EXPECT_EQ(error({{"scale", {3}}}), "expected the name of a tensor, but got 'scale'");
}

TEST(FunctionSignature, JsonRefused) {
  EXPECT_EQ(errorOf(replaced("\"version\": 1", "\"version\": 9")),
            "expected a signature of version 1 or older, but got version 9; update the runtime");
  EXPECT_NE(errorOf(replaced("\"q.dim2\"", "\"q.size2\"")).find("expected a number, \"?\" or a dimension"),
            std::string::npos);
  EXPECT_NE(errorOf(replaced("[\"?\", \"?\", 128, 1]", "[1]")).find("as many strides as sizes"), std::string::npos);
  EXPECT_NE(errorOf(replaced("\"i32\"", "\"int\"")).find("arguments[1].type"), std::string::npos);
  EXPECT_NE(errorOf(replaced("\"output\": true", "\"output\": 1")).find("true or false"), std::string::npos);
  EXPECT_NE(errorOf(replaced("\"scalar\"", "\"scaler\"")).find("'arguments[2].scalar'"), std::string::npos);
  EXPECT_NE(errorOf(replaced("\"function\"", "\"strange\": 1, \"function\"")).find("'strange'"), std::string::npos);
  EXPECT_NE(errorOf("[]").find("an object"), std::string::npos);
  EXPECT_NE(errorOf("{").find("syntax error"), std::string::npos);
}
