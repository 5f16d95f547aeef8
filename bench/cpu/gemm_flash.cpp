// FlashAttention over a library's f32 matrix product: the peer that a user with a good BLAS could write. Blocks of 256
// queries x 512 keys; softmax vectorised by the compiler. One head, one thread.
//
//   fa-bench-gemm-flash LIBRARY.so blas|dnnl QUERIES KEYS DEPTH full|causal|window REPEAT     (prints seconds as JSON)
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <functional>
#include <random>
#include <string>
#include <vector>

namespace {

constexpr int64_t queryBlock = 256, keyBlock = 512;

/// C[m, n] = A[m, k] B + beta C, row-major; B is [n, k] when transposed, else [k, n].
using Gemm = std::function<void(bool transposeB, int64_t m, int64_t n, int64_t k, const float *a, int64_t lda,
                                const float *b, int64_t ldb, float beta, float *c, int64_t ldc)>;

Gemm loadGemm(const char *path, const std::string &kind) {
  void *library = dlopen(path, RTLD_NOW);
  if (!library) {
    std::fprintf(stderr, "%s\n", dlerror());
    std::exit(1);
  }
  if (kind == "dnnl") {
    using Function = int (*)(char, char, int64_t, int64_t, int64_t, float, const float *, int64_t, const float *,
                             int64_t, float, float *, int64_t);
    auto gemm = reinterpret_cast<Function>(dlsym(library, "dnnl_sgemm"));
    if (!gemm)
      std::exit(1);
    return [gemm](bool transposeB, int64_t m, int64_t n, int64_t k, const float *a, int64_t lda, const float *b,
                  int64_t ldb, float beta, float *c,
                  int64_t ldc) { gemm('N', transposeB ? 'T' : 'N', m, n, k, 1.0f, a, lda, b, ldb, beta, c, ldc); };
  }
  using Function =
      void (*)(int, int, int, int, int, int, float, const float *, int, const float *, int, float, float *, int);
  auto gemm = reinterpret_cast<Function>(dlsym(library, "cblas_sgemm"));
  if (!gemm)
    std::exit(1);
  if (auto threads = reinterpret_cast<void (*)(int)>(dlsym(library, "openblas_set_num_threads")))
    threads(1);
  return [gemm](bool transposeB, int64_t m, int64_t n, int64_t k, const float *a, int64_t lda, const float *b,
                int64_t ldb, float beta, float *c, int64_t ldc) {
    gemm(101, 111, transposeB ? 112 : 111, int(m), int(n), int(k), 1.0f, a, int(lda), b, int(ldb), beta, c, int(ldc));
  };
}

/// 2^x for x <= 0 without a branch, so that loops over it are vectorised.
inline float exp2Fast(float x) {
  x = std::max(x, -126.0f);
  const float whole = std::floor(x + 0.5f), f = x - whole;
  float p = 0.00132647269f;
  for (float c : {0.00967151266f, 0.0555073374f, 0.240222421f, 0.693146978f, 1.0f})
    p = p * f + c;
  int32_t bits;
  std::memcpy(&bits, &p, 4);
  bits += static_cast<int32_t>(whole) << 23;
  std::memcpy(&p, &bits, 4);
  return p;
}

struct Problem {
  int64_t queries, keys, depth;
  std::string mask;
  /// Keys [first, last) that query i sees.
  int64_t last(int64_t i) const { return mask == "full" ? keys : std::min(keys, i + keys - queries + 1); }
  int64_t first(int64_t i) const { return mask == "window" ? std::max<int64_t>(0, last(i) - 256) : 0; }
};

class Attention {
public:
  Attention(const Gemm &gemm, const Problem &problem)
      : gemm(gemm), p(problem), scaled(queryBlock * p.depth), scores(queryBlock * keyBlock), maximum(queryBlock),
        sum(queryBlock) {}

  void run(const float *q, const float *k, const float *v, float *o) {
    for (int64_t i = 0; i < p.queries; i += queryBlock)
      runBlock(i, std::min(queryBlock, p.queries - i), q + i * p.depth, k, v, o + i * p.depth);
  }

private:
  const Gemm &gemm;
  Problem p;
  std::vector<float> scaled, scores, maximum, sum;

