// The sm_90a instructions that the fixtures use, as thin wrappers. Source: PTX ISA.
#pragma once

typedef unsigned int u32;
typedef unsigned long long u64;
typedef unsigned short u16;

struct alignas(64) TensorMap {
  unsigned char bytes[128];
};

__device__ inline u32 sharedAddress(const void *p) { return static_cast<u32>(__cvta_generic_to_shared(p)); }

// ---- mbarrier --------------------------------------------------------------------------------------------------------
__device__ inline void mbarrierInit(u64 *barrier, u32 count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(sharedAddress(barrier)), "r"(count) : "memory");
}
__device__ inline void mbarrierExpect(u64 *barrier, u32 bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(sharedAddress(barrier)), "r"(bytes)
               : "memory");
}
__device__ inline void mbarrierArrive(u64 *barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(sharedAddress(barrier)) : "memory");
}
__device__ inline void mbarrierWait(u64 *barrier, u32 parity) {
  asm volatile("{\n"
               ".reg .pred done;\n"
               "again:\n"
               "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
               "@done bra finished;\n"
               "bra again;\n"
               "finished:\n"
               "}" ::"r"(sharedAddress(barrier)),
               "r"(parity)
               : "memory");
}
/// Acquires what other blocks of the cluster released.
__device__ inline void mbarrierWaitCluster(u64 *barrier, u32 parity) {
  asm volatile("{\n"
               ".reg .pred done;\n"
               "again:\n"
               "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 done, [%0], %1;\n"
               "@done bra finished;\n"
               "bra again;\n"
               "finished:\n"
               "}" ::"r"(sharedAddress(barrier)),
               "r"(parity)
               : "memory");
}
__device__ inline void fenceMbarrierInit() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
__device__ inline void fenceProxyAsync() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
__device__ inline void namedBarrier(int id, int threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

// ---- TMA -------------------------------------------------------------------------------------------------------------
__device__ inline void loadTile(void *to, const TensorMap *map, int c0, int c1, u64 *barrier) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];"
               ::"r"(sharedAddress(to)), "l"(map), "r"(sharedAddress(barrier)), "r"(c0), "r"(c1)
               : "memory");
}
__device__ inline void loadTile3d(void *to, const TensorMap *map, int c0, int c1, int c2, u64 *barrier) {
  asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5}], [%2];"
               ::"r"(sharedAddress(to)), "l"(map), "r"(sharedAddress(barrier)), "r"(c0), "r"(c1), "r"(c2)
               : "memory");
}
__device__ inline void storeTile3d(const TensorMap *map, const void *from, int c0, int c1, int c2) {
  asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group [%0, {%2, %3, %4}], [%1];" ::"l"(map),
               "r"(sharedAddress(from)), "r"(c0), "r"(c1), "r"(c2)
               : "memory");
}
__device__ inline void loadTileMulticast(void *to, const TensorMap *map, int c0, int c1, u64 *barrier, u16 blocks) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%0], "
               "[%1, {%3, %4}], [%2], %5;" ::"r"(sharedAddress(to)),
               "l"(map), "r"(sharedAddress(barrier)), "r"(c0), "r"(c1), "h"(blocks)
               : "memory");
}
__device__ inline void storeTile(const TensorMap *map, const void *from, int c0, int c1) {
  asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%2, %3}], [%1];" ::"l"(map),
               "r"(sharedAddress(from)), "r"(c0), "r"(c1)
               : "memory");
}
__device__ inline void reduceTile(const TensorMap *map, const void *from, int c0, int c1) {
  asm volatile("cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group [%0, {%2, %3}], [%1];" ::"l"(map),
               "r"(sharedAddress(from)), "r"(c0), "r"(c1)
               : "memory");
}
__device__ inline void commitStores() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
__device__ inline void waitStoresRead() { asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory"); }
__device__ inline void waitStores() { asm volatile("cp.async.bulk.wait_group 0;" ::: "memory"); }

// ---- wgmma -----------------------------------------------------------------------------------------------------------
__device__ inline void wgmmaFence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ inline void wgmmaCommit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
__device__ inline void wgmmaWait() { asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory"); }

/// Descriptor of a 128-byte swizzled tile of rows of 64 16-bit elements: stride 1024 bytes; `leading` is the distance of
/// panels of 64 columns (MN-major only).
__device__ inline u64 descriptorOf(const void *tile, u32 byteOffset, u32 leading = 16) {
  return (u64)((sharedAddress(tile) + byteOffset & 0x3ffff) >> 4) | (u64)(leading >> 4) << 16 | (u64)(1024 >> 4) << 32 |
         1ull << 62;
}

#define FA_ACCUMULATOR                                                                                                 \
  "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31}"
#define FA_ACCUMULATOR_OPERANDS(d)                                                                                     \
  "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]),          \
      "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]),           \
      "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]),          \
      "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])

/// d (64 x 64, f32) = a b + (accumulate ? d : 0); both operands K-major in shared memory.
__device__ inline void wgmmaShared(float (&d)[32], u64 a, u64 b, int accumulate) {
  asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %34, 0;\n"
               "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 " FA_ACCUMULATOR ", %32, %33, p, 1, 1, 0, 0;\n}"
               : FA_ACCUMULATOR_OPERANDS(d)
               : "l"(a), "l"(b), "r"(accumulate));
}
/// A from registers; B is MN-major in shared memory (rows are k).
__device__ inline void wgmmaRegisters(float (&d)[32], const u32 *a, u64 b, int accumulate) {
  asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %37, 0;\n"
               "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 " FA_ACCUMULATOR
               ", {%32,%33,%34,%35}, %36, p, 1, 1, 1;\n}"
               : FA_ACCUMULATOR_OPERANDS(d)
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(accumulate));
}
#define FA_ACCUMULATOR_128 \
  "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26," \
  "%27,%28,%29,%30,%31,%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,%48,%49,%50,%51," \
  "%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63}"
#define FA_ACCUMULATOR_128_OPERANDS(d) \
      "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), \
      "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), \
      "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), \
      "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), \
      "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), \
      "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), \
      "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]), \
      "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63])

/// d (64 x 128, f32) = a b + (accumulate ? d : 0); both operands K-major in shared memory.
__device__ inline void wgmmaShared(float (&d)[64], u64 a, u64 b, int accumulate) {
  asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %66, 0;\n"
               "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 " FA_ACCUMULATOR_128 ", %64, %65, p, 1, 1, 0, 0;\n}"
               : FA_ACCUMULATOR_128_OPERANDS(d)
               : "l"(a), "l"(b), "r"(accumulate));
}
/// A from registers; B is MN-major in shared memory.
__device__ inline void wgmmaRegisters(float (&d)[64], const u32 *a, u64 b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 " FA_ACCUMULATOR_128
               ", {%64,%65,%66,%67}, %68, 1, 1, 1, 1;"
               : FA_ACCUMULATOR_128_OPERANDS(d)
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}
__device__ inline u32 packBf16(float low, float high) {
  u32 result;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(result) : "f"(high), "f"(low));
  return result;
}
__device__ inline bool electOne() {
  u32 elected;
  asm volatile("{\n.reg .pred p;\nelect.sync _|p, 0xffffffff;\nselp.b32 %0, 1, 0, p;\n}" : "=r"(elected));
  return elected;
}
