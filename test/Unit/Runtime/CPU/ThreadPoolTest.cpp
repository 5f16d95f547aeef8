#include "fa/Runtime/CPU/ThreadPool.h"
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

TEST(ThreadPool, DefaultUsesTheAvailableCores) {
  EXPECT_GE(availableCores(), 1u);
  EXPECT_EQ(ThreadPool().threads(), availableCores());
}

} // namespace
