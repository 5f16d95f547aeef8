// Floating-point conversions of PTX cvt between f32, f16, bf16, tf32, e4m3 and e5m2, bit for bit, one value at a time
// and 32 lanes at a time. Source: PTX ISA, "cvt".
#pragma once
#include "fa/Runtime/Emulator/Engine/Types.h"
#include <bit>

namespace fa::runtime::emulator {

/// .rn: nearest even; NaN becomes the canonical NaN (f16, bf16: 0x7FFF); overflow becomes infinity.
uint16_t roundToF16(float value);
uint16_t roundToBF16(float value);
/// .rz: toward zero (overflow becomes the largest finite value; infinity stays).
uint16_t truncateToF16(float value);
uint16_t truncateToBF16(float value);
/// .rn.satfinite: overflow and infinity become +-448 / +-57344, NaN 0x7F.
uint8_t roundToE4M3(float value);
uint8_t roundToE5M2(float value);
/// cvt.rna.tf32.f32: nearest, ties away from zero, low 13 bits zero. cvt.rn.tf32.f32: ties to even.
uint32_t roundAwayToTF32(float value);
uint32_t roundToTF32(float value);
/// Exact widenings. NaNs stay NaNs.
float widenF16(uint16_t bits);
inline float widenBF16(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }
float widenE4M3(uint8_t bits);
float widenE5M2(uint8_t bits);

/// 32 lanes: out = (upper rounded) << 16 | (lower rounded), as cvt.rn.{bf16x2,f16x2}.f32 d, upper, lower.
/// `relu` clamps negative results to +0 and NaN to the canonical NaN.
void convertToBF16x2(const uint32_t *upper, const uint32_t *lower, uint32_t *out, bool relu = false);
void convertToF16x2(const uint32_t *upper, const uint32_t *lower, uint32_t *out, bool relu = false);
/// 32 lanes: cvt.rn.satfinite.{e4m3x2,e5m2x2}.f32 d, upper, lower; 16 significant bits per lane of `out`.
void convertToE4M3x2(const uint32_t *upper, const uint32_t *lower, uint32_t *out, bool relu = false);
void convertToE5M2x2(const uint32_t *upper, const uint32_t *lower, uint32_t *out, bool relu = false);
/// 32 lanes: cvt.rn.f16x2.{e4m3x2,e5m2x2} (exact); byte 1 becomes the upper half.
void convertE4M3x2ToF16x2(const uint32_t *in, uint32_t *out);
void convertE5M2x2ToF16x2(const uint32_t *in, uint32_t *out);

} // namespace fa::runtime::emulator
