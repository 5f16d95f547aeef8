// Fields of the wgmma matrix descriptor and the canonical shared-memory layouts.
#include "fa/Runtime/Emulator/Engine/MatrixDescriptor.h"
#include <cstdio>
#include <string>

namespace fa::runtime::emulator {
namespace {

constexpr uint64_t addressField = 0x3fff; ///< 14 bits, in units of 16 bytes
constexpr Swizzle swizzles[4] = {Swizzle::None, Swizzle::B128, Swizzle::B64, Swizzle::B32};

std::string hex(uint64_t value) {
  char text[19];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

} // namespace

Expected<MatrixDescriptor> decodeMatrixDescriptor(uint64_t bits) {
  constexpr uint64_t known = addressField | addressField << 16 | addressField << 32 | 7ull << 49 | 3ull << 62;
  if (bits & ~known)
    return makeError("expected a matrix descriptor with zero in its reserved bits, but got " + hex(bits) +
                     " (reserved: " + hex(bits & ~known) + ")");
  if (uint64_t offset = bits >> 49 & 7)
    return makeError("expected matrix descriptor base offset 0, but got " + std::to_string(offset) +
                     ": align the tile to its swizzle pattern (1024, 512 or 256 bytes)");
  auto bytes = [&](unsigned shift) { return static_cast<uint32_t>(bits >> shift & addressField) << 4; };
  return MatrixDescriptor{bytes(0), bytes(16), bytes(32), swizzles[bits >> 62]};
}

uint64_t encodeMatrixDescriptor(const MatrixDescriptor &descriptor) {
  auto field = [](uint32_t bytes) { return bytes >> 4 & addressField; };
  uint64_t mode = 0;
  while (swizzles[mode] != descriptor.swizzle)
    ++mode;
  return field(descriptor.start) | field(descriptor.leadingBytes) << 16 | field(descriptor.strideBytes) << 32 |
         mode << 62;
}

uint32_t chunkAddress(const MatrixDescriptor &d, MmaType type, Major major, unsigned chunk) {
  bool swizzled = d.swizzle != Swizzle::None;
  uint32_t rowBytes = swizzled ? static_cast<uint32_t>(d.swizzle) : 16; // of one row of the swizzle pattern
  uint32_t offset;
  if (major == Major::K) {
    unsigned row = chunk / 2, half = chunk % 2;
    offset = (row % 8) * rowBytes + (row / 8) * d.strideBytes + half * (swizzled ? 16 : d.leadingBytes);
  } else {
    unsigned panel = chunk / 16, k = chunk % 16; // 8 rows each
    unsigned chunksPerRow = rowBytes / 16;
    offset = swizzled ? (panel % chunksPerRow) * 16 + (panel / chunksPerRow) * d.leadingBytes + (k % 8) * rowBytes +
                            (k / 8) * d.strideBytes
                      : panel * d.strideBytes + (k % 8) * 16 + (k / 8) * d.leadingBytes;
  }
  return swizzleAddress(d.start + offset, d.swizzle);
}

uint32_t elementAddress(const MatrixDescriptor &d, MmaType type, Major major, unsigned mn, unsigned k) {
  unsigned size = sizeOf(type);
  if (major == Major::K)
    return chunkAddress(d, type, major, 2 * mn + k * size / 16) + k * size % 16;
  return chunkAddress(d, type, major, mn / 8 * 16 + k) + mn % 8 * size;
}

} // namespace fa::runtime::emulator
