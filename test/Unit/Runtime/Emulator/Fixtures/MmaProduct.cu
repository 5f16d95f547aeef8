// C = A B^T for f16 with mma.sync: cp.async into two stages, ldmatrix, and a direct store. 64 x 64 per block of 4 warps.
#include "Sm90.cuh"

constexpr int rowBytes = 64 * 2;
constexpr int tileBytes = 64 * rowBytes;

/// Copies 64 rows of 64 elements; chunk c of row r lies at chunk c ^ (r % 8).
__device__ void copyTile(unsigned char *to, const u16 *from, int stride, int column) {
  for (int i = threadIdx.x; i < 64 * 8; i += 128) {
    int row = i / 8, chunk = i % 8;
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(sharedAddress(to + row * rowBytes + (chunk ^ row % 8) * 16)),
                 "l"(from + row * stride + column + chunk * 8)
                 : "memory");
  }
}

__device__ void loadMatrix(u32 (&r)[4], const unsigned char *tile, int row, int chunk) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(sharedAddress(tile + row * rowBytes + (chunk ^ row % 8) * 16))
               : "memory");
}

extern "C" __global__ __launch_bounds__(128) void mma_product(const u16 *a, const u16 *b, float *c, int n, int k) {
  __shared__ __align__(128) unsigned char tiles[2][2][tileBytes];
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const u16 *rowsA = a + blockIdx.x * 64 * k, *rowsB = b + blockIdx.y * 64 * k;
  float d[8][4] = {};
  copyTile(tiles[0][0], rowsA, k, 0);
  copyTile(tiles[0][1], rowsB, k, 0);
  asm volatile("cp.async.commit_group;" ::: "memory");
  for (int j = 0; j < k / 64; ++j) {
    if (j + 1 < k / 64) {
      copyTile(tiles[(j + 1) % 2][0], rowsA, k, 64 * (j + 1));
      copyTile(tiles[(j + 1) % 2][1], rowsB, k, 64 * (j + 1));
    }
    asm volatile("cp.async.commit_group;" ::: "memory");
    asm volatile("cp.async.wait_group 1;" ::: "memory");
    __syncthreads();
    for (int step = 0; step < 4; ++step) {
      u32 x[4];
      loadMatrix(x, tiles[j % 2][0], warp * 16 + lane % 16, step * 2 + lane / 16);
      for (int column = 0; column < 64; column += 16) {
        u32 y[4];
        loadMatrix(y, tiles[j % 2][1], column + lane % 8 + lane / 16 * 8, step * 2 + lane / 8 % 2);
        for (int half = 0; half < 2; ++half) {
          float *acc = d[column / 8 + half];
          asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                       : "+f"(acc[0]), "+f"(acc[1]), "+f"(acc[2]), "+f"(acc[3])
                       : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[2 * half]), "r"(y[2 * half + 1]));
        }
      }
    }
    __syncthreads();
  }
  int row = blockIdx.x * 64 + warp * 16 + lane / 4, column = blockIdx.y * 64 + 2 * (lane % 4);
  for (int i = 0; i < 8; ++i)
    for (int half = 0; half < 2; ++half)
      *reinterpret_cast<float2 *>(c + (row + 8 * half) * n + column + 8 * i) = make_float2(d[i][2 * half], d[i][2 * half + 1]);
}
