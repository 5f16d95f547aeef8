// Which element of which matrix a lane's register holds, for wgmma and mma.sync.
// Source: PTX ISA figures of the register fragments of wgmma.mma_async and mma.sync.m16n8k*.
#pragma once
#include "fa/Runtime/Emulator/Engine/Types.h"

namespace fa::runtime::emulator {

/// Row and column (for A: row and k; for B: k and n) of one fragment element.
struct FragmentElement {
  unsigned row;
  unsigned column;
  bool operator==(const FragmentElement &) const = default;
};

/// D of wgmma.m64nN, element `index` = 0 .. N/2 - 1 of a thread (f32: one per register; f16: two, low half first).
/// `warp` is the warp's place in its warpgroup; mma.sync.m16n8 is the case warp = 0, N = 8.
constexpr FragmentElement accumulatorElement(unsigned warp, unsigned lane, unsigned index) {
  return {16 * warp + lane / 4 + 8 * ((index >> 1) & 1), 8 * (index >> 2) + 2 * (lane % 4) + (index & 1)};
}

/// A of wgmma in registers and of mma.sync with K * sizeOf(type) = 32 bytes (16 bytes: the first half of the elements):
/// element `index` counts low to high through the registers.
constexpr FragmentElement operandAElement(MmaType type, unsigned warp, unsigned lane, unsigned index) {
  unsigned row = 16 * warp + lane / 4, quad = lane % 4;
  switch (sizeOf(type)) {
  case 4:
    return {row + 8 * (index & 1), quad + 4 * (index >> 1)};
  case 2:
    return {row + 8 * ((index >> 1) & 1), 2 * quad + (index & 1) + 8 * (index >> 2)};
  default:
    return {row + 8 * ((index >> 2) & 1), 4 * quad + (index & 3) + 16 * (index >> 3)};
  }
}

/// B of mma.sync (row = k, column = n).
constexpr FragmentElement operandBElement(MmaType type, unsigned lane, unsigned index) {
  unsigned n = lane / 4, quad = lane % 4;
  switch (sizeOf(type)) {
  case 4:
    return {quad + 4 * index, n};
  case 2:
    return {2 * quad + (index & 1) + 8 * (index >> 1), n};
  default:
    return {4 * quad + (index & 3) + 16 * (index >> 2), n};
  }
}

} // namespace fa::runtime::emulator
