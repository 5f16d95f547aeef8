// Independent chains of multiply-adds: 24 where there are 32 registers, 12 where there are 16; both exceed latency
// times ports of current cores (4 to 5 cycles, 2 ports).
#include "Peaks.h"
#include <algorithm>
#include <atomic>
#include <cstring>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace fa::bench {
namespace {

typedef float F32x4 __attribute__((vector_size(16)));
typedef double F64x2 __attribute__((vector_size(16)));

/// The loop is a macro because a target attribute does not reach inlined functions.
#define FA_CHAINS(VECTOR, ELEMENT, COUNT, CONSTRAINT)                                                                  \
  VECTOR chains[COUNT], f, a;                                                                                          \
  std::memset(chains, 0, sizeof(chains));                                                                              \
  for (size_t i = 0; i < sizeof(VECTOR) / sizeof(ELEMENT); ++i)                                                        \
    f[i] = ELEMENT(0.999), a[i] = ELEMENT(0.001);                                                                      \
  __asm__ volatile("" : "+" CONSTRAINT(f), "+" CONSTRAINT(a));                                                         \
  for (int64_t round = 0; round < rounds; ++round) {                                                                   \
    _Pragma("GCC unroll 24") for (int c = 0; c < COUNT; ++c) chains[c] = chains[c] * f + a;                            \
  }                                                                                                                    \
  for (VECTOR &chain : chains)                                                                                         \
  __asm__ volatile("" ::CONSTRAINT(chain))

#if defined(__x86_64__)
typedef float F32x8 __attribute__((vector_size(32)));
typedef double F64x4 __attribute__((vector_size(32)));
typedef float F32x16 __attribute__((vector_size(64)));
typedef double F64x8 __attribute__((vector_size(64)));
#define FA_WIDE __attribute__((target("avx512f,avx512dq,avx512vl,avx512bw,fma")))
#define FA_MIDDLE __attribute__((target("avx2,fma")))

void narrow32(int64_t rounds) { FA_CHAINS(F32x4, float, 12, "x"); }
void narrow64(int64_t rounds) { FA_CHAINS(F64x2, double, 12, "x"); }
FA_MIDDLE void middle32(int64_t rounds) { FA_CHAINS(F32x8, float, 12, "x"); }
FA_MIDDLE void middle64(int64_t rounds) { FA_CHAINS(F64x4, double, 12, "x"); }
FA_WIDE void wide32(int64_t rounds) { FA_CHAINS(F32x16, float, 24, "v"); }
FA_WIDE void wide64(int64_t rounds) { FA_CHAINS(F64x8, double, 24, "v"); }

__attribute__((target("avx512f,avx512bf16"))) void bf16Dot(int64_t rounds) {
  __m512 chains[24];
  __m512i bits = _mm512_set1_epi32(0x3f803f80);
  for (__m512 &chain : chains)
    chain = _mm512_setzero_ps();
  __asm__ volatile("" : "+v"(bits));
  const auto ones = reinterpret_cast<__m512bh>(bits);
  for (int64_t round = 0; round < rounds; ++round) {
#pragma GCC unroll 24
    for (int c = 0; c < 24; ++c)
      chains[c] = _mm512_dpbf16_ps(chains[c], ones, ones);
  }
  for (__m512 &chain : chains)
    __asm__ volatile("" ::"v"(chain));
}
#else
void narrow32(int64_t rounds) { FA_CHAINS(F32x4, float, 12, "w"); }
void narrow64(int64_t rounds) { FA_CHAINS(F64x2, double, 12, "w"); }
#endif

} // namespace

int64_t Peak::roundsFor(double seconds) const {
  const double vectorsPerRound = operationsPerRound * (name == "f64" ? 64 : name == "f32" ? 32 : 16) / 2 / bits;
  return std::max<int64_t>(1, static_cast<int64_t>(seconds * 2 * 3e9 / vectorsPerRound));
}

std::vector<Peak> peaks(int bits) {
  const auto entry = [](const char *name, int width, int chains, void (*run)(int64_t)) {
    const int elementBits = name[1] == '6' ? 64 : name[0] == 'b' ? 16 : 32;
    return Peak{name, width, run, 2.0 * chains * width / elementBits};
  };
#if defined(__x86_64__)
  const bool has512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq");
  const bool has256 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (has512 && (bits == 0 || bits >= 512)) {
    std::vector<Peak> list{entry("f32", 512, 24, wide32), entry("f64", 512, 24, wide64)};
    if (__builtin_cpu_supports("avx512bf16"))
      list.push_back(entry("bf16", 512, 24, bf16Dot));
    return list;
  }
  if (has256 && (bits == 0 || bits >= 256))
    return {entry("f32", 256, 12, middle32), entry("f64", 256, 12, middle64)};
#endif
  return {entry("f32", 128, 12, narrow32), entry("f64", 128, 12, narrow64)};
}

Peak peakOf(const std::string &dtype, int bits) {
  const std::vector<Peak> list = peaks(bits);
  return *std::find_if(list.begin(), list.end(),
                       [&](const Peak &peak) { return peak.name == (dtype == "f64" ? "f64" : "f32"); });
}

std::optional<Peak> dotPeak() {
  for (const Peak &peak : peaks())
    if (peak.name == "bf16")
      return peak;
  return std::nullopt;
}

ReadProbe::ReadProbe(unsigned threads, size_t bytes) : threads(threads), buffer(bytes / sizeof(uint64_t), 1) {}

namespace {

/// Sums over eight vectors; with narrow loads a core reads less than it can.
template <typename Vector> __attribute__((always_inline)) inline void sumUp(const uint64_t *data, size_t count) {
  constexpr size_t lanes = sizeof(Vector) / sizeof(uint64_t);
  Vector sums[8] = {};
  for (size_t i = 0; i + 8 * lanes <= count; i += 8 * lanes)
#pragma GCC unroll 8
    for (size_t j = 0; j < 8; ++j) {
      Vector value;
      std::memcpy(&value, data + i + j * lanes, sizeof(value));
      sums[j] += value;
    }
  for (Vector &sum : sums)
    __asm__ volatile("" ::"m"(sum));
}

typedef uint64_t U64x2 __attribute__((vector_size(16)));
void sumNarrow(const uint64_t *data, size_t count) { sumUp<U64x2>(data, count); }
#if defined(__x86_64__)
typedef uint64_t U64x4 __attribute__((vector_size(32)));
typedef uint64_t U64x8 __attribute__((vector_size(64)));
FA_MIDDLE void sumMiddle(const uint64_t *data, size_t count) { sumUp<U64x4>(data, count); }
FA_WIDE void sumWide(const uint64_t *data, size_t count) { sumUp<U64x8>(data, count); }
#endif

} // namespace

double ReadProbe::run(unsigned thread) const {
  const size_t share = buffer.size() / threads / 64 * 64;
  const uint64_t *data = buffer.data() + thread * share;
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq"))
    sumWide(data, share);
  else if (__builtin_cpu_supports("avx2"))
    sumMiddle(data, share);
  else
#endif
    sumNarrow(data, share);
  return static_cast<double>(share * sizeof(uint64_t));
}

} // namespace fa::bench
