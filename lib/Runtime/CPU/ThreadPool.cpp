// The pool's workers sleep between loops; inside one, an atomic counter balances blocks of unequal cost.
#include "fa/Runtime/CPU/ThreadPool.h"
#include "FlushSubnormals.h"
#include <algorithm>
#include <sched.h>

namespace fa::runtime {

unsigned availableCores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0)
    return std::max(1, CPU_COUNT(&set));
  return std::max(1u, std::thread::hardware_concurrency());
}

ThreadPool::ThreadPool(unsigned threads) : arenas(threads ? threads : availableCores()) {
  const unsigned total = static_cast<unsigned>(arenas.size());
  workers.reserve(total - 1);
  for (unsigned worker = 1; worker < total; ++worker)
    workers.emplace_back([this, worker] { work(worker); });
}

ThreadPool::~ThreadPool() {
  {
    std::lock_guard lock(mutex);
    stop = true;
  }
  wake.notify_all();
  for (std::thread &worker : workers)
    worker.join();
}

void ThreadPool::run(int64_t total, const std::function<void(int64_t, unsigned)> &loop) {
  if (total <= 0)
    return;
  std::lock_guard turn(callers);
  runInTurn(total, loop);
}

Status ThreadPool::run(int64_t total, uint64_t scratchBytes,
                       const std::function<void(const std::vector<ScratchArena> &)> &prepare,
                       const std::function<void(int64_t, unsigned)> &loop) {
  if (total <= 0)
    return Status::success();
  std::lock_guard turn(callers);
  for (ScratchArena &arena : arenas)
    if (Status status = arena.reserve(scratchBytes); !status)
      return status;
  prepare(arenas);
  runInTurn(total, [&](int64_t index, unsigned worker) {
    const FlushSubnormals flush;
    loop(index, worker);
  });
  return Status::success();
}

void ThreadPool::runInTurn(int64_t total, const std::function<void(int64_t, unsigned)> &loop) {
  // A short loop, or a pool of one, is not worth waking anybody for.
  if (total == 1 || workers.empty()) {
    for (int64_t index = 0; index < total; ++index)
      loop(index, 0);
    return;
  }
  {
    std::lock_guard lock(mutex);
    count = total;
    body = &loop;
    next.store(0, std::memory_order_relaxed);
    active = static_cast<unsigned>(workers.size());
    ++generation;
  }
  wake.notify_all();
  drain(0);
  std::unique_lock lock(mutex);
  done.wait(lock, [this] { return active == 0; });
  body = nullptr;
}

void ThreadPool::drain(unsigned worker) {
  for (int64_t index; (index = next.fetch_add(1, std::memory_order_relaxed)) < count;)
    (*body)(index, worker);
}

void ThreadPool::work(unsigned worker) {
  uint64_t last = 0;
  for (;;) {
    {
      std::unique_lock lock(mutex);
      wake.wait(lock, [&] { return stop || generation != last; });
      if (stop)
        return;
      last = generation;
    }
    drain(worker);
    std::lock_guard lock(mutex);
    if (--active == 0)
      done.notify_one();
  }
}

} // namespace fa::runtime
