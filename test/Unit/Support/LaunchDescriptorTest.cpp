#include "fa/Support/LaunchDescriptor.h"
#include <gtest/gtest.h>

using namespace fa;
using Kind = KernelArgument::Kind;

namespace {

const char *const example = R"({"version": 1, "entry": "k", "abi": "ptx",
 "grid": ["ceildiv(Sq,128)*Hq*B", 1, 1], "block": 384, "shared_bytes": 163840, "scratch_bytes": 0,
 "symbols": {"Sq": "q.dim2", "Hq": "q.dim1", "B": "q.dim0"},
 "args": [{"tensor_map": "k", "box": [64, 128, 1, 1], "swizzle": 128}, {"pointer": "lse"}, {"stride": "q.2"},
          {"scalar": "scale", "type": "f32"}, {"dim": "q.1"}, {"memref": "o", "rank": 4},
          {"expression": "Sq * 2", "type": "i64"}, {"scratch": true}],
 "guards": ["q.stride2 % 8 == 0", {"condition": "B > 0", "remedy": "give a batch"}]})";

/// The example with one piece replaced.
std::string with(const std::string &from, const std::string &to) {
  std::string text = example;
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

std::string error(const std::string &text) {
  const Expected<LaunchDescriptor> result = LaunchDescriptor::fromJson(text);
  EXPECT_FALSE(result) << text;
  return result ? "" : result.message();
}

TEST(LaunchDescriptor, ReadsTheDocumentedForm) {
  const Expected<LaunchDescriptor> result = LaunchDescriptor::fromJson(example);
  ASSERT_TRUE(result) << result.message();
  EXPECT_EQ(result->entry, "k");
  EXPECT_EQ(result->grid[0], "ceildiv(Sq,128)*Hq*B");
  EXPECT_EQ(result->grid[2], "1");
  EXPECT_EQ(result->block[0], 384);
  EXPECT_EQ(result->sharedBytes, "163840");
  EXPECT_EQ(result->symbols.at("Hq"), "q.dim1");
  ASSERT_EQ(result->arguments.size(), 8u);
  EXPECT_EQ(result->arguments[0].kind, Kind::TensorMap);
  EXPECT_EQ(result->arguments[0].box, (std::vector<int64_t>{64, 128, 1, 1}));
  EXPECT_EQ(result->arguments[0].swizzle, 128);
  EXPECT_EQ(result->arguments[2].tensor, "q");
  EXPECT_EQ(result->arguments[2].dim, 2);
  EXPECT_EQ(result->arguments[3].type, DType::F32);
  EXPECT_EQ(result->arguments[5].rank, 4);
  EXPECT_EQ(result->arguments[6].expression, "Sq * 2");
  EXPECT_EQ(result->arguments[7].kind, Kind::Scratch);
  EXPECT_EQ(result->guards[1].remedy, "give a batch");
  EXPECT_EQ(result->order, "linear");
}

TEST(LaunchDescriptor, RoundTripIsStable) {
  const Expected<LaunchDescriptor> first = LaunchDescriptor::fromJson(example);
  ASSERT_TRUE(first);
  const std::string text = first->toJson();
  const Expected<LaunchDescriptor> second = LaunchDescriptor::fromJson(text);
  ASSERT_TRUE(second) << second.message();
  EXPECT_EQ(second->toJson(), text);
  EXPECT_EQ(second->arguments.size(), first->arguments.size());
}

TEST(LaunchDescriptor, CpuRequirementsAreOptional) {
  const Expected<LaunchDescriptor> without = LaunchDescriptor::fromJson(example);
  ASSERT_TRUE(without);
  EXPECT_TRUE(without->cpu.empty());
  EXPECT_EQ(without->toJson().find("\"cpu\""), std::string::npos);
  const std::string cpu = R"("cpu": {"architecture": "x86_64", "features": ["avx2", "fma"]}, "block": 384)";
  const Expected<LaunchDescriptor> with2 = LaunchDescriptor::fromJson(with("\"block\": 384", cpu));
  ASSERT_TRUE(with2) << with2.message();
  EXPECT_EQ(with2->cpu.architecture, "x86_64");
  EXPECT_EQ(with2->cpu.features, (std::vector<std::string>{"avx2", "fma"}));
  const Expected<LaunchDescriptor> again = LaunchDescriptor::fromJson(with2->toJson());
  ASSERT_TRUE(again) << again.message();
  EXPECT_EQ(again->toJson(), with2->toJson());
  EXPECT_NE(error(with("\"block\": 384", R"("cpu": {"architecture": "x86_64"})")).find("'cpu.features'"),
            std::string::npos);
  EXPECT_NE(error(with("\"block\": 384", R"("cpu": {"architecture": "x86_64", "features": [7]})"))
                .find("expected a string at 'cpu.features[0]', but got 7"),
            std::string::npos);
}

TEST(LaunchDescriptor, RefusesWhatItDoesNotUnderstand) {
  EXPECT_EQ(error(with("\"block\": 384", "\"blocks\": 384")),
            "expected only known keys, but got 'blocks' (made by a newer compiler, or misspelt)");
  EXPECT_NE(error(with("\"swizzle\"", "\"swizle\"")).find("args[0].swizle"), std::string::npos);
  EXPECT_NE(error(with("{\"pointer\"", "{\"ptr\"")).find("args[1]"), std::string::npos);
  EXPECT_NE(error(with("\"version\": 1", "\"version\": 3")).find("update the runtime"), std::string::npos);
  EXPECT_NE(error(with("\"ptx\"", "\"elf\"")).find("'abi'"), std::string::npos);
}

TEST(LaunchDescriptor, NamesMissingKeysAndWrongTypes) {
  EXPECT_EQ(error(with("\"entry\": \"k\",", "")), "expected key 'entry', but it is missing");
  EXPECT_NE(error(with("\"entry\": \"k\"", "\"entry\": 5")).find("expected a string at 'entry', but got 5"),
            std::string::npos);
  EXPECT_NE(error(with("384", "0")).find("block"), std::string::npos);
  EXPECT_NE(error(with("384", "1e3")).find("block"), std::string::npos);
  EXPECT_NE(error(with("\"swizzle\": 128", "\"swizzle\": 100")).find("0, 32, 64 or 128"), std::string::npos);
  EXPECT_NE(error(with("\"q.2\"", "\"q2\"")).find("tensor.dimension"), std::string::npos);
  EXPECT_NE(error(with("[64, 128, 1, 1]", "[64, 512]")).find("args[0].box"), std::string::npos);
  EXPECT_NE(error(with("\"type\": \"f32\"", "\"type\": \"f31\"")).find("args[3].type"), std::string::npos);
  EXPECT_NE(error(with("Sq * 2", "Sq *")).find("args[6].expression"), std::string::npos);
  EXPECT_NE(error(with("q.stride2 % 8 == 0", "q.stride2 %% 8")).find("guards[0]"), std::string::npos);
}

TEST(LaunchDescriptor, MalformedJsonIsAnError) {
  EXPECT_NE(error("{\"version\": 1,").find("syntax error at byte"), std::string::npos);
  EXPECT_NE(error("[]").find("an object"), std::string::npos);
  EXPECT_NE(error("").find("syntax error"), std::string::npos);
  EXPECT_NE(error(std::string(100000, '[')).find("nested"), std::string::npos);
  // Every prefix of a good file is refused, none crashes.
  const std::string text = example;
  for (size_t length = 0; length < text.size(); ++length)
    EXPECT_FALSE(LaunchDescriptor::fromJson(text.substr(0, length)));
}

} // namespace
