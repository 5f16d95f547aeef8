// What the machine can do: multiply-add rates of each type and read bandwidth, as JSON. Rates in 1e9 operations a second
// (2 for each multiply-add), bandwidth in 1e9 bytes a second; the best of several short runs on each number of threads.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <thread>
#include <time.h>
#include <vector>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace {

/// CPU time of this thread: what other processes take does not lower a limit.
double threadSeconds() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return double(time.tv_sec) + 1e-9 * double(time.tv_nsec);
}

/// Shortest of `runs`, each the longest time of a thread while all of them do `work`.
double shortest(unsigned threads, int runs, const std::function<void(unsigned)> &work) {
  double best = 1e30;
  for (int run = 0; run < runs; ++run) {
    std::atomic<unsigned> ready{0};
    std::atomic<bool> go{false};
    std::vector<std::thread> pool;
    std::vector<double> times(threads);
    auto measure = [&](unsigned t) {
      const double start = threadSeconds();
      work(t);
      times[t] = threadSeconds() - start;
    };
    for (unsigned t = 1; t < threads; ++t)
      pool.emplace_back([&, t] {
        ++ready;
        while (!go.load(std::memory_order_acquire)) {
        }
        measure(t);
      });
    while (ready + 1 < threads) {
    }
    go.store(true, std::memory_order_release);
    measure(0);
    for (std::thread &thread : pool)
      thread.join();
    best = std::min(best, *std::max_element(times.begin(), times.end()));
  }
  return best;
}

/// Twelve chains of multiply-adds on vectors of `V`: more than latency times ports of any current core.
template <typename V, typename T> __attribute__((always_inline)) inline void multiplyAdd(int64_t rounds) {
  V chains[12], factor, addend;
  for (size_t i = 0; i < sizeof(V) / sizeof(T); ++i)
    factor[i] = T(0.999), addend[i] = T(0.001);
  std::memset(chains, 0, sizeof(chains));
  __asm__ volatile("" : "+m"(factor), "+m"(addend));
  V f = factor, a = addend;
  for (int64_t round = 0; round < rounds; ++round) {
#pragma GCC unroll 12
    for (int c = 0; c < 12; ++c)
      chains[c] = chains[c] * f + a;
  }
  for (V &chain : chains)
    __asm__ volatile("" ::"m"(chain));
}

constexpr int64_t chainsPerRound = 12, rounds = 4000000;

typedef float F32x4 __attribute__((vector_size(16)));
typedef double F64x2 __attribute__((vector_size(16)));
void generic32() { multiplyAdd<F32x4, float>(rounds); }
void generic64() { multiplyAdd<F64x2, double>(rounds); }

struct Rate {
  const char *name;
  void (*run)();
  int operations; ///< of one vector instruction
};

#if defined(__x86_64__)
typedef float F32x8 __attribute__((vector_size(32)));
typedef double F64x4 __attribute__((vector_size(32)));
typedef float F32x16 __attribute__((vector_size(64)));
typedef double F64x8 __attribute__((vector_size(64)));
#define WIDE __attribute__((target("avx512f,avx512dq,avx512vl,avx512bw,fma")))
#define MIDDLE __attribute__((target("avx2,fma")))

