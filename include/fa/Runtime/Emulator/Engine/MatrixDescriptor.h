// The 64-bit shared-memory matrix descriptor of wgmma and the element -> address maps it stands for.
// Source: PTX ISA, "Shared Memory Matrix Layout" and "Matrix Descriptor Format" of wgmma.
#pragma once
#include "fa/Runtime/Emulator/Engine/Types.h"
#include "fa/Support/Expected.h"

namespace fa::runtime::emulator {

struct MatrixDescriptor {
  uint32_t start = 0;        ///< shared::cta byte address, multiple of 16
  uint32_t leadingBytes = 0; ///< leading dimension byte offset, multiple of 16
  uint32_t strideBytes = 0;  ///< stride dimension byte offset, multiple of 16
  Swizzle swizzle = Swizzle::None;
  bool operator==(const MatrixDescriptor &) const = default;
};

/// Decodes and validates: reserved bits must be 0, and base offset must be 0 (its effect is not calibrated).
Expected<MatrixDescriptor> decodeMatrixDescriptor(uint64_t bits);
/// Inverse of decodeMatrixDescriptor (fields are truncated as hardware truncates them).
uint64_t encodeMatrixDescriptor(const MatrixDescriptor &descriptor);

/// Shared address of element (mn, k) of an operand slice (k < 32 / sizeOf(type)), swizzle applied.
/// Precondition: Major::MN only for 16-bit types.
uint32_t elementAddress(const MatrixDescriptor &descriptor, MmaType type, Major major, unsigned mn, unsigned k);

/// Addresses of the 16-byte chunks that an instruction reads, the read set of one operand of `rows` rows x 32 bytes.
/// K-major: chunk index = 2 * row + half, half selects the first or last 16 bytes along k.
/// MN-major: chunk index = 16 * (row / 8) + k; the chunk holds rows 8 * (row / 8) .. + 7 of column k.
/// Both have 2 * rows chunks (rows is a multiple of 8).
uint32_t chunkAddress(const MatrixDescriptor &descriptor, MmaType type, Major major, unsigned chunk);

} // namespace fa::runtime::emulator
