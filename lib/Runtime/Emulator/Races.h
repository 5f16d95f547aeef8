// Happens-before race detection for one cluster, with proxies (PTX 8; rules R1-R13 of the design).
// Dimensions of a clock: per CTA of the cluster one for each warp, each warpgroup's wgmma, each warp's bulk reads, bulk
// writes and cp.async, and each mbarrier (writes of bulk copies that complete on it).
#pragma once
#include "Machine.h"
#include <unordered_map>

namespace fa::runtime::emulator {

enum class Proxy : uint8_t { Generic, Async };

class RaceDetector {
public:
  RaceDetector(Launch &launch);
  /// Forgets everything: a new set of CTAs starts.
  void reset();

  // Clocks.
  void startWarp(Warp &warp);
  /// Everything the warp did so far is published through `sync`.
  void release(Warp &warp, Clock &sync);
  void acquire(Warp &warp, const Clock &sync) { warp.clock.join(sync); }
  void proxyFence(Warp &warp);
  void emptyClock(Clock &clock) const {
    clock.ordered.assign(dimensions, 0);
    clock.fenced.assign(dimensions, 0);
  }
  /// A clock for an asynchronous operation: what its issuers ordered before it.
  void joinIssuer(Clock &operation, const Warp &warp) { operation.join(warp.clock); }
  /// The warp now knows that operations up to `count` of an agent are complete.
  void observe(Warp &warp, uint32_t dimension, uint32_t count);

  uint32_t dimensionsPerCta() const { return perCta; }
  uint32_t warpDimension(const Cta &cta, uint32_t warp) const { return cta.rank * perCta + warp; }
  uint32_t wgmmaDimension(const Cta &cta, uint32_t group) const { return cta.rank * perCta + warps + group; }
  uint32_t bulkReadDimension(const Cta &cta, uint32_t warp) const { return cta.rank * perCta + warps + groups + warp; }
  uint32_t bulkWriteDimension(const Cta &cta, uint32_t warp) const {
    return cta.rank * perCta + 2 * warps + groups + warp;
  }
  uint32_t cpAsyncDimension(const Cta &cta, uint32_t warp) const {
    return cta.rank * perCta + 3 * warps + groups + warp;
  }
  /// A dimension for a new mbarrier.
  uint32_t newMbarrierDimension(const Cta &cta);

  // Accesses to shared memory.
  struct Agent {
    uint32_t dimension = 0, epoch = 0;
    Proxy proxy = Proxy::Generic;
    const Clock *clock = nullptr;
    int line = 0;
    Warp *warp = nullptr; ///< for reports
    const Instr *instr = nullptr;
  };
  Agent warpAgent(Warp &warp, const Instr &instr) const;
  /// Bytes [offset, offset + bytes) of `cta`.
  void readShared(const Agent &agent, Cta &cta, uint32_t offset, uint32_t bytes);
  void writeShared(const Agent &agent, Cta &cta, uint32_t offset, uint32_t bytes);
  /// The lanes of one instruction, each `bytes` long.
  void accessShared(const Agent &agent, Cta &cta, uint32_t lanes, const uint32_t *offsets, unsigned bytes, bool write);

private:
  struct Reader {
    uint32_t dimension = 0, epoch = 0;
    int line = 0;
  };
  struct Cell {
    uint32_t writer = none, writeEpoch = 0;
    int writeLine = 0;
    Proxy writeProxy = Proxy::Generic;
    uint8_t readerCount = 0;
    Reader readers[4];
  };
  struct Shadow {
    std::vector<Cell> cells;     ///< one for 16 bytes
    std::vector<uint32_t> split; ///< 1 + index of 16 byte cells in `bytes`, 0: uniform
    std::vector<std::array<Cell, 16>> bytes;
    std::vector<uint32_t> free; ///< entries of `bytes` (+ 1) whose cell is uniform again
  };
  static constexpr uint32_t none = ~0u;
  static constexpr uint32_t mbarriersPerCta = 64;

  void access(const Agent &agent, Cta &cta, uint32_t cell, uint32_t byteMask, bool write);
  void check(const Agent &agent, Cta &cta, Cell &cell, uint32_t address, bool write);
  void report(const Agent &agent, Cta &cta, const Cell &cell, uint32_t address, const std::string &message,
              int otherLine);
  std::string nameOfDimension(uint32_t dimension) const;
  bool sees(const Clock &clock, uint32_t dimension, uint32_t epoch) const { return clock.ordered[dimension] >= epoch; }

  Launch &launch;
  uint32_t warps, groups, perCta, dimensions;
  std::vector<uint32_t> mbarriersUsed;
  std::vector<Shadow> shadows;
};

} // namespace fa::runtime::emulator
