// Host detection and the fit of tiles. Register figures of Hopper kernels: measured with ptxas (docs/Decisions/0053).
#include "fa/Analysis/MachineModel.h"
#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <sched.h>
#include <unistd.h>

namespace fa::analysis {
namespace {

int64_t roundUp(int64_t value, int64_t multiple) { return (value + multiple - 1) / multiple * multiple; }
int64_t bytesOf(DType type) { return static_cast<int64_t>(sizeOf(type)); }

std::string processorName() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);)
    if (line.starts_with("model name"))
      return line.substr(std::min(line.size(), line.find(':') + 2));
  return "CPU";
}

int64_t cacheSize(int name, int64_t otherwise) {
  const long size = ::sysconf(name);
  return size > 0 ? size : otherwise;
}

std::string describe(const HopperTiles &tiles) {
  return "tile_q = " + std::to_string(tiles.tileQ) + ", tile_kv = " + std::to_string(tiles.tileKv) +
         ", stages = " + std::to_string(tiles.stages) + ", warpgroups = " + std::to_string(tiles.warpgroups) +
         (tiles.unroll == 1 ? "" : ", unroll = " + std::to_string(tiles.unroll));
}

std::optional<ResourceUse> exceeded(const std::vector<ResourceUse> &uses) {
  for (const ResourceUse &use : uses)
    if (!use.fits())
      return use;
  return std::nullopt;
}

/// Preference: two stages (softmax and products overlap), then more query rows, then larger key tiles (fewer barriers a
/// key).
std::vector<HopperTiles> candidates() {
  std::vector<HopperTiles> result;
  for (int64_t stages : {2, 1})
    for (auto [tileQ, warpgroups] : {std::array<int64_t, 2>{192, 3}, {128, 2}, {64, 1}})
      for (int64_t tileKv : {128, 112, 96, 80, 64, 48, 32, 16})
        result.push_back({tileQ, tileKv, stages, warpgroups});
  return result;
}

/// How far two schedules are apart: halving a tile costs as much as halving another.
double distance(const HopperTiles &a, const HopperTiles &b) {
  const auto ratio = [](int64_t x, int64_t y) {
    return x > y ? static_cast<double>(x) / static_cast<double>(y) : static_cast<double>(y) / static_cast<double>(x);
  };
  return ratio(a.tileQ, b.tileQ) * ratio(a.tileKv, b.tileKv) * ratio(a.stages, b.stages);
}

} // namespace

CpuModel CpuModel::host() {
  CpuModel model;
  model.name = processorName();
  model.isa = "baseline";
#if defined(__x86_64__)
  model.fma = __builtin_cpu_supports("fma");
  if (__builtin_cpu_supports("avx2") && model.fma) {
    model.isa = "avx2";
    model.vectorBytes = 32;
  }
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq")) {
    model.isa = "avx512";
    model.vectorBytes = 64;
  }
  model.bf16Dot = __builtin_cpu_supports("avx512bf16");
#endif
#if defined(_SC_LEVEL1_DCACHE_SIZE)
  model.l1 = cacheSize(_SC_LEVEL1_DCACHE_SIZE, model.l1);
  model.l2 = cacheSize(_SC_LEVEL2_CACHE_SIZE, model.l2);
  model.l3 = cacheSize(_SC_LEVEL3_CACHE_SIZE, 0);
#endif
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) == 0)
    model.cores = static_cast<unsigned>(std::max(1, CPU_COUNT(&set)));
  return model;
}

std::vector<ResourceUse> resourcesOf(const CpuModel &machine, const AttentionShape &shape, const CpuTiles &tiles) {
  const int64_t compute = shape.input == DType::F64 ? 8 : 4;
  const int64_t queryTile = tiles.tileQ * (shape.depth + shape.depthV) * compute; // packed Q and the accumulator
  const int64_t subTile = std::min(tiles.tileQ, 2 * machine.vectorBytes / compute);
  const int64_t scores = subTile * tiles.tileKv * compute;
  const int64_t keyTile = tiles.tileKv * (shape.depth + shape.depthV) * compute; // as copied
  return {{"second-level cache", queryTile + scores + keyTile, machine.l2 / 2, "bytes"}};
}

std::vector<ResourceUse> resourcesOf(const HopperModel &machine, const AttentionShape &shape,
                                     const HopperTiles &tiles) {
  const int64_t element = bytesOf(shape.input);
  // Rows lie in panels of 128 bytes (the 128-byte swizzle): a narrower depth is padded to one.
  const int64_t row = roundUp(shape.depth * element, 128), rowV = roundUp(shape.depthV * element, 128);
  // An output tile larger than the query's does not fit in its place and gets one of its own.
  const int64_t staging = rowV > row ? tiles.tileQ * rowV : 0;
  const int64_t shared = tiles.tileQ * row + staging + tiles.stages * tiles.tileKv * (row + rowV) + 1024;
  const int64_t accumulator = roundUp(shape.depthV, 8) / 2, scores = tiles.tileKv / 2;
  const int64_t weights = tiles.unroll * tiles.tileKv * element / 8;
  // Two tiles in an iteration: exponents wait for their turn while others are rounded (fitted, docs/Decisions/0411).
  const int64_t other = 32 + (tiles.unroll == 2 ? tiles.tileKv / 6 : 0);
  // The producer warpgroup keeps 24; the rest is split among the consumers in steps of 8, at most 240 each.
  const int64_t consumers = std::max<int64_t>(tiles.warpgroups, 1);
  const int64_t split = (machine.registersPerBlock / 128 - machine.producerRegisters) / consumers / 8 * 8;
  return {{"shared memory", shared, machine.sharedBytesPerBlock, "bytes"},
          {"a consumer thread", accumulator + scores + weights + other, std::min<int64_t>(split, 240), "registers"}};
}

