// ldmatrix and stmatrix: every lane, count and transposition.
#include "fa/Runtime/Emulator/Engine/MatrixLoad.h"
#include <gtest/gtest.h>
#include <vector>

using namespace fa::runtime::emulator;

namespace {

TEST(MatrixLoad, LoadsAndStoresEveryElement) {
  for (unsigned count : {1u, 2u, 4u})
    for (bool transpose : {false, true}) {
      std::vector<uint16_t> memory(4 * 64), back(4 * 64);
      for (size_t i = 0; i < memory.size(); ++i)
        memory[i] = static_cast<uint16_t>(i * 257 + 11);
      std::vector<const uint8_t *> rows;
      std::vector<uint8_t *> backRows;
      for (unsigned i = 0; i < 8 * count; ++i) {
        unsigned at = (7 * i) % (8 * count); // rows in any order
        rows.push_back(reinterpret_cast<const uint8_t *>(memory.data() + 8 * at));
        backRows.push_back(reinterpret_cast<uint8_t *>(back.data() + 8 * at));
      }
      uint32_t registers[4][32] = {};
      uint32_t *pointers[4] = {registers[0], registers[1], registers[2], registers[3]};
      ldmatrix(count, transpose, rows.data(), pointers);
      for (unsigned m = 0; m < count; ++m)
        for (unsigned lane = 0; lane < 32; ++lane)
          for (unsigned half = 0; half < 2; ++half) {
            unsigned row = transpose ? 2 * (lane % 4) + half : lane / 4;
            unsigned column = transpose ? lane / 4 : 2 * (lane % 4) + half;
            uint16_t expected = reinterpret_cast<const uint16_t *>(rows[8 * m + row])[column];
            EXPECT_EQ(static_cast<uint16_t>(registers[m][lane] >> 16 * half), expected);
          }
      stmatrix(count, transpose, backRows.data(), pointers);
      for (unsigned i = 0; i < 64 * count; ++i)
        EXPECT_EQ(back[i], memory[i]);
    }
}

} // namespace
