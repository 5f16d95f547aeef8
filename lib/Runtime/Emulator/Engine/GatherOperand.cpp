// Reads the operands of a tensor-core instruction into tiles whose rows are k-contiguous, 16 bytes at a time.
#include "fa/Runtime/Emulator/Engine/Fragments.h"
#include "fa/Runtime/Emulator/Engine/TensorCore.h"
#include <algorithm>
#include <cstring>
#include <string>

namespace fa::runtime::emulator {
namespace {

/// Columns k .. k + 7 of 8 rows: transposes 8 x 8 elements of 16 bits into the rows of the tile.
void storeTransposed(const uint16_t (&columns)[8][8], OperandTile &tile, unsigned row, unsigned firstK) {
  typedef uint16_t UShort8 __attribute__((vector_size(16)));
  UShort8 v[8], t[8];
  std::memcpy(v, columns, sizeof v);
  // Three rounds of interleaving: column i meets column i + 4, then + 2, then + 1.
  for (unsigned round = 0; round < 3; ++round) {
    for (unsigned i = 0; i < 4; ++i) {
      t[2 * i] = __builtin_shufflevector(v[i], v[i + 4], 0, 8, 1, 9, 2, 10, 3, 11);
      t[2 * i + 1] = __builtin_shufflevector(v[i], v[i + 4], 4, 12, 5, 13, 6, 14, 7, 15);
    }
    std::memcpy(v, t, sizeof v);
  }
  for (unsigned i = 0; i < 8; ++i)
    std::memcpy(tile.row(row + i) + 2 * firstK, &v[i], 16);
}

/// The layouts of MatrixDescriptor.h as strides: a step along each index moves the address by a constant before the
/// swizzle.
struct ChunkStrides {
  uint32_t row, group, half;         ///< K-major: row within 8, group of 8 rows, 16 bytes of k
  uint32_t k, kGroup, panel, panels; ///< MN-major: k within 8, group of 8 k, 8 rows, `inRow` times 8 rows
  unsigned inRow;

  explicit ChunkStrides(const MatrixDescriptor &d) {
    bool swizzled = d.swizzle != Swizzle::None;
    uint32_t rowBytes = swizzled ? static_cast<uint32_t>(d.swizzle) : 16;
    row = k = rowBytes;
    group = d.strideBytes;
    half = swizzled ? 16 : d.leadingBytes;
    kGroup = swizzled ? d.strideBytes : d.leadingBytes;
    panel = 16;
    panels = swizzled ? d.leadingBytes : d.strideBytes;
    inRow = rowBytes / 16;
  }
};

/// Whether every chunk lies in the window; chunks are 16-byte aligned and the swizzle stays within 1024-byte blocks.
Status checkInside(SharedWindow shared, const MatrixDescriptor &descriptor, MmaType type, Major major, unsigned rows) {
  uint32_t last = 0;
  for (unsigned chunk = 0; chunk < 2 * rows; ++chunk)
    last = std::max(last, chunkAddress(descriptor, type, major, chunk));
  if (last + 16 > shared.size)
    return makeError("expected a wgmma operand inside shared memory (" + std::to_string(shared.size) +
                         " bytes), but its descriptor reaches address " + std::to_string(last),
                     700);
  return Status::success();
}

/// An upper bound of the addresses, cheap: most operands are far from the end.
bool surelyInside(SharedWindow shared, const MatrixDescriptor &d, unsigned rows) {
  uint64_t reach = uint64_t(rows / 8 + 1) * std::max(d.strideBytes, d.leadingBytes) + 2ull * d.strideBytes +
                   2ull * d.leadingBytes + 2048;
  return d.start + reach <= shared.size;
}

void gatherKMajor(const uint8_t *data, const MatrixDescriptor &d, unsigned rows, OperandTile &tile) {
  const ChunkStrides strides(d);
  for (unsigned group = 0; group < rows / 8; ++group) {
    uint32_t base = d.start + group * strides.group;
    for (unsigned r = 0; r < 8; ++r)
      for (unsigned half = 0; half < 2; ++half)
        std::memcpy(tile.row(8 * group + r) + 16 * half,
                    data + swizzleAddress(base + r * strides.row + half * strides.half, d.swizzle), 16);
  }
}

void gatherMnMajor(const uint8_t *data, const MatrixDescriptor &d, unsigned rows, OperandTile &tile) {
  const ChunkStrides strides(d);
  uint16_t columns[8][8];
  for (unsigned panel = 0; panel < rows / 8; ++panel) {
    uint32_t base = d.start + panel % strides.inRow * strides.panel + panel / strides.inRow * strides.panels;
    for (unsigned half = 0; half < 2; ++half, base += strides.kGroup) {
      for (unsigned k = 0; k < 8; ++k)
        std::memcpy(columns[k], data + swizzleAddress(base + k * strides.k, d.swizzle), 16);
      storeTransposed(columns, tile, 8 * panel, 8 * half);
    }
  }
}

} // namespace

Status gatherOperand(SharedWindow shared, const MatrixDescriptor &descriptor, MmaType type, Major major, unsigned rows,
                     OperandTile &tile) {
  if (major == Major::MN && sizeOf(type) != 2)
    return makeError("expected a k-major operand of a type that is not 16 bits wide, but got an mn-major one");
  if (!surelyInside(shared, descriptor, rows))
    if (Status status = checkInside(shared, descriptor, type, major, rows); !status)
      return status;
  tile.rows = rows;
  major == Major::K ? gatherKMajor(shared.data, descriptor, rows, tile)
                    : gatherMnMajor(shared.data, descriptor, rows, tile);
  return Status::success();
}

void gatherOperandA(const uint32_t *const registers[16], MmaType type, OperandTile &tile) {
  tile.rows = 64;
  for (unsigned warp = 0; warp < warpsPerWarpgroup; ++warp)
    for (unsigned r = 0; r < 4; ++r)
      for (unsigned group = 0; group < 8; ++group) {
        // The four lanes of a group hold 16 contiguous bytes of one row: registers 0 and 2 of the upper 8 rows,
        // 1 and 3 of the lower, 0 and 1 of the first half of k.
        unsigned row = 16 * warp + group + 8 * (r & 1);
        std::memcpy(tile.row(row) + 16 * (r >> 1), registers[4 * warp + r] + 4 * group, 16);
      }
}

} // namespace fa::runtime::emulator