  void runBlock(int64_t i0, int64_t rows, const float *q, const float *k, const float *v, float *o) {
    const float scale = 1.44269504f / std::sqrt(float(p.depth));
    for (int64_t n = 0; n < rows * p.depth; ++n)
      scaled[n] = q[n] * scale;
    std::fill(maximum.begin(), maximum.end(), -1e30f);
    std::fill(sum.begin(), sum.end(), 0.0f);
    std::fill(o, o + rows * p.depth, 0.0f);
    const int64_t end = p.last(i0 + rows - 1);
    for (int64_t j0 = p.first(i0) / keyBlock * keyBlock; j0 < end; j0 += keyBlock) {
      const int64_t keys = std::min(keyBlock, end - j0);
      gemm(true, rows, keys, p.depth, scaled.data(), p.depth, k + j0 * p.depth, p.depth, 0.0f, scores.data(), keyBlock);
      for (int64_t r = 0; r < rows; ++r)
        softmaxRow(r, p.first(i0 + r) - j0, p.last(i0 + r) - j0, keys, o + r * p.depth);
      gemm(false, rows, p.depth, keys, scores.data(), keyBlock, v + j0 * p.depth, p.depth, 1.0f, o, p.depth);
    }
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t d = 0; d < p.depth; ++d)
        o[r * p.depth + d] /= sum[r];
  }

  void softmaxRow(int64_t r, int64_t first, int64_t last, int64_t keys, float *o) {
    float *s = scores.data() + r * keyBlock;
    first = std::clamp<int64_t>(first, 0, keys);
    last = std::clamp<int64_t>(last, first, keys);
    float m = maximum[r];
    for (int64_t j = first; j < last; ++j)
      m = std::max(m, s[j]);
    const float factor = exp2Fast(std::max(maximum[r] - m, -126.0f));
    maximum[r] = m;
    float total = 0;
    for (int64_t j = first; j < last; ++j) {
      s[j] = exp2Fast(s[j] - m);
      total += s[j];
    }
    std::fill(s, s + first, 0.0f);
    std::fill(s + last, s + keys, 0.0f);
    sum[r] = sum[r] * factor + total;
    if (factor != 1.0f)
      for (int64_t d = 0; d < p.depth; ++d)
        o[d] *= factor;
  }
};

double secondsNow() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Largest difference from a plain computation on a few rows: a peer that is wrong is no peer.
double worstError(const Problem &p, const float *q, const float *k, const float *v, const float *o) {
  double worst = 0;
  for (int64_t i = 0; i < p.queries; i += std::max<int64_t>(1, p.queries / 7)) {
    std::vector<double> out(p.depth);
    double total = 0;
    for (int64_t j = p.first(i); j < p.last(i); ++j) {
      double s = 0;
      for (int64_t d = 0; d < p.depth; ++d)
        s += double(q[i * p.depth + d]) * k[j * p.depth + d];
      const double e = std::exp(s / std::sqrt(double(p.depth)));
      total += e;
      for (int64_t d = 0; d < p.depth; ++d)
        out[d] += e * v[j * p.depth + d];
    }
    for (int64_t d = 0; d < p.depth; ++d)
      worst = std::max(worst, std::abs(out[d] / total - o[i * p.depth + d]));
  }
  return worst;
}

} // namespace

int main(int argc, char **argv) {
  if (argc != 8) {
    std::fprintf(stderr, "expected LIBRARY blas|dnnl QUERIES KEYS DEPTH full|causal|window REPEAT\n");
    return 2;
  }
  const Gemm gemm = loadGemm(argv[1], argv[2]);
  const Problem problem{std::atoll(argv[3]), std::atoll(argv[4]), std::atoll(argv[5]), argv[6]};
  std::mt19937 generator(1);
  std::normal_distribution<float> normal;
  auto tensor = [&](int64_t rows) {
    std::vector<float> data(rows * problem.depth);
    for (float &x : data)
      x = normal(generator);
    return data;
  };
  std::vector<float> q = tensor(problem.queries), k = tensor(problem.keys), v = tensor(problem.keys), o(q.size());
  Attention attention(gemm, problem);
  attention.run(q.data(), k.data(), v.data(), o.data());
  if (const double error = worstError(problem, q.data(), k.data(), v.data(), o.data()); !(error < 1e-4)) {
    std::fprintf(stderr, "expected the peer to be right, but its largest error is %g\n", error);
    return 1;
  }
  std::printf("[");
  for (int n = 0, repeat = std::atoi(argv[7]); n < repeat; ++n) {
    const double start = secondsNow();
    attention.run(q.data(), k.data(), v.data(), o.data());
    std::printf("%s%.9f", n ? ", " : "", secondsNow() - start);
  }
  std::printf("]\n");
  return 0;
}
