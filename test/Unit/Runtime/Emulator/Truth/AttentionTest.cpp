// A hand-written FlashAttention kernel on the emulator: O and LSE against float64, clean under all checks, exact
// traffic.
#include "AttentionKernel.h"
#include "FullSweep.h"

using namespace fa;
using namespace fa::test;

namespace {

TEST(Attention, MatchesFloat64) {
  const std::string ptx = fixtureText("Attention.ptx");
  std::vector<AttentionShape> shapes = {
      {200, 300, 1, false}, {128, 128, 2, true}, {130, 70, 1, true}, {1, 1, 1, false}, {64, 257, 1, true}};
  if (fullSweep())
    for (int queries : {1, 63, 64, 65, 127, 128, 129, 257, 512})
      for (int keys : {1, 64, 127, 128, 129, 300, 640})
        for (bool causal : {false, true})
          shapes.push_back({queries, keys, 2, causal});
  uint64_t seed = 0;
  for (const AttentionShape &shape : shapes)
    for (bool exact : {false, true}) {
      Options options;
      options.seed = seed++;
      options.h100Arithmetic = exact;
      Emulator device(options);
      auto program = device.load(ptx);
      ASSERT_TRUE(program) << program.message();
      AttentionKernel kernel(device, shape);
      auto result = kernel.launch(**program);
      ASSERT_TRUE(result) << result.message();
      for (const Report &report : result->reports)
        ADD_FAILURE() << toString(report);
      ASSERT_TRUE(result->status) << result->status.message();
      const auto difference = kernel.compare();
      EXPECT_LE(difference.output, 1e-2) << shape.queries << "x" << shape.keys << (shape.causal ? " causal" : "");
      EXPECT_LE(difference.rms, 1e-3);
      EXPECT_LE(difference.lse, 1e-5);
    }
}

TEST(Attention, ReadsAndWritesExactlyTheInBoundsBytes) {
  Emulator device;
  auto program = device.load(fixtureText("Attention.ptx"));
  ASSERT_TRUE(program) << program.message();
  AttentionKernel kernel(device, {200, 300, 2, false});
  auto result = kernel.launch(**program);
  ASSERT_TRUE(result && result->status);
  // K and V once for each of the two query tiles; ragged ends are not counted.
  std::map<std::string, std::pair<uint64_t, uint64_t>> expected = {{"q", {2 * 200 * 256, 0}},
                                                                   {"k", {2 * 2 * 300 * 256, 0}},
                                                                   {"v", {2 * 2 * 300 * 256, 0}},
                                                                   {"o", {0, 2 * 200 * 256}},
                                                                   {"lse", {0, 2 * 200 * 4}}};
  for (const BufferTraffic &buffer : result->counters.buffers) {
    EXPECT_EQ(buffer.bytesRead, expected[buffer.name].first) << buffer.name;
    EXPECT_EQ(buffer.bytesWritten, expected[buffer.name].second) << buffer.name;
  }
}

} // namespace
