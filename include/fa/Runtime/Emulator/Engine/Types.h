// Names shared by the emulator's pure engine functions: element types of tensor cores, majors, swizzles.
// Nothing here knows about PTX text, threads or scheduling.
#pragma once
#include <cstddef>
#include <cstdint>

namespace fa::runtime::emulator {

/// Input types of wgmma and mma.sync. TF32 occupies 4 bytes, of which the low 13 bits are dropped.
enum class MmaType : uint8_t { F16, BF16, TF32, E4M3, E5M2 };

/// Bytes of one tensor-core input element: 2, 2, 4, 1, 1.
constexpr unsigned sizeOf(MmaType type) {
  return type == MmaType::TF32 ? 4 : type == MmaType::E4M3 || type == MmaType::E5M2 ? 1 : 2;
}

/// Type of C and D.
enum class Accumulator : uint8_t { F32, F16 };

/// `Fast`: one f32 FMA per product in k order. `H100`: one fused dot-add per instruction with the truncation that was
/// measured on H100 (Fasi et al. style reverse engineering: arXiv 2511.10909, 2512.07004).
enum class Arithmetic : uint8_t { Fast, H100 };

/// Which index of an operand is contiguous in shared memory: k, or m (of A) / n (of B).
enum class Major : uint8_t { K, MN };

/// Swizzle of 16-byte chunks within an aligned block of 8 rows. The value is the row length in bytes (0: none).
enum class Swizzle : uint8_t { None = 0, B32 = 32, B64 = 64, B128 = 128 };

/// XORs address bits 4.. with bits 7.. : 1, 2 or 3 bits for 32, 64 and 128 bytes (PTX "Shared Memory Matrix Layout").
/// Applied to the final absolute shared address; works on 16-byte chunks and keeps the low 4 bits.
constexpr uint32_t swizzleAddress(uint32_t address, Swizzle swizzle) {
  uint32_t mask = swizzle == Swizzle::B128 ? 7 : swizzle == Swizzle::B64 ? 3 : swizzle == Swizzle::B32 ? 1 : 0;
  return address ^ (((address >> 7) & mask) << 4);
}

/// The shared memory of one CTA: `data[a]` is the byte at shared::cta address a.
struct SharedWindow {
  uint8_t *data = nullptr;
  uint32_t size = 0;
};

constexpr unsigned lanesPerWarp = 32;
constexpr unsigned warpsPerWarpgroup = 4;

} // namespace fa::runtime::emulator
