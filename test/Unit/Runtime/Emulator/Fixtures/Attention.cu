// FlashAttention forward for depth 128 in bf16, written by hand: what the emulator is for, from a source that shares
// nothing with this project's compiler. 128 queries per block (two consumer warpgroups), 128 keys per tile, two stages,
// causal (bottom right) or full, any lengths, O and the natural-log LSE.
#include "Sm90.cuh"

constexpr int queryTile = 128, keyTile = 128, stages = 2;
constexpr int panelBytes = keyTile * 128;     ///< 64 columns of a key or value tile
constexpr int stageBytes = 2 * panelBytes;
constexpr int queryPanelBytes = 64 * 128;     ///< 64 columns of one warpgroup's queries
constexpr int groupBytes = 2 * queryPanelBytes;

struct Barriers {
  u64 query, keyFull[stages], keyEmpty[stages], valueFull[stages], valueEmpty[stages];
};
struct Sizes {
  int queries, keys, causal;
  float scale; ///< times log2(e)
};

__device__ int tileCount(const Sizes &sizes, int firstQuery) {
  int end = sizes.keys;
  if (sizes.causal)
    end = min(end, firstQuery + queryTile + sizes.keys - sizes.queries);
  return end <= 0 ? 0 : (end + keyTile - 1) / keyTile;
}

__device__ void produce(unsigned char *queries, unsigned char *keys, unsigned char *values, Barriers *barriers,
                        const TensorMap *q, const TensorMap *k, const TensorMap *v, int firstQuery, int head, int tiles) {
  mbarrierExpect(&barriers->query, 2 * groupBytes);
  for (int i = 0; i < 4; ++i)
    loadTile3d(queries + i * queryPanelBytes, q, i % 2 * 64, firstQuery + i / 2 * 64, head, &barriers->query);
  for (int j = 0; j < tiles; ++j) {
    int stage = j % stages, phase = j / stages & 1;
    mbarrierWait(&barriers->keyEmpty[stage], phase ^ 1);
    mbarrierExpect(&barriers->keyFull[stage], stageBytes);
    for (int panel = 0; panel < 2; ++panel)
      loadTile3d(keys + stage * stageBytes + panel * panelBytes, k, panel * 64, j * keyTile, head, &barriers->keyFull[stage]);
    mbarrierWait(&barriers->valueEmpty[stage], phase ^ 1);
    mbarrierExpect(&barriers->valueFull[stage], stageBytes);
    for (int panel = 0; panel < 2; ++panel)
      loadTile3d(values + stage * stageBytes + panel * panelBytes, v, panel * 64, j * keyTile, head, &barriers->valueFull[stage]);
  }
}