template <typename V, typename T> WIDE void wide(int64_t count) {
  V chains[12];
  V f, a;
  std::memset(chains, 0, sizeof(chains));
  for (size_t i = 0; i < sizeof(V) / sizeof(T); ++i)
    f[i] = T(0.999), a[i] = T(0.001);
  __asm__ volatile("" : "+v"(f), "+v"(a));
  for (int64_t round = 0; round < count; ++round) {
#pragma GCC unroll 12
    for (int c = 0; c < 12; ++c)
      chains[c] = chains[c] * f + a;
  }
  for (V &chain : chains)
    __asm__ volatile("" ::"v"(chain));
}
template <typename V, typename T> MIDDLE void middle(int64_t count) {
  V chains[12];
  V f, a;
  std::memset(chains, 0, sizeof(chains));
  for (size_t i = 0; i < sizeof(V) / sizeof(T); ++i)
    f[i] = T(0.999), a[i] = T(0.001);
  __asm__ volatile("" : "+x"(f), "+x"(a));
  for (int64_t round = 0; round < count; ++round) {
#pragma GCC unroll 12
    for (int c = 0; c < 12; ++c)
      chains[c] = chains[c] * f + a;
  }
  for (V &chain : chains)
    __asm__ volatile("" ::"x"(chain));
}
void wide32() { wide<F32x16, float>(rounds); }
void wide64() { wide<F64x8, double>(rounds); }
void middle32() { middle<F32x8, float>(rounds); }
void middle64() { middle<F64x4, double>(rounds); }

__attribute__((target("avx512f,avx512bf16"))) void bf16Dot() {
  __m512 chains[12];
  __m512i bits = _mm512_set1_epi32(0x3f803f80);
  for (__m512 &chain : chains)
    chain = _mm512_setzero_ps();
  __asm__ volatile("" : "+v"(bits));
  const auto ones = reinterpret_cast<__m512bh>(bits);
  for (int64_t round = 0; round < rounds; ++round) {
#pragma GCC unroll 12
    for (int c = 0; c < 12; ++c)
      chains[c] = _mm512_dpbf16_ps(chains[c], ones, ones);
  }
  for (__m512 &chain : chains)
    __asm__ volatile("" ::"v"(chain));
}
#endif

std::vector<Rate> rates() {
#if defined(__x86_64__)
  std::vector<Rate> list;
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq"))
    list = {{"f32", wide32, 32}, {"f64", wide64, 16}};
  else if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    list = {{"f32", middle32, 16}, {"f64", middle64, 8}};
  else
    list = {{"f32", generic32, 8}, {"f64", generic64, 4}};
  if (__builtin_cpu_supports("avx512bf16"))
    list.push_back({"bf16", bf16Dot, 64});
  return list;
#else
  return {{"f32", generic32, 8}, {"f64", generic64, 4}};
#endif
}

/// Bytes a second that `threads` cores read from a buffer far larger than the caches they own.
double readBandwidth(unsigned threads, const std::vector<uint64_t> &buffer) {
  const size_t share = buffer.size() / threads / 32 * 32;
  std::atomic<uint64_t> sink{0};
  const double time = shortest(threads, 5, [&](unsigned t) {
    uint64_t sums[32] = {};
    const uint64_t *data = buffer.data() + t * share;
    for (size_t i = 0; i < share; i += 32)
#pragma GCC unroll 32
      for (size_t j = 0; j < 32; ++j)
        sums[j] += data[i + j];
    for (uint64_t sum : sums)
      sink += sum;
  });
  return static_cast<double>(share * threads * sizeof(uint64_t)) / time;
}

} // namespace

int main(int argc, char **argv) {
  const unsigned cores = argc > 1 ? static_cast<unsigned>(std::atoi(argv[1])) : std::thread::hardware_concurrency();
  const std::vector<uint64_t> buffer(size_t(64) << 20, 1); // 512 MiB
  std::printf("{");
  for (unsigned threads = 1; threads <= std::max(1u, cores); ++threads) {
    std::printf("%s\"%u\": {", threads == 1 ? "" : ", ", threads);
    for (const Rate &rate : rates()) {
      const double time = shortest(threads, 25, [&](unsigned) { rate.run(); });
      const double operations = static_cast<double>(rounds * chainsPerRound * rate.operations) * threads;
      std::printf("\"%s\": %.2f, ", rate.name, operations / time * 1e-9);
    }
    std::printf("\"read\": %.2f}", readBandwidth(threads, buffer) * 1e-9);
  }
  std::printf("}\n");
  return 0;
}
