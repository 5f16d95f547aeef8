// What a target offers (caches, shared memory, registers) and which tile sizes fit it.
#pragma once
#include "fa/Analysis/AttentionShape.h"
#include <string>
#include <vector>

namespace fa::analysis {

/// Sizes in bytes; 0 where the system does not say.
struct CpuModel {
  std::string name;
  std::string isa; ///< avx512, avx2, or baseline
  int64_t vectorBytes = 16;
  int64_t l1 = 32 << 10, l2 = 1 << 20, l3 = 0;
  bool fma = false;
  bool bf16Dot = false; ///< AVX512_BF16
  unsigned cores = 1;   ///< that this process may use

  static CpuModel host();
};

/// CUDA C++ Programming Guide, compute capability 9.0: 227 KB of shared memory a block, 64 K registers, 255 a thread.
struct HopperModel {
  int64_t sharedBytesPerBlock = 227 << 10;
  int64_t registersPerBlock = 64 << 10;
  int64_t registersPerThread = 255;
  int64_t producerRegisters = 24; ///< setmaxnreg of the producer warpgroup
};

struct CpuTiles {
  int64_t tileQ = 128;
  int64_t tileKv = 128;
  bool depthLanes = false; ///< depth on vector lanes, for few query rows (decoding)
  int64_t splitKv = 1;     ///< parts of the keys
};

struct HopperTiles {
  int64_t tileQ = 128;
  int64_t tileKv = 128;
  int64_t stages = 2;
  int64_t warpgroups = 2; ///< consumers, 64 query rows each
  int64_t unroll = 1;     ///< key tiles in an iteration, each with packed weights of its own
};

/// One resource a kernel needs.
struct ResourceUse {
  std::string name; ///< e.g. "shared memory"
  int64_t needed = 0;
  int64_t available = 0;
  std::string unit; ///< "bytes" or "registers"

  bool fits() const { return needed <= available; }
};

/// The working set of one key tile against half of the second-level cache (a cache holds other data too).
std::vector<ResourceUse> resourcesOf(const CpuModel &machine, const AttentionShape &shape, const CpuTiles &tiles);

/// Shared memory: the query tile, the output's if it is wider, and the ring of key and value tiles, rows of 128 bytes,
/// 1 KiB of barriers and alignment. Registers of a consumer thread: accumulator, scores, packed weights of each
/// unrolled tile, and 32 for everything else; available is what setmaxnreg can give each consumer (240 for two
/// warpgroups, 160 for three).
std::vector<ResourceUse> resourcesOf(const HopperModel &machine, const AttentionShape &shape, const HopperTiles &tiles);

/// The preferred tiles of a shape: the largest of a short list that fit. Lengths shorter than a tile shrink it. Up to
/// 16 queries are one tile with depth on lanes, and long keys are split where there are few such tiles: a function of
/// the shape alone, so that results are the same on machines with more or fewer cores; only the number of query rows,
/// which does not change a bit, follows them. `copied`: kernels copy every key and value tile first (another element
/// type, or strided rows); more queries share a copy then.
CpuTiles chooseTiles(const CpuModel &machine, const AttentionShape &shape, bool copied = false);
/// Fails, saying what is needed and available, when not even the smallest tiles fit (depth above 256).
Expected<HopperTiles> chooseTiles(const HopperModel &machine, const AttentionShape &shape);

/// Fails with the resource that is exceeded, needed and available, and the nearest tiles that fit, e.g. `expected at
/// most 232448 bytes of shared memory, but got 263168 for tile_q = 128, tile_kv = 128, stages = 2; nearest that fits:
/// ...`.
Status checkTiles(const HopperModel &machine, const AttentionShape &shape, const HopperTiles &tiles);

} // namespace fa::analysis
