// The kernel cache: what is stored comes back, damage is noticed, other keys and other processes do not interfere.
#include "fa/Execution/KernelCache.h"
#include "TemporaryFolder.h"
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace fs = std::filesystem;
using fa::execution::KernelCache;

namespace {

class KernelCacheTest : public testing::Test {
protected:
  fa::test::TemporaryFolder folder;
  std::string directory = folder.path("cache");

  KernelCache open(KernelCache::Limits limits = {}) {
    auto cache = KernelCache::open(directory, limits);
    EXPECT_TRUE(bool(cache)) << cache.message();
    return *cache;
  }
  size_t filesWith(const std::string &extension) {
    size_t count = 0;
    for (const auto &file : fs::directory_iterator(directory))
      count += file.path().extension() == extension;
    return count;
  }
};

TEST_F(KernelCacheTest, ReturnsWhatWasStored) {
  KernelCache cache = open();
  EXPECT_EQ(cache.load("key"), std::nullopt);
  const std::string contents("binary\0contents\n", 16);
  ASSERT_TRUE(bool(cache.store("key", contents)));
  EXPECT_EQ(cache.load("key"), contents);
  EXPECT_EQ(cache.load("key2"), std::nullopt);
  ASSERT_TRUE(bool(cache.store("key", "newer")));
  EXPECT_EQ(cache.load("key"), "newer");
  EXPECT_EQ(filesWith(".kernel"), 1u);
  EXPECT_EQ(filesWith(".tmp"), 0u);
}

TEST_F(KernelCacheTest, RefusesDamagedEntries) {
  KernelCache cache = open();
  ASSERT_TRUE(bool(cache.store("key", std::string(1000, 'x'))));
  const std::string path = cache.pathOf("key");
  const auto size = fs::file_size(path);
  for (uintmax_t cut : {uintmax_t(0), uintmax_t(5), size / 2, size - 1}) {
    ASSERT_TRUE(bool(cache.store("key", std::string(1000, 'x'))));
    fs::resize_file(path, cut);
    EXPECT_EQ(cache.load("key"), std::nullopt) << cut;
  }
  for (uintmax_t at : {uintmax_t(0), uintmax_t(9), uintmax_t(17), uintmax_t(30), size - 500, size - 1}) {
    ASSERT_TRUE(bool(cache.store("key", std::string(1000, 'x'))));
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(static_cast<std::streamoff>(at));
    const int byte = file.get();
    file.seekp(static_cast<std::streamoff>(at));
    file.put(static_cast<char>(byte ^ 1));
    file.close();
    EXPECT_EQ(cache.load("key"), std::nullopt) << "byte " << at;
  }
}

TEST_F(KernelCacheTest, RechecksTheRecordedKey) {
  KernelCache cache = open();
  ASSERT_TRUE(bool(cache.store("one", "contents of one")));
  fs::copy_file(cache.pathOf("one"), cache.pathOf("two"));
  EXPECT_EQ(cache.load("two"), std::nullopt);
}

TEST_F(KernelCacheTest, RemovesTheLongestUnusedBeyondItsLimit) {
  KernelCache cache = open({.bytes = 5000});
  for (const char *key : {"a", "b", "c"}) {
    ASSERT_TRUE(bool(cache.store(key, std::string(1500, '.'))));
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  EXPECT_TRUE(cache.load("a")); // used now: `b` is the oldest
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  ASSERT_TRUE(bool(cache.store("d", std::string(1500, '.'))));
  EXPECT_TRUE(cache.load("a"));
  EXPECT_FALSE(cache.load("b"));
  EXPECT_TRUE(cache.load("c"));
  EXPECT_TRUE(cache.load("d"));
  ASSERT_TRUE(bool(cache.store("large", std::string(9000, '.'))));
  EXPECT_TRUE(cache.load("large")) << "the entry just written stays";
  EXPECT_EQ(filesWith(".kernel"), 1u);
}

TEST_F(KernelCacheTest, CleansUpAfterKilledProcesses) {
  KernelCache cache = open({.abandonedSeconds = 100});
  const std::string old = directory + "/1-0.tmp", young = directory + "/2-0.tmp";
  std::ofstream(old) << "half";
  std::ofstream(young) << "half";
  fs::last_write_time(old, fs::file_time_type::clock::now() - std::chrono::seconds(200));
  ASSERT_TRUE(bool(cache.store("key", "contents")));
  EXPECT_FALSE(fs::exists(old));
  EXPECT_TRUE(fs::exists(young)) << "its process may still be writing";
}

TEST_F(KernelCacheTest, NamesWhatItCannotUse) {
  std::ofstream(folder.path("file")) << "not a folder";
  auto cache = KernelCache::open(folder.path("file"));
  ASSERT_FALSE(bool(cache));
  EXPECT_NE(cache.message().find("cannot create the kernel cache"), std::string::npos) << cache.message();
}

/// Stores and loads under shared keys, as many compilers would; exits with the number of wrong contents.
[[noreturn]] void useCache(const std::string &directory, int seed) {
  auto cache = KernelCache::open(directory);
  int wrong = cache ? 0 : 100;
  for (int round = 0; cache && round < 60; ++round) {
    const std::string key = "kernel " + std::to_string((seed + round) % 4);
    const std::string contents = key + std::string(200000, key.back());
    if (auto found = cache->load(key))
      wrong += *found != contents;
    if (!cache->store(key, contents))
      ++wrong;
  }
  ::_exit(wrong);
}

TEST_F(KernelCacheTest, SixteenProcessesShareOneColdCacheAndOneIsKilled) {
  std::vector<pid_t> children;
  for (int n = 0; n < 16; ++n) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0)
      useCache(directory, n);
    children.push_back(child);
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(15));
  ::kill(children[3], SIGKILL);
  for (size_t n = 0; n < children.size(); ++n) {
    int status = 0;
    ASSERT_EQ(::waitpid(children[n], &status, 0), children[n]);
    if (n != 3)
      EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "process " << n << ", status " << status;
  }
  KernelCache cache = open();
  for (int n = 0; n < 4; ++n) {
    const std::string key = "kernel " + std::to_string(n);
    EXPECT_EQ(cache.load(key), key + std::string(200000, key.back()));
  }
}

TEST_F(KernelCacheTest, AWriterKilledHalfWayLeavesNoEntry) {
  open();
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    // More than a pipe or page cache takes at once; killed below while it writes.
    auto cache = KernelCache::open(directory);
    const std::string contents(size_t(96) << 20, 'x');
    if (!cache->store("large", contents))
      ::_exit(1);
    ::_exit(0);
  }
  for (int i = 0; i < 2000 && filesWith(".tmp") == 0; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  ::kill(child, SIGKILL);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status)) << "the writer was faster than the test";
  KernelCache cache = open();
  EXPECT_EQ(cache.load("large"), std::nullopt);
  EXPECT_EQ(filesWith(".kernel"), 0u);
  EXPECT_TRUE(bool(cache.store("large", "small")));
  EXPECT_EQ(cache.load("large"), "small");
}

TEST(BuildId, IsStableAndNamesSeveralObjects) {
  const std::string id = fa::execution::compilerBuildId();
  EXPECT_EQ(id, fa::execution::compilerBuildId());
  EXPECT_GE(std::count(id.begin(), id.end(), '+'), 2) << "the compiler, MLIR and LLVM: " << id;
}

} // namespace
