// What the emulator found: findings of the checkers, counted work, and a timeline of who did what when.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace fa::runtime::emulator {

/// The family of a finding. Names as printed: see nameOf.
enum class ReportKind : uint8_t {
  OutOfBounds,       ///< address outside every allocation (or after its release)
  Misaligned,        ///< address not a multiple of the access size
  Uninitialised,     ///< read of shared or global memory, or of a register, that nothing wrote
  Race,              ///< two accesses not ordered by happens-before, or by the wrong proxy (PTX 8)
  RegisterInFlight,  ///< touches accumulators or A fragments of a wgmma before its wait (PTX 9.7.15.4)
  Protocol,          ///< misuse of a barrier, mbarrier, tensor map, group or descriptor
  Divergence,        ///< an `.aligned` instruction or a `.sync` mask without all its lanes
  Deadlock,          ///< nobody can go on
  Budget,            ///< the instruction budget ran out (infinite loop)
  IllegalInstruction ///< trap, or an instruction this machine cannot execute
};
const char *nameOf(ReportKind kind);

/// One finding. The same (kind, line, other line) is reported once per launch and counted in `count`.
struct Report {
  ReportKind kind = ReportKind::Protocol;
  bool fatal = false;   ///< stopped the launch
  int ptxLine = 0;      ///< 1-based line of the PTX text
  int otherLine = 0;    ///< line of the access it conflicts with; 0: none
  uint32_t cta[3] = {}; ///< block index
  int warp = -1;        ///< within the CTA; -1: an asynchronous agent
  int lane = -1;        ///< first lane concerned; -1: the whole warp
  uint64_t address = 0; ///< shared: byte offset in the CTA's window; global: device address
  std::string message;  ///< `expected X, but got Y`, lower case
  std::string nearest;  ///< nearest allocation, shared variable or barrier
  uint64_t count = 1;
};
/// One line: `race: line 210 (other line 188), block (3,0,0), warp 4, lane 0: message [nearest]`.
std::string toString(const Report &report);

/// Bytes of one allocation that a kernel touched.
struct BufferTraffic {
  std::string name; ///< as given to allocate, or its address
  uint64_t address = 0;
  uint64_t bytesRead = 0; ///< in-bounds bytes read by any path (generic, cp.async, TMA)
  uint64_t bytesWritten = 0;
  uint64_t tmaBytesRead = 0; ///< the part of bytesRead that came through tensor maps and bulk copies
  uint64_t tmaBytesWritten = 0;
};

/// Work counted in one launch; sums over all CTAs.
struct Counters {
  uint64_t warpInstructions = 0;
  uint64_t threadInstructions = 0;
  uint64_t wgmmaMacs = 0;
  uint64_t mmaMacs = 0;
  uint64_t wgmmaInstructions = 0; ///< warpgroup-wide operations
  uint64_t tmaLoads = 0, tmaStores = 0;
  uint64_t sharedReadTransactions = 0, sharedWriteTransactions = 0; ///< 128-byte wavefronts
  uint64_t sharedBankConflicts = 0;                                 ///< wavefronts beyond the least possible
  uint64_t globalSectors = 0;                                       ///< 32-byte sectors touched by ld/st/cp.async
  uint64_t barrierWaits = 0;                                        ///< blocked at a named barrier
  uint64_t failedTryWaits = 0;
  std::map<std::string, uint64_t> opcodes; ///< opcode -> warp instructions
  std::vector<BufferTraffic> buffers;
};

/// One span on one track. Time in ticks of a nominal clock that starts with the block: a warp instruction takes one
/// tick, a wgmma N/2, a bulk copy its bytes at 32 a tick. It shows what overlaps; it does not predict hardware.
struct TimelineEvent {
  uint32_t cta = 0;  ///< linear block index
  std::string track; ///< "warp 3", "wgmma 1", "tma"
  std::string name;
  uint64_t begin = 0, end = 0;
  int ptxLine = 0;
};

} // namespace fa::runtime::emulator
