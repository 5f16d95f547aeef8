// ldmatrix and stmatrix as copies between 16-byte rows and lanes.
#include "fa/Runtime/Emulator/Engine/MatrixLoad.h"
#include <cstring>

namespace fa::runtime::emulator {

void ldmatrix(unsigned count, bool transpose, const uint8_t *const *rows, uint32_t *const *registers) {
  for (unsigned matrix = 0; matrix < count; ++matrix, rows += 8) {
    uint32_t *lanes = registers[matrix];
    if (!transpose) {
      for (unsigned row = 0; row < 8; ++row)
        std::memcpy(lanes + 4 * row, rows[row], 16);
      continue;
    }
    uint16_t elements[8][8];
    for (unsigned row = 0; row < 8; ++row)
      std::memcpy(elements[row], rows[row], 16);
    for (unsigned lane = 0; lane < lanesPerWarp; ++lane) {
      unsigned column = lane / 4, row = 2 * (lane % 4);
      lanes[lane] = elements[row][column] | static_cast<uint32_t>(elements[row + 1][column]) << 16;
    }
  }
}

void stmatrix(unsigned count, bool transpose, uint8_t *const *rows, const uint32_t *const *registers) {
  for (unsigned matrix = 0; matrix < count; ++matrix, rows += 8) {
    const uint32_t *lanes = registers[matrix];
    uint16_t elements[8][8];
    if (!transpose) {
      std::memcpy(elements, lanes, sizeof elements);
    } else {
      for (unsigned lane = 0; lane < lanesPerWarp; ++lane) {
        unsigned column = lane / 4, row = 2 * (lane % 4);
        elements[row][column] = static_cast<uint16_t>(lanes[lane]);
        elements[row + 1][column] = static_cast<uint16_t>(lanes[lane] >> 16);
      }
    }
    for (unsigned row = 0; row < 8; ++row)
      std::memcpy(rows[row], elements[row], 16);
  }
}

} // namespace fa::runtime::emulator
