#include "fa/Runtime/CPU/ThreadPool.h"
#include <cstring>
#include <gtest/gtest.h>
#include <set>

using namespace fa::runtime;

namespace {

TEST(ThreadPool, EveryIndexOnce) {
  for (unsigned threads : {1u, 2u, 5u}) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.threads(), threads);
    for (int64_t count : {0, 1, 2, 1000}) {
      std::vector<std::atomic<int>> hits(static_cast<size_t>(count));
      pool.run(count, [&](int64_t i, unsigned worker) {
        EXPECT_LT(worker, threads);
        ++hits[static_cast<size_t>(i)];
      });
      for (const auto &hit : hits)
        EXPECT_EQ(hit, 1);
    }
  }
}

TEST(ThreadPool, ALongBlockDoesNotHoldUpTheOthers) {
  ThreadPool pool(2);
  std::atomic<int> finished{0};
  // Block 0 ends only when all others have: a static partition would never return.
  pool.run(10, [&](int64_t i, unsigned) {
    if (i == 0)
      while (finished < 9)
        std::this_thread::yield();
    ++finished;
  });
  EXPECT_EQ(finished, 10);
}

TEST(ThreadPool, ConcurrentCallersTakeTurns) {
  ThreadPool pool(3);
  std::atomic<int64_t> sum{0};
  std::vector<std::thread> callers;
  for (int c = 0; c < 4; ++c)
    callers.emplace_back([&] {
      for (int round = 0; round < 200; ++round)
        pool.run(10, [&](int64_t i, unsigned) { sum += i; });
    });
  for (std::thread &caller : callers)
    caller.join();
  EXPECT_EQ(sum, 4 * 200 * 45);
}

TEST(ThreadPool, ArenasArePrivateAlignedAndKept) {
  ThreadPool pool(3);
  std::vector<void *> first;
  for (uint64_t bytes : {100000, 50000, 100000}) {
    std::vector<void *> memory;
    const auto prepare = [&](const std::vector<ScratchArena> &arenas) {
      for (const ScratchArena &arena : arenas)
        memory.push_back(arena.data());
    };
    std::vector<std::atomic<int>> users(3);
    std::atomic<int> clashes{0};
    const fa::Status status = pool.run(500, bytes, prepare, [&](int64_t index, unsigned worker) {
      clashes += users[worker]++ != 0;
      std::memset(memory[worker], static_cast<int>(index), bytes);
      --users[worker];
    });
    ASSERT_TRUE(status) << status.message();
    EXPECT_EQ(clashes, 0);
    ASSERT_EQ(memory.size(), 3u);
    EXPECT_EQ(std::set<void *>(memory.begin(), memory.end()).size(), 3u);
    for (void *address : memory)
      EXPECT_EQ(reinterpret_cast<uintptr_t>(address) % ScratchArena::alignment, 0u);
    if (first.empty())
      first = memory;
    EXPECT_EQ(memory, first) << "smaller and equal sizes use the same pages";
  }
}

TEST(ThreadPool, ScratchThatCannotBeHadIsAnErrorBeforeAnyCall) {
  ThreadPool pool(2);
  const auto never = [](auto &&...) { FAIL() << "called without scratch memory"; };
  const fa::Status status = pool.run(4, uint64_t(1) << 60, never, never);
  ASSERT_FALSE(status);
  EXPECT_NE(status.message().find("for scratch memory: the machine has"), std::string::npos) << status.message();
}

TEST(ThreadPool, DefaultUsesTheAvailableCores) {
  EXPECT_GE(availableCores(), 1u);
  EXPECT_EQ(ThreadPool().threads(), availableCores());
}

} // namespace
