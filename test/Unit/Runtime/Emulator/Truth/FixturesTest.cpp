// Correct kernels run clean under all checks for many seeds, with exact results and exact traffic counts.
#include "FixtureKernels.h"
#include "FullSweep.h"

using namespace fa;
using namespace fa::test;

namespace {

void expectClean(const char *name, const FixtureRunner &runner) {
  const std::string ptx = fixtureText(std::string(name) + ".ptx");
  for (uint64_t seed = 0; seed <= (fullSweep() ? 200u : 10u); ++seed) {
    Options options;
    options.seed = seed;
    options.h100Arithmetic = seed % 2;
    auto run = runner(ptx, options);
    ASSERT_TRUE(run) << name << ": " << run.message();
    for (const Report &report : run->result.reports)
      ADD_FAILURE() << name << ", seed " << seed << ": " << toString(report);
    ASSERT_TRUE(run->result.status) << name << ", seed " << seed << ": " << run->result.status.message();
    ASSERT_TRUE(run->outputsRight) << name << ", seed " << seed;
  }
}

TEST(Fixtures, TwoProductsIsCleanAndExact) {
  expectClean("TwoProducts",
              [](const std::string &ptx, const Options &options) { return runTwoProducts(ptx, options); });
}
TEST(Fixtures, MmaProductIsCleanAndExact) { expectClean("MmaProduct", runMmaProduct); }
TEST(Fixtures, ClusterIsCleanAndExact) { expectClean("Cluster", runCluster); }

TEST(Fixtures, CountsBytesPerTensor) {
  auto run = runTwoProducts(fixtureText("TwoProducts.ptx"), Options{});
  ASSERT_TRUE(run) << run.message();
  const Counters &counters = run->result.counters;
  std::map<std::string, std::pair<uint64_t, uint64_t>> expected = {
      {"q", {256 * 128, 0}}, {"k", {2 * 256 * 128, 0}}, {"v", {2 * 256 * 128, 0}}, {"o", {0, 256 * 128}}};
  for (const BufferTraffic &buffer : counters.buffers) {
    ASSERT_TRUE(expected.count(buffer.name)) << buffer.name;
    EXPECT_EQ(buffer.bytesRead, expected[buffer.name].first) << buffer.name;
    EXPECT_EQ(buffer.bytesWritten, expected[buffer.name].second) << buffer.name;
    EXPECT_EQ(buffer.tmaBytesRead, buffer.bytesRead);
    expected.erase(buffer.name);
  }
  EXPECT_TRUE(expected.empty());
  // Per block: 2 warpgroups, 4 tiles, two products of 64 x 64 x 64.
  EXPECT_EQ(counters.wgmmaMacs, 2u * 2 * 4 * 2 * 64 * 64 * 64);
}

} // namespace
