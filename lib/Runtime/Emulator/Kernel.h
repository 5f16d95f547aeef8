// A lowered kernel: flat instructions over a register file of 32-lane slots, ready for the core.
#pragma once
#include "fa/Runtime/Emulator/Emulator.h"
#include "fa/Runtime/Emulator/Engine/TensorCore.h"
#include "fa/Runtime/Emulator/Engine/TensorMemoryAccess.h"
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace fa::runtime::emulator {

struct Warp;
struct Instr;
/// Executes one instruction for the lanes of `mask` (never 0 unless Flag::Always).
using Handler = void (*)(Warp &warp, const Instr &instr, uint32_t mask);

/// A slot holds one 32-bit value of 32 lanes; 64-bit values take two neighbouring slots (32 x 8 bytes).
inline constexpr uint32_t slotBytes = 128;
/// Predicates live in their own file, one 32-bit lane mask each; the first ones are false, true and a place to drop
/// results.
inline constexpr uint32_t predicateFalse = 0, predicateTrue = 1, predicateSink = 2, firstPredicate = 3;

/// Why the core must look twice at an instruction.
namespace flag {
inline constexpr uint16_t Always = 1;       ///< call the handler even with an empty mask
inline constexpr uint16_t Aligned = 2;      ///< all live lanes of the warp must execute it together
inline constexpr uint16_t JoinPoint = 4;    ///< immediate post-dominator of a branch
inline constexpr uint16_t ReadsTracked = 8; ///< reads a register that may be uninitialised
inline constexpr uint16_t WritesTracked = 16;
inline constexpr uint16_t TouchesTensor = 32; ///< touches a register that some wgmma uses
inline constexpr uint16_t WarpSync = 64;      ///< bar.warp.sync
} // namespace flag

struct Instr {
  Handler handler = nullptr;
  uint32_t d = 0, a = 0, b = 0, c = 0; ///< byte offset of a slot, or index of a predicate
  uint32_t guard = predicateTrue;
  uint32_t guardXor = 0; ///< ~0 for @!p
  uint16_t flags = 0;
  uint16_t mode = 0; ///< meaning belongs to the handler
  uint32_t list = 0; ///< first of `listSize` entries in Kernel::lists
  uint16_t listSize = 0;
  uint16_t size = 0; ///< bytes of an element or access
  int64_t imm = 0;
  int32_t target = 0; ///< branch target
  int32_t join = -1;  ///< branch: instruction at the immediate post-dominator, -1: exit
  int32_t line = 0;
  uint32_t extra = 0; ///< index into Kernel::wgmma / Kernel::bulk, or handler-specific
};

enum class Special : uint8_t {
  TidX,
  TidY,
  TidZ,
  NTidX,
  NTidY,
  NTidZ,
  CtaIdX,
  CtaIdY,
  CtaIdZ,
  NCtaIdX,
  NCtaIdY,
  NCtaIdZ,
  LaneId,
  WarpId,
  NWarpId,
  SmId,
  NSmId,
  GridId,
  ClusterIdX,
  ClusterIdY,
  ClusterIdZ,
  NClusterIdX,
  NClusterIdY,
  NClusterIdZ,
  ClusterCtaIdX,
  ClusterCtaIdY,
  ClusterCtaIdZ,
  ClusterNCtaIdX,
  ClusterNCtaIdY,
  ClusterNCtaIdZ,
  ClusterCtaRank,
  ClusterNCtaRank,
  LaneMaskEq,
  LaneMaskLe,
  LaneMaskLt,
  LaneMaskGe,
  LaneMaskGt,
  DynamicSharedSize,
  TotalSharedSize,
  Clock,
  Clock64
};

/// A register file location filled before a CTA starts.
struct ConstantSlot {
  uint32_t offset = 0;
  bool wide = false;
  uint64_t bits = 0;
};
struct SpecialSlot {
  uint32_t offset = 0;
  Special kind = Special::TidX;
};

/// An address operand: value of `slot` (32 or 64 bits wide) plus an offset.
struct AddressRef {
  uint32_t slot = 0;
  bool wide = false;
  int64_t offset = 0;
};

/// What a wgmma.mma_async names beyond its shape.
struct WgmmaInfo {
  WgmmaShape shape;
  bool aInRegisters = false;
  Major aMajor = Major::K, bMajor = Major::K;
  uint32_t descriptorA = 0, descriptorB = 0;    ///< slots (64-bit)
  uint32_t scaleD = predicateTrue;              ///< predicate
  std::vector<uint32_t> d, a;                   ///< slots, in register order
  std::vector<uint32_t> dRegisters, aRegisters; ///< tensor register numbers
  uint16_t accumulator = 0;                     ///< 1 + number of the set of D registers (equal sets, equal numbers)
};

/// mma.sync: shape and register slots.
struct MmaInfo {
  MmaSyncShape shape;
  std::vector<uint32_t> d, a, b, c;
};

/// A bulk copy (TMA): direction, addresses, coordinates.
struct BulkInfo {
  enum class Kind : uint8_t { TensorLoad, TensorStore, TensorReduce, Load, Store, Reduce, SharedToCluster };
  Kind kind = Kind::TensorLoad;
  unsigned rank = 0;
  Reduction reduction = Reduction::Add;
  TensorMapType type = TensorMapType::U8; ///< of a non-tensor reduction
  AddressRef shared, global, mbarrier;    ///< `global`: tensor map or address; SharedToCluster: the source
  std::vector<uint32_t> coordinates;      ///< slots (32-bit)
  uint32_t bytes = 0;                     ///< slot of the size (non-tensor)
  bool multicast = false;
  uint32_t multicastMask = 0; ///< slot (16-bit)
};

struct SharedVariable {
  std::string name;
  uint32_t offset = 0; ///< in the CTA's window
  uint32_t bytes = 0;  ///< 0: dynamic
};

struct Kernel {
  std::string name;
  EntryInfo info;
  std::vector<Instr> code;          ///< one for each PTX instruction, plus a final exit
  std::vector<uint32_t> lists;      ///< operand lists: slot offsets
  std::vector<std::string> opcodes; ///< distinct opcodes
  std::vector<uint32_t> opcodeOf;   ///< instruction -> index into `opcodes`
  uint32_t slots = 0, predicates = firstPredicate;
  uint32_t trackedSlots = 0; ///< the first slots: registers that may be read before they are written
  uint32_t tensorSlotBegin = 0, tensorSlotEnd = 0; ///< slots of registers that some wgmma uses
  std::vector<ConstantSlot> constants;
  std::vector<SpecialSlot> specials;
  std::vector<SharedVariable> sharedVariables;
  std::vector<std::string> slotNames; ///< for reports: a PTX register of each tracked or tensor slot
  uint32_t staticSharedEnd = 0;       ///< window offset after static variables
  uint32_t dynamicSharedAlign = 16;
  uint32_t localBytes = 0;
  bool usesTensorRegisters = false;
  bool hasLaunchBounds = false;
  uint32_t maxRegisters = 0;
  uint32_t tensorRegisters = 0; ///< PTX registers that some wgmma uses; they are numbered from 0
  /// What each instruction reads / writes among tracked and tensor slots: ranges of `lists`, in pairs of a slot and the
  /// number of the tensor register that lives there (several may share a slot). The counts are of pairs.
  struct Touch {
    uint32_t reads = 0, writes = 0;
    uint16_t readCount = 0, writeCount = 0;
  };
  std::vector<Touch> touches;
  std::vector<WgmmaInfo> wgmma;
  std::vector<BulkInfo> bulk;
  std::vector<MmaInfo> mma;
};

/// A loaded module.
class Program {
public:
  std::vector<Kernel> kernels;
  struct Global {
    std::string name;
    uint64_t address = 0;
    size_t bytes = 0;
  };
  std::vector<Global> globals;
  const Kernel *find(const std::string &name) const;
};

} // namespace fa::runtime::emulator
