// Softmax of rows of 1024 floats, a warp for each row: the scalar side of an attention kernel (loads, maxima, shuffles,
// exponentials, conversions), without tensor cores. The benchmark's measure of thread instructions.
#include "Sm90.cuh"

extern "C" __global__ __launch_bounds__(256) void softmax(const float4 *in, u32 *out, float scale) {
  int row = blockIdx.x * 8 + threadIdx.x / 32, lane = threadIdx.x % 32;
  float x[32], largest = -INFINITY, sum = 0;
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    float4 v = in[row * 256 + i * 32 + lane];
    x[4 * i] = v.x, x[4 * i + 1] = v.y, x[4 * i + 2] = v.z, x[4 * i + 3] = v.w;
  }
#pragma unroll
  for (int i = 0; i < 32; ++i)
    largest = fmaxf(largest, x[i]);
  for (int offset = 16; offset > 0; offset /= 2)
    largest = fmaxf(largest, __shfl_xor_sync(0xffffffff, largest, offset));
#pragma unroll
  for (int i = 0; i < 32; ++i) {
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(x[i]) : "f"((x[i] - largest) * scale));
    sum += x[i];
  }
  for (int offset = 16; offset > 0; offset /= 2)
    sum += __shfl_xor_sync(0xffffffff, sum, offset);
  float inverse = 1.0f / sum;
#pragma unroll
  for (int i = 0; i < 8; ++i)
    for (int half = 0; half < 2; ++half)
      out[row * 512 + i * 64 + 2 * lane + half] = packBf16(x[4 * i + 2 * half] * inverse, x[4 * i + 2 * half + 1] * inverse);
}
