// Two blocks of a cluster share a tile: rank 0 multicasts it, each block scales its half, both reduce into the output,
// and a message travels through distributed shared memory.
#include "Sm90.cuh"

extern "C" __global__ __cluster_dims__(2, 1, 1) __launch_bounds__(128) void cluster_sum(
    const __grid_constant__ TensorMap input, const __grid_constant__ TensorMap output, u32 *flags) {
  __shared__ __align__(128) float tile[32 * 32];
  __shared__ u64 barrier, remote;
  __shared__ u32 message;
  u32 rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  if (threadIdx.x == 0) {
    mbarrierInit(&barrier, 1);
    mbarrierInit(&remote, 1);
    fenceMbarrierInit();
  }
  asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
  if (threadIdx.x == 0) {
    mbarrierExpect(&barrier, sizeof tile);
    if (rank == 0)
      loadTileMulticast(tile, &input, 0, blockIdx.x / 2 * 32, &barrier, 3);
  }
  mbarrierWait(&barrier, 0);
  for (int i = threadIdx.x; i < 32 * 32; i += 128)
    tile[i] *= rank + 1;
  fenceProxyAsync();
  __syncthreads();
  if (threadIdx.x == 0) {
    reduceTile(&output, tile, 0, blockIdx.x / 2 * 32);
    commitStores();
    waitStores();
    // Tell the other block that this one is done.
    u32 address, to;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(address) : "r"(sharedAddress(&remote)), "r"(rank ^ 1));
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(to) : "r"(sharedAddress(&message)), "r"(rank ^ 1));
    asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(to), "r"(10 + rank) : "memory");
    asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(address) : "memory");
  }
  mbarrierWaitCluster(&remote, 0);
  if (threadIdx.x == 0)
    flags[blockIdx.x] = message;
  asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
}
