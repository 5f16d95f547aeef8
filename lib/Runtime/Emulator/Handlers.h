// Handlers that are not vector operations of LaneOps.def. Each documents what it expects in Instr.
#pragma once
#include "Kernel.h"

namespace fa::runtime::emulator {

// CoreControl.cpp
void handleExit(Warp &, const Instr &, uint32_t);          ///< ret, exit (flag Always)
void handleBranch(Warp &, const Instr &, uint32_t);        ///< target, join (flag Always)
void handleBranchIndexed(Warp &, const Instr &, uint32_t); ///< a: index; list: targets (flag Always)
void handleTrap(Warp &, const Instr &, uint32_t);
void handleNothing(Warp &, const Instr &, uint32_t);
void handlePredicateLogic(Warp &, const Instr &,
                          uint32_t); ///< mode: 0 and 1 or 2 xor 3 not 4 mov; bits 4, 5 negate a, b
void handlePredicateCompare(Warp &, const Instr &, uint32_t);
void handleReadClock(Warp &, const Instr &, uint32_t); ///< size 4 or 8
void handleActiveMask(Warp &, const Instr &, uint32_t);
void handleVote(Warp &, const Instr &, uint32_t);  ///< mode: 0 all 1 any 2 uni 3 ballot, bit 4 negates a; b: membermask
void handleMatch(Warp &, const Instr &, uint32_t); ///< mode: 0 any 1 all; size; extra: predicate
void handleReduce(Warp &, const Instr &,
                  uint32_t); ///< redux.sync; mode: 0 add 1 min.u 2 min.s 3 max.u 4 max.s 5 and 6 or 7 xor
void handleShuffle(Warp &, const Instr &,
                   uint32_t); ///< mode: 0 idx 1 up 2 down 3 bfly; list[0]: membermask; extra: predicate
void handleElect(Warp &, const Instr &, uint32_t);    ///< d: leader; extra: predicate; a: membermask
void handleWarpSync(Warp &, const Instr &, uint32_t); ///< a: membermask

// CoreConvert.cpp
void handleConvert(Warp &, const Instr &, uint32_t);             ///< see ConvertMode
void handleConvertPair(Warp &, const Instr &, uint32_t);         ///< mode: PairConversion, bit 8 relu
void handleSpecialFunction(Warp &, const Instr &, uint32_t);     ///< mode: SpecialFunction, bit 8 ftz; size 2 (f16), 4
void handleSpecialFunctionHalf(Warp &, const Instr &, uint32_t); ///< mode bit 9: bf16, bit 10: two a register
void handleRounded(
    Warp &, const Instr &,
    uint32_t); ///< mode: 0 add 1 sub 2 mul 3 fma 4 div 5 sqrt 6 rcp; bits 4..5 rounding; bit 6 ftz, bit 7 sat
void handleCompareHalf(Warp &, const Instr &, uint32_t); ///< imm: comparison; size: 1 bf16
void handleLogic3(Warp &, const Instr &, uint32_t);      ///< lop3: imm: table
void handleInsertField(Warp &, const Instr &, uint32_t); ///< bfi: list[0]: length; size
void handlePack(Warp &, const Instr &, uint32_t);        ///< list: parts, size: bytes of one
void handleUnpack(Warp &, const Instr &, uint32_t);
void handleCarry(Warp &, const Instr &,
                 uint32_t); ///< mode: 0 add 1 sub 2 mad.lo 3 mad.hi; bit 4 uses, bit 5 sets the carry; size
void handleSelectByCompare(Warp &, const Instr &, uint32_t); ///< slct: mode 1: c is f32; size
void handlePermuteMode(Warp &, const Instr &, uint32_t);     ///< prmt.{f4e,b4e,rc8,ecl,ecr,rc16}: mode 1..6
void handleTestProperty(Warp &, const Instr &,
                        uint32_t); ///< testp: mode 0 finite 1 infinite 2 number 3 notanumber 4 normal 5 subnormal; size

enum class PairConversion : uint8_t {
  BF16x2,
  F16x2,
  E4M3x2,
  E5M2x2,
  F16x2FromE4M3x2,
  F16x2FromE5M2x2,
  E4M3x2FromF16x2,
  E5M2x2FromF16x2
};

/// Instr::mode of handleConvert.
enum class ConvertType : uint8_t { U8, S8, U16, S16, U32, S32, U64, S64, F16, BF16, F32, F64, TF32 };
namespace convert {
inline constexpr uint16_t roundShift = 8; ///< 0 nearest even, 1 zero, 2 down, 3 up, 4 nearest away
inline constexpr uint16_t toInteger = 1 << 11, ftz = 1 << 12, sat = 1 << 13, relu = 1 << 14;
} // namespace convert

// CoreMemory.cpp
void handleLoad(Warp &, const Instr &, uint32_t);
void handleStore(Warp &, const Instr &, uint32_t);
void handleAtomic(Warp &, const Instr &, uint32_t);
void handleMapA(Warp &, const Instr &, uint32_t);
void handleGetCtaRank(Warp &, const Instr &, uint32_t);
void handleToGeneric(Warp &, const Instr &, uint32_t); ///< imm: window
void handleFromGeneric(Warp &, const Instr &, uint32_t);
void handleIsSpace(Warp &, const Instr &, uint32_t); ///< imm: window, 0: global
void handleMatrixLoad(Warp &, const Instr &, uint32_t);
void handleMatrixStore(Warp &, const Instr &, uint32_t);
void handleCpAsync(Warp &, const Instr &, uint32_t);
void handleCpAsyncCommit(Warp &, const Instr &, uint32_t);
void handleCpAsyncWait(Warp &, const Instr &, uint32_t);   ///< imm: pending groups; mode 1: wait_all
void handleCpAsyncArrive(Warp &, const Instr &, uint32_t); ///< mode 1: noinc
void handleMma(Warp &, const Instr &, uint32_t);

// CoreSync.cpp
void handleBarrier(Warp &, const Instr &,
                   uint32_t); ///< a: id, b: threads (mode bit 0: present); mode bit 1 arrive only, bit 2 not aligned
void handleBarrierReduce(Warp &, const Instr &,
                         uint32_t); ///< as handleBarrier; imm: 0 popc 1 and 2 or; c: predicate; extra: result predicate
void handleClusterArrive(Warp &, const Instr &, uint32_t); ///< mode 1: relaxed
void handleClusterWait(Warp &, const Instr &, uint32_t);
void handleFence(Warp &, const Instr &, uint32_t);
void handleProxyFence(Warp &, const Instr &, uint32_t);
void handleMbarrierInitFence(Warp &, const Instr &, uint32_t);
void handleMbarrierInit(Warp &, const Instr &, uint32_t);
void handleMbarrierInvalidate(Warp &, const Instr &, uint32_t);
void handleMbarrierArrive(Warp &, const Instr &, uint32_t);
void handleMbarrierExpect(Warp &, const Instr &, uint32_t);
void handleMbarrierTest(Warp &, const Instr &, uint32_t);
void handleMbarrierPending(Warp &, const Instr &, uint32_t);
void handleSetMaxRegisters(Warp &, const Instr &, uint32_t); ///< imm: n; mode 1: inc

// AsyncWgmma.cpp
void handleWgmma(Warp &, const Instr &, uint32_t); ///< extra: index into Kernel::wgmma
void handleWgmmaFence(Warp &, const Instr &, uint32_t);
void handleWgmmaCommit(Warp &, const Instr &, uint32_t);
void handleWgmmaWait(Warp &, const Instr &, uint32_t); ///< imm: pending groups

// AsyncBulk.cpp
void handleBulk(Warp &, const Instr &, uint32_t); ///< extra: index into Kernel::bulk
void handleBulkCommit(Warp &, const Instr &, uint32_t);
void handleBulkWait(Warp &, const Instr &, uint32_t); ///< imm: pending groups; mode 1: .read
void handlePrefetchTensorMap(Warp &, const Instr &, uint32_t);

} // namespace fa::runtime::emulator
