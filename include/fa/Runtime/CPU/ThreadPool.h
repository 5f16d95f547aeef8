// A persistent pool that runs one loop at a time over [0, count), handing out indices one by one.
#pragma once
#include "fa/Runtime/CPU/ScratchArena.h"
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace fa::runtime {

class ThreadPool {
public:
  /// `threads` counts the calling thread too; 0 means one for each core the process may use.
  explicit ThreadPool(unsigned threads = 0);
  ~ThreadPool();
  ThreadPool(const ThreadPool &) = delete;
  ThreadPool &operator=(const ThreadPool &) = delete;

  unsigned threads() const { return static_cast<unsigned>(workers.size()) + 1; }

  /// Calls body(index, worker) for every index in [0, count), in that order as far as starts go, and returns when all
  /// are done. `worker` is in [0, threads()). The caller works too. Concurrent callers wait for each other; a body must
  /// not call back into the same pool.
  void run(int64_t count, const std::function<void(int64_t index, unsigned worker)> &body);

  /// The same for kernels: subnormal results become 0 in `body` (lib/Runtime/CPU/FlushSubnormals.h), and each worker
  /// has `scratchBytes` of memory: `prepare` gets the arenas, by worker, before the first call of `body`; they are this
  /// loop's alone until it ends, and are kept for the next. Fails, without a call, when there is no memory.
  Status run(int64_t count, uint64_t scratchBytes,
             const std::function<void(const std::vector<ScratchArena> &arenas)> &prepare,
             const std::function<void(int64_t index, unsigned worker)> &body);

private:
  std::vector<std::thread> workers;
  std::mutex callers;               ///< one loop at a time
  std::vector<ScratchArena> arenas; ///< by worker; guarded by `callers`
  std::mutex mutex;
  std::condition_variable wake, done;
  uint64_t generation = 0;
  unsigned active = 0;
  bool stop = false;
  int64_t count = 0;
  const std::function<void(int64_t, unsigned)> *body = nullptr;
  std::atomic<int64_t> next{0};

  void runInTurn(int64_t count, const std::function<void(int64_t, unsigned)> &body);
  void work(unsigned worker);
  void drain(unsigned worker);
};

/// Cores this process may run on (its affinity mask), at least 1.
unsigned availableCores();

} // namespace fa::runtime