__device__ float exp2Approx(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
__device__ float quadMax(float x) {
  x = fmaxf(x, __shfl_xor_sync(0xffffffff, x, 1));
  return fmaxf(x, __shfl_xor_sync(0xffffffff, x, 2));
}
__device__ float quadSum(float x) {
  x += __shfl_xor_sync(0xffffffff, x, 1);
  return x + __shfl_xor_sync(0xffffffff, x, 2);
}

struct Softmax {
  float rowMax[2], rowSum[2];

  /// Masks, updates the maxima, turns scores into probabilities and rescales the output.
  __device__ void step(float (&s)[64], float (&output)[64], const Sizes &sizes, int row, int firstKey) {
    int column = firstKey + 2 * (threadIdx.x % 4);
    bool edge = firstKey + keyTile > sizes.keys || sizes.causal;
    for (int half = 0; half < 2; ++half) {
      int limit = sizes.keys - 1;
      if (sizes.causal)
        limit = min(limit, row + 8 * half + sizes.keys - sizes.queries);
      float next = rowMax[half];
      for (int i = 0; i < 32; ++i) {
        int at = i / 2 * 4 + 2 * half + i % 2;
        if (edge && column + i / 2 * 8 + i % 2 > limit)
          s[at] = -INFINITY;
        next = fmaxf(next, s[at]);
      }
      next = quadMax(next);
      float reference = next == -INFINITY ? 0.0f : next, correction = exp2Approx((rowMax[half] - reference) * sizes.scale);
      rowMax[half] = next;
      float sum = 0;
      for (int i = 0; i < 32; ++i) {
        int at = i / 2 * 4 + 2 * half + i % 2;
        s[at] = exp2Approx((s[at] - reference) * sizes.scale);
        sum += s[at];
        output[at] *= correction;
      }
      rowSum[half] = rowSum[half] * correction + sum;
    }
  }
};

__device__ void consume(unsigned char *queries, unsigned char *keys, unsigned char *values, Barriers *barriers,
                        const TensorMap *o, float *lse, const Sizes &sizes, int firstQuery, int head, int tiles) {
  int group = threadIdx.x / 128 - 1, thread = threadIdx.x % 128;
  int localRow = thread / 32 * 16 + thread % 32 / 4, row = firstQuery + group * 64 + localRow;
  unsigned char *query = queries + group * groupBytes;
  float output[64];
  for (float &x : output)
    x = 0;
  Softmax softmax{{-INFINITY, -INFINITY}, {0, 0}};
  mbarrierWait(&barriers->query, 0);
  for (int j = 0; j < tiles; ++j) {
    int stage = j % stages, phase = j / stages & 1;
    float scores[64];
    mbarrierWait(&barriers->keyFull[stage], phase);
    wgmmaFence();
    for (int k = 0; k < 8; ++k)
      wgmmaShared(scores, descriptorOf(query, k / 4 * queryPanelBytes + k % 4 * 32),
                  descriptorOf(keys + stage * stageBytes, k / 4 * panelBytes + k % 4 * 32), k != 0);
    wgmmaCommit();
    wgmmaWait();
    if (thread == 0)
      mbarrierArrive(&barriers->keyEmpty[stage]);
    softmax.step(scores, output, sizes, row, j * keyTile);
    u32 p[32];
    for (int i = 0; i < 32; ++i)
      p[i] = packBf16(scores[2 * i], scores[2 * i + 1]);
    mbarrierWait(&barriers->valueFull[stage], phase);
    wgmmaFence();
    for (int k = 0; k < 8; ++k)
      wgmmaRegisters(output, p + 4 * k, descriptorOf(values + stage * stageBytes, k * 16 * 128, panelBytes));
    wgmmaCommit();
    wgmmaWait();
    if (thread == 0)
      mbarrierArrive(&barriers->valueEmpty[stage]);
  }
  for (int half = 0; half < 2; ++half) {
    float sum = quadSum(softmax.rowSum[half]), inverse = sum > 0 ? 1.0f / sum : 0.0f;
    for (int i = 0; i < 32; ++i)
      output[i / 2 * 4 + 2 * half + i % 2] *= inverse;
    if (thread % 4 == 0 && row + 8 * half < sizes.queries)
      lse[head * sizes.queries + row + 8 * half] =
          sum > 0 ? (softmax.rowMax[half] * sizes.scale + __log2f(sum)) * 0.693147180559945f : -INFINITY;
  }
  // The queries are no longer needed: their place takes the output, in the swizzled layout of its tensor map.
  int column = 2 * (thread % 4);
  for (int i = 0; i < 32; ++i) {
    int x = column + 8 * (i >> 1);
    u32 offset = x / 64 * queryPanelBytes + (localRow + 8 * (i & 1)) * 128 + x % 64 * 2;
    offset ^= (offset >> 7 & 7) << 4;
    *reinterpret_cast<u32 *>(query + offset) = packBf16(output[2 * i], output[2 * i + 1]);
  }
  fenceProxyAsync();
  namedBarrier(1 + group, 128);
  if (thread == 0) {
    for (int panel = 0; panel < 2; ++panel)
      storeTile3d(o, query + panel * queryPanelBytes, panel * 64, firstQuery + group * 64, head);
    commitStores();
    waitStoresRead();
  }
}

extern "C" __global__ __launch_bounds__(384, 1) void attention(const __grid_constant__ TensorMap q,
                                                               const __grid_constant__ TensorMap k,
                                                               const __grid_constant__ TensorMap v,
                                                               const __grid_constant__ TensorMap o, float *lse,
                                                               const __grid_constant__ Sizes sizes) {
  extern __shared__ __align__(1024) unsigned char shared[];
  __shared__ Barriers barriers;
  unsigned char *queries = shared, *keys = shared + 2 * groupBytes, *values = keys + stages * stageBytes;
  int firstQuery = blockIdx.x * queryTile, head = blockIdx.y, tiles = tileCount(sizes, firstQuery);
  if (threadIdx.x == 0) {
    mbarrierInit(&barriers.query, 1);
    for (int i = 0; i < stages; ++i) {
      mbarrierInit(&barriers.keyFull[i], 1);
      mbarrierInit(&barriers.valueFull[i], 1);
      mbarrierInit(&barriers.keyEmpty[i], 2);
      mbarrierInit(&barriers.valueEmpty[i], 2);
    }
    fenceMbarrierInit();
  }
  __syncthreads();
  if (threadIdx.x < 128) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 24;");
    if (threadIdx.x < 32 && electOne())
      produce(queries, keys, values, &barriers, &q, &k, &v, firstQuery, head, tiles);
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 240;");
    consume(queries, keys, values, &barriers, &o, lse, sizes, firstQuery, head, tiles);
  }
}
