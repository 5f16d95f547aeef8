// Descriptor decoding, and layouts seen from the side of whoever fills shared memory.
#include "TensorCoreOracle.h"
#include "fa/Runtime/Emulator/Engine/TensorCore.h"
#include <gtest/gtest.h>
#include <set>

using namespace fa;
using namespace fa::test;

namespace {

TEST(MatrixDescriptor, DecodesFields) {
  // Start 0x400, LBO 16, SBO 1024, 128-byte swizzle: the usual K-major bf16 tile.
  uint64_t bits = 0x40ull | 1ull << 16 | 64ull << 32 | 1ull << 62;
  auto d = decodeMatrixDescriptor(bits);
  ASSERT_TRUE(d);
  EXPECT_EQ(*d, (MatrixDescriptor{0x400, 16, 1024, Swizzle::B128}));
  EXPECT_EQ(encodeMatrixDescriptor(*d), bits);
  for (uint64_t mode = 0; mode < 4; ++mode) {
    constexpr Swizzle expected[] = {Swizzle::None, Swizzle::B128, Swizzle::B64, Swizzle::B32};
    auto decoded = decodeMatrixDescriptor(mode << 62);
    ASSERT_TRUE(decoded);
    EXPECT_EQ(decoded->swizzle, expected[mode]);
  }
}

TEST(MatrixDescriptor, RefusesReservedBitsAndBaseOffset) {
  std::set<unsigned> known;
  for (unsigned bit = 0; bit < 64; ++bit) {
    bool field = bit < 14 || (bit >= 16 && bit < 30) || (bit >= 32 && bit < 46) || bit >= 62;
    auto decoded = decodeMatrixDescriptor(1ull << bit);
    EXPECT_EQ(static_cast<bool>(decoded), field) << bit;
    if (!decoded)
      EXPECT_NE(decoded.message().find(bit >= 49 && bit <= 51 ? "base offset" : "reserved"), std::string::npos);
  }
}

// The 128-byte swizzle as the PTX figure shows it: in row r of 8, chunk c moves to chunk c ^ r.
TEST(MatrixDescriptor, SwizzlePatterns) {
  for (unsigned row = 0; row < 8; ++row)
    for (unsigned chunk = 0; chunk < 8; ++chunk)
      EXPECT_EQ(swizzleAddress(1024 + row * 128 + chunk * 16, Swizzle::B128), 1024 + row * 128 + (chunk ^ row) * 16);
  for (unsigned row = 0; row < 8; ++row)
    for (unsigned chunk = 0; chunk < 4; ++chunk)
      EXPECT_EQ(swizzleAddress(1024 + row * 64 + chunk * 16, Swizzle::B64), 1024 + row * 64 + (chunk ^ (row / 2)) * 16);
  for (unsigned row = 0; row < 8; ++row)
    for (unsigned chunk = 0; chunk < 2; ++chunk)
      EXPECT_EQ(swizzleAddress(1024 + row * 32 + chunk * 16, Swizzle::B32), 1024 + row * 32 + (chunk ^ (row / 4)) * 16);
}

/// A matrix [rows][columns] (contiguous along columns) as a TMA box of rowBytes-wide panels would lay it out.
uint32_t panelAddress(uint32_t base, unsigned rows, unsigned row, unsigned columnByte, unsigned span, Swizzle swizzle) {
  uint32_t panel = columnByte / span, a = base + panel * rows * span + row * span + columnByte % span;
  unsigned mask = swizzle == Swizzle::B128 ? 7 : swizzle == Swizzle::B64 ? 3 : 1;
  return a ^ ((a / 128 & mask) * 16);
}

class Layouts : public testing::TestWithParam<Swizzle> {};

// K-major: operand rows are matrix rows; stepping the start address by 32 bytes selects the next slice of k.
TEST_P(Layouts, KMajorSlicesOfAPanel) {
  unsigned span = static_cast<unsigned>(GetParam());
  for (MmaType type : allTypes)
    for (unsigned slice = 0; slice < span / 32; ++slice) {
      MatrixDescriptor d{4096 + slice * 32, 16, 8 * span, GetParam()};
      for (unsigned row = 0; row < 128; ++row)
        for (unsigned k = 0; k < 32 / sizeOf(type); ++k)
          EXPECT_EQ(elementAddress(d, type, Major::K, row, k),
                    panelAddress(4096, 128, row, slice * 32 + k * sizeOf(type), span, GetParam()));
    }
}

// MN-major: matrix rows are k, columns are m or n; panels of `span` bytes lie LBO apart.
TEST_P(Layouts, MnMajorPanels) {
  unsigned span = static_cast<unsigned>(GetParam()), keys = 64;
  for (unsigned slice = 0; slice < keys / 16; ++slice) {
    MatrixDescriptor d{8192 + slice * 16 * span, keys * span, 8 * span, GetParam()};
    for (unsigned n = 0; n < 128; ++n)
      for (unsigned k = 0; k < 16; ++k)
        EXPECT_EQ(elementAddress(d, MmaType::BF16, Major::MN, n, k),
                  panelAddress(8192, keys, slice * 16 + k, 2 * n, span, GetParam()));
  }
}

INSTANTIATE_TEST_SUITE_P(Swizzles, Layouts, testing::Values(Swizzle::B32, Swizzle::B64, Swizzle::B128));

TEST(MatrixDescriptor, CoreMatricesWithoutSwizzle) {
  MatrixDescriptor d{1024, 2048, 256, Swizzle::None};
  // K-major: 8 rows of 16 bytes; the second 16 bytes of k are LBO away, the next 8 rows SBO.
  EXPECT_EQ(elementAddress(d, MmaType::BF16, Major::K, 11, 13), 1024u + 3 * 16 + 256 + 2048 + 5 * 2);
  // MN-major: 8 n contiguous, 8 k in 16-byte rows; the next 8 n are SBO away, the next 8 k LBO.
  EXPECT_EQ(elementAddress(d, MmaType::BF16, Major::MN, 11, 13), 1024u + 3 * 2 + 256 + 5 * 16 + 2048);
}

TEST(MatrixDescriptor, GatherReadsExactlyTheElements) {
  std::mt19937 random(6);
  std::vector<uint8_t> memory(65536);
  for (uint8_t &byte : memory)
    byte = static_cast<uint8_t>(random());
  SharedWindow window{memory.data(), static_cast<uint32_t>(memory.size())};
  for (Swizzle swizzle : {Swizzle::None, Swizzle::B32, Swizzle::B64, Swizzle::B128})
    for (MmaType type : allTypes)
      for (Major major : {Major::K, Major::MN}) {
        MatrixDescriptor d{2048, 4096, 1024, swizzle};
        OperandTile tile;
        Status status = gatherOperand(window, d, type, major, 64, tile);
        if (major == Major::MN && sizeOf(type) != 2) {
          EXPECT_FALSE(status);
          continue;
        }
        ASSERT_TRUE(status);
        for (unsigned row = 0; row < 64; ++row)
          for (unsigned k = 0; k < 32 / sizeOf(type); ++k)
            EXPECT_EQ(std::memcmp(tile.row(row) + k * sizeOf(type),
                                  memory.data() + elementAddress(d, type, major, row, k), sizeOf(type)),
                      0);
      }
  OperandTile tile;
  Status outside = gatherOperand(window, {65536 - 1024, 16, 1024, Swizzle::B128}, MmaType::BF16, Major::K, 64, tile);
  ASSERT_FALSE(outside);
  EXPECT_EQ(outside.error().code, 700);
}

} // namespace
