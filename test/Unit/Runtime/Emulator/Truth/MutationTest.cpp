// Every checker must notice when a correct kernel loses one synchronisation. Mutants that change nothing observable are
// listed with a reason in EquivalentMutants.txt; every other one must be reported within 20 seeds.
#include "AttentionKernel.h"
#include "FullSweep.h"
#include "fa/Runtime/EmulatorTool/Mutants.h"
#include <iostream>
#include <set>
#include <sstream>

using namespace fa;
using namespace fa::test;
using fa::runtime::tool::makeMutants;
using fa::runtime::tool::Mutant;

namespace {

constexpr uint64_t seeds = 20;

/// `fixture | kind | change | occurrence | reason` -> the first four joined.
std::map<std::string, std::string> readEquivalentMutants() {
  std::map<std::string, std::string> listed;
  Expected<std::string> text = readFile(fixturePath("Truth/EquivalentMutants.txt"));
  EXPECT_TRUE(text) << text.message();
  std::istringstream lines(text ? *text : "");
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line[0] == '#')
      continue;
    const size_t bar = line.rfind(" | ");
    EXPECT_NE(bar, std::string::npos) << line;
    EXPECT_GT(line.size(), bar + 13) << "a mutant needs a reason: " << line;
    listed[line.substr(0, bar)] = line.substr(bar + 3);
  }
  return listed;
}

std::string keyOf(const char *fixture, const Mutant &mutant) {
  return std::string(fixture) + " | " + mutant.kind + " | " + mutant.change + " | " + std::to_string(mutant.occurrence);
}

/// Seed and kind of the first report; seeds + 1 when there is none.
std::pair<uint64_t, std::string> firstReport(const Mutant &mutant, const FixtureRunner &runner, bool &wrongOutput) {
  for (uint64_t seed = 0; seed <= seeds; ++seed) {
    Options options;
    options.seed = seed;
    options.instructionBudget = 2'000'000;
    auto run = runner(mutant.text, options);
    if (!run)
      return {seed, "refused: " + run.message()};
    if (!run->result.reports.empty())
      return {seed, nameOf(run->result.reports[0].kind)};
    if (!run->result.status)
      return {seed, run->result.status.message()};
    wrongOutput = wrongOutput || !run->outputsRight;
  }
  return {seeds + 1, ""};
}

/// Runs every `step`-th mutant.
void testMutants(const char *fixture, const FixtureRunner &runner, size_t step = 1) {
  const std::vector<Mutant> mutants = makeMutants(fixtureText(std::string(fixture) + ".ptx"));
  ASSERT_GT(mutants.size(), 5u);
  const std::map<std::string, std::string> equivalent = readEquivalentMutants();
  std::map<std::string, std::pair<int, int>> rates; // kind -> killed, all that are not equivalent
  std::set<std::string> seen;
  int killed = 0, all = 0;
  size_t equivalentMutants = 0;
  for (size_t i = 0; i < mutants.size(); i += step) {
    const Mutant &mutant = mutants[i];
    const std::string key = keyOf(fixture, mutant);
    bool wrongOutput = false;
    const auto [seed, kind] = firstReport(mutant, runner, wrongOutput);
    const bool reported = seed <= seeds, isEquivalent = equivalent.count(key) != 0;
    seen.insert(key);
    if (isEquivalent) {
      ++equivalentMutants;
      EXPECT_FALSE(reported) << key << " is listed as equivalent, but was reported: " << kind;
      EXPECT_FALSE(wrongOutput) << key << " is listed as equivalent, but its output is wrong";
      continue;
    }
    EXPECT_TRUE(reported) << key << ": line " << mutant.line << ": " << mutant.original << " survived"
                          << (wrongOutput ? " with wrong output" : "");
    auto &[kindKilled, kindAll] = rates[mutant.kind];
    kindKilled += reported, ++kindAll, killed += reported, ++all;
  }
  for (const auto &[key, reason] : equivalent)
    if (step == 1 && key.starts_with(std::string(fixture) + " |"))
      EXPECT_TRUE(seen.count(key)) << "no such mutant any more: " << key;
  std::cout << fixture << ": " << killed << " of " << all << " mutants reported, " << equivalentMutants
            << " equivalent\n";
  for (const auto &[kind, rate] : rates)
    std::cout << "  " << kind << " " << rate.first << "/" << rate.second << "\n";
}

TEST(Mutation, TwoProducts) {
  testMutants("TwoProducts", [](const std::string &ptx, const Options &options) {
    return runTwoProducts(ptx, options, 64 * 9); /* twice round the unrolled loop, once the rest */
  });
}
TEST(Mutation, MmaProduct) { testMutants("MmaProduct", runMmaProduct); }
TEST(Mutation, Attention) {
  testMutants(
      "Attention",
      [](const std::string &ptx, const Options &options) {
        return runAttention(ptx, options, {128, 128 * 9, 1, false});
      },
      fullSweep() ? 1 : 5);
}
TEST(Mutation, Cluster) { testMutants("Cluster", runCluster); }

} // namespace