namespace {

/// Decoding. Blocks of work for the cores of a large machine, but none so short that its start and end cost something.
CpuTiles decodeTiles(const AttentionShape &shape) {
  constexpr int64_t wantedBlocks = 32, keysOfPart = 1024, tileKv = 512;
  CpuTiles tiles;
  tiles.depthLanes = true;
  tiles.tileQ = std::max<int64_t>(shape.seqQ, 1);
  tiles.tileKv = std::min(tileKv, std::max<int64_t>(roundUp(shape.seqKv, 16), 16));
  const int64_t blocks = std::max<int64_t>(shape.batch * shape.headsQ, 1);
  tiles.splitKv = std::max<int64_t>(std::min(wantedBlocks / blocks, shape.seqKv / keysOfPart), 1);
  return tiles;
}

} // namespace

constexpr int64_t longSequence = 1024;

CpuTiles chooseTiles(const CpuModel &machine, const AttentionShape &shape, bool copied) {
  if (shape.seqQ <= 16)
    return decodeTiles(shape);
  const int64_t lanes = std::max<int64_t>(machine.vectorBytes / (shape.input == DType::F64 ? 8 : 4), 1);
  CpuTiles tiles;
  if (copied)
    tiles.tileQ *= 2;
  if (machine.vectorBytes == 32)
    tiles.tileKv = 96; // a multiple of the six keys of a register block
  // Long sequences: keys are read from the second-level cache, or beyond, half as often (docs/Decisions/0622).
  if (machine.vectorBytes == 64 && std::min(shape.seqQ, shape.seqKv) >= longSequence)
    tiles.tileQ *= 2, tiles.tileKv = 256;
  const auto blocks = [&] { return shape.batch * shape.headsQ * ((shape.seqQ + tiles.tileQ - 1) / tiles.tileQ); };
  while (tiles.tileQ > (copied ? 256 : 128) && blocks() < 2 * int64_t(machine.cores))
    tiles.tileQ /= 2;
  const auto fits = [&] { return !exceeded(resourcesOf(machine, shape, tiles)); };
  while (!fits() && (tiles.tileKv > 32 || tiles.tileQ > lanes * 2)) {
    // Key tiles are the cheaper ones to shrink: query rows share every key that is read.
    if (tiles.tileKv > 32 && tiles.tileKv >= tiles.tileQ / 2)
      tiles.tileKv /= 2;
    else
      tiles.tileQ = std::max(tiles.tileQ / 2, lanes);
  }
  tiles.tileQ = std::min(tiles.tileQ, std::max(roundUp(shape.seqQ, lanes), lanes));
  tiles.tileKv = std::min(tiles.tileKv, std::max<int64_t>(roundUp(shape.seqKv, 16), 16));
  return tiles;
}

Expected<HopperTiles> chooseTiles(const HopperModel &machine, const AttentionShape &shape) {
  ResourceUse missing; // of the smallest tiles, which come last
  for (const HopperTiles &tiles : candidates()) {
    const std::optional<ResourceUse> over = exceeded(resourcesOf(machine, shape, tiles));
    // Three consumers pay only with key tiles that are not cut down for them.
    const bool cutDown = tiles.warpgroups == 3 && tiles.tileKv < 128;
    if (!over && !cutDown)
      return tiles;
    if (over)
      missing = *over;
  }
  return makeError("expected a shape that fits sm_90a, but depth " + std::to_string(shape.depth) + " x " +
                   std::to_string(shape.depthV) + " in " + std::string(nameOf(shape.input)) + " needs " +
                   std::to_string(missing.needed) + " " + missing.unit + " of " + missing.name + " and " +
                   std::to_string(missing.available) + " are available; split the depth or use a CPU target");
}

Status checkTiles(const HopperModel &machine, const AttentionShape &shape, const HopperTiles &tiles) {
  if (tiles.tileQ != tiles.warpgroups * 64 || tiles.warpgroups < 1 || tiles.stages < 1 || tiles.tileKv < 8 ||
      tiles.tileKv % 8 != 0 || tiles.tileKv > 256)
    return makeError(
        "expected tile_q = 64 * warpgroups, tile_kv a multiple of 8 up to 256 and 1 or more stages, but got " +
        describe(tiles));
  const std::optional<ResourceUse> over = exceeded(resourcesOf(machine, shape, tiles));
  if (!over)
    return Status::success();
  std::optional<HopperTiles> nearest;
  for (HopperTiles other : candidates()) {
    other.unroll = tiles.unroll;
    if (!exceeded(resourcesOf(machine, shape, other)) &&
        (!nearest || distance(other, tiles) < distance(*nearest, tiles)))
      nearest = other;
  }
  return makeError("expected at most " + std::to_string(over->available) + " " + over->unit + " of " + over->name +
                   ", but got " + std::to_string(over->needed) + " for " + describe(tiles) +
                   (nearest ? "; nearest that fits: " + describe(*nearest) : "; no tile size fits this depth"));
}

} // namespace fa::analysis
