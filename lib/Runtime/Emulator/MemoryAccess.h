// One memory instruction of a warp: addresses of its lanes, judged and resolved to host bytes.
#pragma once
#include "Machine.h"

namespace fa::runtime::emulator {

enum class Space : uint8_t { Generic, Global, Shared, Local, Param };

/// Instr::mode of ld, st, atom and red.
namespace access {
inline constexpr uint16_t spaceMask = 7, wideAddress = 8, signExtend = 16, strong = 32, synchronises = 64;
} // namespace access

enum class AccessKind : uint8_t { Read, Write, Atomic, AsyncCopyRead, AsyncCopyWrite };

/// The lanes of one instruction. After resolve(), host[l] points at the bytes of lane l.
struct WarpAccess {
  Warp &warp;
  const Instr &instr;
  uint32_t mask = 0;
  unsigned bytes = 0; ///< per lane
  unsigned alignment = 1;
  AccessKind kind = AccessKind::Read;
  Space space = Space::Global;
  uint64_t address[32] = {};
  uint8_t *host[32] = {};
  bool strong = false;     ///< volatile, relaxed, acquire, release: does not race with its like
  uint32_t sharedMask = 0; ///< lanes that turned out to be shared memory

  /// Reads the addresses of the lanes from a slot.
  void take(uint32_t slot, bool wide, int64_t offset);
  /// Checks bounds, alignment, initialisation and races, counts, and fills host[]. False after a fatal finding.
  bool resolve();

private:
  bool resolveSpace(Space where, uint32_t lanes);
  bool resolveGlobal(uint32_t lanes);
  bool resolveShared(uint32_t lanes);
  Cta *locateShared(int lane, uint32_t &offset);
  bool fail(ReportKind kind, int lane, const std::string &what, const std::string &nearest);
  void checkSharedInitialised(Cta &cta, uint32_t lanes, const uint32_t *offsets);
  void checkMbarriers(Cta &cta, uint32_t lanes, const uint32_t *offsets);
  void countShared(uint32_t lanes);
};

/// Marks or tests bits [from, from + count) of a bit array.
void setBits(uint8_t *bits, size_t from, size_t count);
bool allBits(const uint8_t *bits, size_t from, size_t count);

} // namespace fa::runtime::emulator
