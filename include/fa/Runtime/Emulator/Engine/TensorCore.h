// Tensor-core arithmetic: wgmma.mma_async (operands gathered from shared memory or registers) and mma.sync.
// Reading operands and computing are separate calls, so that a scheduler may read them early or late.
// One binary runs on any x86-64: the widest vector code the machine supports is chosen at run time.
#pragma once
#include "fa/Runtime/Emulator/Engine/MatrixDescriptor.h"
#include "fa/Runtime/Emulator/Engine/Types.h"
#include "fa/Support/Expected.h"

namespace fa::runtime::emulator {

/// One operand slice of an instruction: `rows` rows of 32 bytes, k contiguous (rows <= 256).
struct OperandTile {
  alignas(64) uint8_t bytes[256 * 32];
  unsigned rows = 0;
  const uint8_t *row(unsigned index) const { return bytes + 32 * index; }
  uint8_t *row(unsigned index) { return bytes + 32 * index; }
};

/// Reads an operand of `rows` rows (64 for A, N for B; multiple of 8) that a descriptor names.
/// Fails with the address when a chunk lies outside the window, and for Major::MN of a type that is not 16 bits wide.
Status gatherOperand(SharedWindow shared, const MatrixDescriptor &descriptor, MmaType type, Major major, unsigned rows,
                     OperandTile &tile);

/// Reads A from registers: `registers[4 * warp + r]` points at the 32 lane values of register r of warp `warp`.
void gatherOperandA(const uint32_t *const registers[16], MmaType type, OperandTile &tile);

/// What one wgmma.mma_async instruction computes: D = (+-A)(+-B) (+ D).
struct WgmmaShape {
  MmaType aType = MmaType::BF16;
  MmaType bType = MmaType::BF16;
  Accumulator accumulator = Accumulator::F32;
  unsigned n = 8;         ///< 8, 16, .. 256
  bool accumulate = true; ///< scale-d; false: old D is not read
  bool negateA = false;   ///< scale-a = -1
  bool negateB = false;   ///< scale-b = -1
  Arithmetic arithmetic = Arithmetic::Fast;
};

/// Registers of D per thread: n / 2 (f32) or n / 4 (f16).
constexpr unsigned accumulatorRegisters(const WgmmaShape &shape) {
  return shape.accumulator == Accumulator::F32 ? shape.n / 2 : shape.n / 4;
}

/// Checks n and the combination of types against the PTX table; the message names the accepted values.
Status verify(const WgmmaShape &shape);

/// `d[warp * accumulatorRegisters + r]` points at the 32 lane values of register r of warp 0..3. Precondition:
/// verify(). NaN results: Fast keeps what the host's FMA gives; H100 gives 0x7FFFFFFF (f16: 0x7FFF).
void wgmma(const WgmmaShape &shape, const OperandTile &a, const OperandTile &b, uint32_t *const *d);

/// mma.sync.aligned.m16n8kK.row.col: K = 16 or 8 (f16, bf16), 8 or 4 (tf32), 32 or 16 (e4m3, e5m2).
struct MmaSyncShape {
  MmaType aType = MmaType::BF16;
  MmaType bType = MmaType::BF16;
  Accumulator accumulator = Accumulator::F32; ///< type of both C and D
  unsigned k = 16;
  Arithmetic arithmetic = Arithmetic::Fast;
};

/// Register counts of a warp's fragments.
constexpr unsigned operandARegisters(const MmaSyncShape &shape) { return shape.k * sizeOf(shape.aType) / 8; }
constexpr unsigned operandBRegisters(const MmaSyncShape &shape) { return shape.k * sizeOf(shape.bType) / 16; }
constexpr unsigned accumulatorRegisters(const MmaSyncShape &shape) {
  return shape.accumulator == Accumulator::F32 ? 4 : 2;
}
Status verify(const MmaSyncShape &shape);

/// Each pointer leads to the 32 lane values of one register; `d` may alias `c`. Precondition: verify().
void mmaSync(const MmaSyncShape &shape, const uint32_t *const *a, const uint32_t *const *b, const uint32_t *const *c,
             uint32_t *const *d);

/// Name of the vector code in use: "avx512", "avx2" or "sse2".
const char *tensorCoreIsa();
/// Forces one ISA, for tests and benchmarks; fails when the machine lacks it or the name is unknown.
Status selectTensorCoreIsa(const char *name);

} // namespace fa::runtime::emulator
