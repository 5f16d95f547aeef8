// Inner loops, written once and compiled for AVX-512, AVX2 and the baseline; the widest that the machine has is taken.
#include "Kernels.h"
#include <cstring>

#if defined(__x86_64__)
#define FA_TARGET_AVX512 __attribute__((target("avx512f,avx512dq,avx512vl,fma")))
#define FA_TARGET_AVX2 __attribute__((target("avx2,fma")))
#endif
#define FA_INLINE __attribute__((always_inline)) inline

namespace fa::reference {
namespace {

constexpr int lanes = 8;

/// Eight elements; a vector where the element type allows it.
template <typename T> struct Lanes {
  using Type __attribute__((vector_size(sizeof(T) * lanes))) = T;
};

template <typename Accumulator, typename Element>
FA_INLINE void loadLanes(const Element *from, typename Lanes<Accumulator>::Type &result) {
  typename Lanes<Element>::Type raw;
  std::memcpy(&raw, from, sizeof raw);
  result = __builtin_convertvector(raw, typename Lanes<Accumulator>::Type);
}

template <typename Accumulator, typename Element>
FA_INLINE void dotsBody(const Accumulator *queries, int64_t queryStride, const Element *keys, int64_t keyStride,
                        int64_t depth, Accumulator *scores, int64_t scoreStride, int64_t keyCount) {
  using Vector = typename Lanes<Accumulator>::Type;
  constexpr int vectors = 2;
  for (int64_t j = 0; j < keyCount; j += vectors * lanes) {
    Vector sums[rowGroup][vectors] = {};
    for (int64_t d = 0; d < depth; ++d) {
      Vector key[vectors];
      for (int v = 0; v < vectors; ++v)
        loadLanes<Accumulator>(keys + d * keyStride + j + v * lanes, key[v]);
      for (int r = 0; r < rowGroup; ++r)
        for (int v = 0; v < vectors; ++v)
          sums[r][v] += queries[r * queryStride + d] * key[v];
    }
    for (int r = 0; r < rowGroup; ++r)
      std::memcpy(scores + r * scoreStride + j, sums[r], sizeof sums[r]);
  }
}

template <typename Accumulator, typename Element>
FA_INLINE void accumulateBody(const Accumulator *weights, const int32_t *indices, int64_t count, const Element *values,
                              int64_t valueStride, int64_t depth, Accumulator *output) {
  using Vector = typename Lanes<Accumulator>::Type;
  constexpr int vectors = 4;
  int64_t d = 0;
  for (; d + vectors * lanes <= depth; d += vectors * lanes) {
    Vector sums[vectors];
    std::memcpy(sums, output + d, sizeof sums);
    for (int64_t n = 0; n < count; ++n)
      for (int v = 0; v < vectors; ++v) {
        Vector value;
        loadLanes<Accumulator>(values + indices[n] * valueStride + d + v * lanes, value);
        sums[v] += weights[n] * value;
      }
    std::memcpy(output + d, sums, sizeof sums);
  }
  for (; d < depth; ++d) {
    Accumulator sum = output[d];
    for (int64_t n = 0; n < count; ++n)
      sum += weights[n] * static_cast<Accumulator>(values[indices[n] * valueStride + d]);
    output[d] = sum;
  }
}

enum class Isa { Baseline, Avx2, Avx512 };

Isa hostIsa() {
#if defined(__x86_64__)
  static const Isa isa =
      __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")
          ? Isa::Avx512
      : __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? Isa::Avx2
                                                                        : Isa::Baseline;
  return isa;
#else
  return Isa::Baseline;
#endif
}

#if defined(__x86_64__)
template <typename... Arguments> FA_TARGET_AVX512 void dotsAvx512(Arguments... arguments) { dotsBody(arguments...); }
template <typename... Arguments> FA_TARGET_AVX2 void dotsAvx2(Arguments... arguments) { dotsBody(arguments...); }
template <typename... Arguments> FA_TARGET_AVX512 void accumulateAvx512(Arguments... arguments) {
  accumulateBody(arguments...);
}
template <typename... Arguments> FA_TARGET_AVX2 void accumulateAvx2(Arguments... arguments) {
  accumulateBody(arguments...);
}
#endif

} // namespace

template <typename Accumulator, typename Element>
void dots(const Accumulator *queries, int64_t queryStride, const Element *keys, int64_t keyStride, int64_t depth,
          Accumulator *scores, int64_t scoreStride, int64_t keyCount) {
#if defined(__x86_64__)
  if (hostIsa() == Isa::Avx512)
    return dotsAvx512(queries, queryStride, keys, keyStride, depth, scores, scoreStride, keyCount);
  if (hostIsa() == Isa::Avx2)
    return dotsAvx2(queries, queryStride, keys, keyStride, depth, scores, scoreStride, keyCount);
#endif
  dotsBody(queries, queryStride, keys, keyStride, depth, scores, scoreStride, keyCount);
}

template <typename Accumulator, typename Element>
void accumulate(const Accumulator *weights, const int32_t *indices, int64_t count, const Element *values,
                int64_t valueStride, int64_t depth, Accumulator *output) {
#if defined(__x86_64__)
  if (hostIsa() == Isa::Avx512)
    return accumulateAvx512(weights, indices, count, values, valueStride, depth, output);
  if (hostIsa() == Isa::Avx2)
    return accumulateAvx2(weights, indices, count, values, valueStride, depth, output);
#endif
  accumulateBody(weights, indices, count, values, valueStride, depth, output);
}

// Extended precision has no vectors.
template <>
void dots<long double, double>(const long double *queries, int64_t queryStride, const double *keys, int64_t keyStride,
                               int64_t depth, long double *scores, int64_t scoreStride, int64_t keyCount) {
  for (int64_t r = 0; r < rowGroup; ++r)
    for (int64_t j = 0; j < keyCount; j += 4) {
      long double sums[4] = {};
      for (int64_t d = 0; d < depth; ++d)
        for (int64_t n = 0; n < 4; ++n)
          sums[n] += queries[r * queryStride + d] * static_cast<long double>(keys[d * keyStride + j + n]);
      for (int64_t n = 0; n < 4; ++n)
        scores[r * scoreStride + j + n] = sums[n];
    }
}

template <>
void accumulate<long double, double>(const long double *weights, const int32_t *indices, int64_t count,
                                     const double *values, int64_t valueStride, int64_t depth, long double *output) {
  for (int64_t n = 0; n < count; ++n)
    for (int64_t d = 0; d < depth; ++d)
      output[d] += weights[n] * static_cast<long double>(values[indices[n] * valueStride + d]);
}

#define FA_INSTANTIATE(Accumulator, Element)                                                                           \
  template void dots(const Accumulator *, int64_t, const Element *, int64_t, int64_t, Accumulator *, int64_t,          \
                     int64_t);                                                                                         \
  template void accumulate(const Accumulator *, const int32_t *, int64_t, const Element *, int64_t, int64_t,           \
                           Accumulator *);
FA_INSTANTIATE(double, float)
FA_INSTANTIATE(float, float)
FA_INSTANTIATE(double, double)
#undef FA_INSTANTIATE

} // namespace fa::reference
