// Compiling through the kernel cache: the same code, found again exactly when nothing it depends on changed.
#include "TemporaryFolder.h"
#include "fa/Execution/KernelCache.h"
#include "fa/Execution/Run.h"
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

using namespace fa::execution;

namespace {

class CachedCompile : public testing::Test {
protected:
  fa::test::TemporaryFolder folder;
  CompileOptions options;
  AttentionSpec spec;

  CachedCompile() {
    options.cacheDirectory = folder.path("cache");
    options.threads = 1;
    spec.seqQ = spec.seqKv = 70;
    spec.depth = spec.depthV = 16;
    spec.causal = Corner::TopLeft;
  }

  /// Compiles, runs and checks; returns what the cache did.
  std::string cacheOutcome() {
    auto program = Program::fromSpec(spec);
    EXPECT_TRUE(bool(program)) << program.message();
    auto kernel = compile(*program, options);
    EXPECT_TRUE(bool(kernel)) << kernel.message();
    if (!kernel)
      return "";
    auto report = run(*program, **kernel, RunOptions{});
    EXPECT_TRUE(report && report->passed());
    EXPECT_FALSE((*kernel)->report().schedule.empty() && options.lowering != "naive");
    EXPECT_FALSE((*kernel)->report().kernels.empty());
    return (*kernel)->report().cache;
  }
};

TEST_F(CachedCompile, HitsTheSecondTime) {
  for (const char *lowering : {"auto", "loops", "naive"}) {
    options.lowering = lowering;
    EXPECT_EQ(cacheOutcome(), "miss") << lowering;
    EXPECT_EQ(cacheOutcome(), "hit") << lowering;
  }
}

TEST_F(CachedCompile, MissesWhenAnythingChanges) {
  EXPECT_EQ(cacheOutcome(), "miss");
  auto expectMiss = [&](const char *what) {
    EXPECT_EQ(cacheOutcome(), "miss") << what;
    EXPECT_EQ(cacheOutcome(), "hit") << what;
  };
  spec.causal = Corner::BottomRight;
  expectMiss("mask");
  spec.softcap = 2.0;
  expectMiss("softcap");
  spec.softcap = 3.0;
  expectMiss("value of the softcap");
  spec.dtype = fa::DType::BF16;
  expectMiss("element type");
  options.tileKv = 32;
  expectMiss("tile_kv");
  options.tileQ = 16;
  expectMiss("tile_q");
}

TEST_F(CachedCompile, LengthsThatAreOpenShareOneKernel) {
  spec.dynamicLengths = true;
  auto program = Program::fromSpec(spec);
  ASSERT_TRUE(bool(program));
  RunOptions sizes;
  sizes.shapes = spec.openShapes();
  for (const char *expected : {"miss", "hit"}) {
    auto kernel = compile(*program, options);
    ASSERT_TRUE(bool(kernel));
    EXPECT_EQ((*kernel)->report().cache, expected);
    auto report = run(*program, **kernel, sizes);
    ASSERT_TRUE(bool(report)) << report.message();
    EXPECT_TRUE(report->passed());
  }
}

TEST_F(CachedCompile, CompilesWhenTheCacheDoesNotWork) {
  std::ofstream(folder.path("file")) << "not a folder";
  options.cacheDirectory = folder.path("file");
  EXPECT_NE(cacheOutcome().find("not used: cannot create"), std::string::npos);
  options.cacheDirectory.clear();
  EXPECT_EQ(cacheOutcome(), "off");
}

TEST_F(CachedCompile, CompilesAgainWhenEveryEntryIsDamaged) {
  EXPECT_EQ(cacheOutcome(), "miss");
  for (const auto &file : std::filesystem::directory_iterator(options.cacheDirectory))
    std::filesystem::resize_file(file.path(), std::filesystem::file_size(file.path()) / 2);
  EXPECT_EQ(cacheOutcome(), "miss");
  EXPECT_EQ(cacheOutcome(), "hit");
}

} // namespace
