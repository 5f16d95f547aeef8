// Reads the operands of a tensor-core instruction into tiles whose rows are k-contiguous, 16 bytes at a time.
#include "fa/Runtime/Emulator/Engine/Fragments.h"
#include "fa/Runtime/Emulator/Engine/TensorCore.h"
#include <cstring>
#include <string>

namespace fa::runtime::emulator {
namespace {

/// Chunk (panel, k) of an MN-major operand holds 8 rows of column k: transposes 8 x 8 elements of 16 bits.
void storeTransposed(const uint16_t (&columns)[8][8], OperandTile &tile, unsigned panel, unsigned firstK) {
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
    std::memcpy(tile.row(8 * panel + i) + 2 * firstK, &v[i], 16);
}

} // namespace

Status gatherOperand(SharedWindow shared, const MatrixDescriptor &descriptor, MmaType type, Major major, unsigned rows,
                     OperandTile &tile) {
  if (major == Major::MN && sizeOf(type) != 2)
    return makeError("expected a k-major operand of a type that is not 16 bits wide, but got an mn-major one");
  tile.rows = rows;
  uint16_t columns[8][8];
  for (unsigned chunk = 0; chunk < 2 * rows; ++chunk) {
    uint32_t address = chunkAddress(descriptor, type, major, chunk);
    if (address + 16 > shared.size)
      return makeError("expected a wgmma operand inside shared memory (" + std::to_string(shared.size) +
                           " bytes), but its descriptor reaches address " + std::to_string(address),
                       700);
    if (major == Major::K) {
      std::memcpy(tile.bytes + 16 * chunk, shared.data + address, 16);
      continue;
    }
    std::memcpy(columns[chunk % 8], shared.data + address, 16);
    if (chunk % 8 == 7)
      storeTransposed(columns, tile, chunk / 16, chunk % 16 - 7);
  }
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
