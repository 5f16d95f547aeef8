// Widens operand tiles to f32 in the kernels' layouts: A with each element four times, B transposed to k-major with the
// even columns of each group of eight first. Works on 16-byte vectors, which every x86-64 has.
#include "ExpandOperands.h"
#include <cstring>

namespace fa::runtime::emulator::detail {
namespace {

typedef float Float4 __attribute__((vector_size(16)));
typedef uint32_t UInt4 __attribute__((vector_size(16)));
typedef int32_t Int4 __attribute__((vector_size(16)));

/// Four raw elements, zero-extended, to f32.
Float4 widen(UInt4 raw, MmaType type) {
  switch (type) {
  case MmaType::BF16:
    return (Float4)(raw << 16);
  case MmaType::TF32:
    return (Float4)(raw & ~0x1fffu);
  case MmaType::E4M3: {
    // Multiplying moves the exponent bias from 7 to 127 and is exact, subnormals included. 0x7f is the only NaN.
    Float4 value = (Float4)((raw & 0x7f) << 20) * 0x1p120f;
    UInt4 nan = (UInt4)((raw & 0x7f) == 0x7f) & 0x7fffffffu;
    return (Float4)(((UInt4)value & ~nan) | nan | ((raw & 0x80) << 24));
  }
  case MmaType::E5M2:
    raw <<= 8;
    [[fallthrough]];
  case MmaType::F16: {
    Float4 value = (Float4)((raw & 0x7fff) << 13) * 0x1p112f;
    UInt4 special = (UInt4)((raw & 0x7c00) == 0x7c00) & 0x7f800000u;
    return (Float4)((UInt4)value | special | ((raw & 0x8000) << 16));
  }
  }
  return {};
}

/// Elements k .. k + 3 of one row, zero-extended.
UInt4 loadRaw(const uint8_t *row, MmaType type, unsigned k) {
  typedef uint16_t UShort4 __attribute__((vector_size(8)));
  typedef uint8_t UChar4 __attribute__((vector_size(4)));
  switch (sizeOf(type)) {
  case 4: {
    UInt4 raw;
    std::memcpy(&raw, row + 4 * k, 16);
    return raw;
  }
  case 2: {
    UShort4 raw;
    std::memcpy(&raw, row + 2 * k, 8);
    return __builtin_convertvector(raw, UInt4);
  }
  default: {
    UChar4 raw;
    std::memcpy(&raw, row + k, 4);
    return __builtin_convertvector(raw, UInt4);
  }
  }
}

/// Transposes four rows of four and stores them `stride` floats apart.
void storeTransposed(const Float4 (&rows)[4], float *out, size_t stride) {
  Float4 low01 = __builtin_shufflevector(rows[0], rows[1], 0, 4, 1, 5);
  Float4 high01 = __builtin_shufflevector(rows[0], rows[1], 2, 6, 3, 7);
  Float4 low23 = __builtin_shufflevector(rows[2], rows[3], 0, 4, 1, 5);
  Float4 high23 = __builtin_shufflevector(rows[2], rows[3], 2, 6, 3, 7);
  Float4 columns[4] = {
      __builtin_shufflevector(low01, low23, 0, 1, 4, 5), __builtin_shufflevector(low01, low23, 2, 3, 6, 7),
      __builtin_shufflevector(high01, high23, 0, 1, 4, 5), __builtin_shufflevector(high01, high23, 2, 3, 6, 7)};
  for (unsigned i = 0; i < 4; ++i)
    std::memcpy(out + i * stride, &columns[i], 16);
}

template <MmaType Type> void expandAOf(const OperandTile &tile, unsigned k, bool negate, float *out) {
  UInt4 sign = UInt4{} + (negate ? 0x80000000u : 0);
  size_t stride = 4 * tile.rows;
  for (unsigned row = 0; row < tile.rows; ++row)
    for (unsigned j = 0; j < k; j += 4) {
      Float4 v = (Float4)((UInt4)widen(loadRaw(tile.row(row), Type, j), Type) ^ sign);
      float *to = out + j * stride + 4 * row;
      Float4 copies[4] = {__builtin_shufflevector(v, v, 0, 0, 0, 0), __builtin_shufflevector(v, v, 1, 1, 1, 1),
                          __builtin_shufflevector(v, v, 2, 2, 2, 2), __builtin_shufflevector(v, v, 3, 3, 3, 3)};
      for (unsigned i = 0; i < 4; ++i)
        std::memcpy(to + i * stride, &copies[i], 16);
    }
}

template <MmaType Type> void expandBOf(const OperandTile &tile, unsigned k, float *out) {
  for (unsigned column = 0; column < tile.rows; column += 8)
    for (unsigned odd = 0; odd < 2; ++odd)
      for (unsigned j = 0; j < k; j += 4) {
        Float4 rows[4];
        for (unsigned i = 0; i < 4; ++i)
          rows[i] = widen(loadRaw(tile.row(column + odd + 2 * i), Type, j), Type);
        storeTransposed(rows, out + j * tile.rows + column + 4 * odd, tile.rows);
      }
}

/// Calls `call.template operator()<type>()`.
template <typename Call> void dispatch(MmaType type, Call &&call) {
  switch (type) {
  case MmaType::F16:
    return call.template operator()<MmaType::F16>();
  case MmaType::BF16:
    return call.template operator()<MmaType::BF16>();
  case MmaType::TF32:
    return call.template operator()<MmaType::TF32>();
  case MmaType::E4M3:
    return call.template operator()<MmaType::E4M3>();
  case MmaType::E5M2:
    return call.template operator()<MmaType::E5M2>();
  }
}

} // namespace

int minExponent(MmaType type) {
  switch (type) {
  case MmaType::F16:
  case MmaType::E5M2:
    return -14;
  case MmaType::E4M3:
    return -6;
  default:
    return -126;
  }
}

void expandA(const OperandTile &tile, MmaType type, unsigned k, bool negate, Expanded &out) {
  dispatch(type, [&]<MmaType Type>() { expandAOf<Type>(tile, k, negate, out.a); });
}

void expandB(const OperandTile &tile, MmaType type, unsigned k, Expanded &out) {
  dispatch(type, [&]<MmaType Type>() { expandBOf<Type>(tile, k, out.b); });
}

void expandExponents(MmaType aType, MmaType bType, unsigned k, unsigned rows, unsigned n, Expanded &out) {
  kernels().exponents(out.a, out.aExponents, k * rows * 4, minExponent(aType));
  kernels().exponents(out.b, out.bExponents, k * n, minExponent(bType));
}

} // namespace fa::runtime::emulator::detail
