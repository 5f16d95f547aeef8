// Private: operands in the layouts that the vector kernels read.
#pragma once
#include "Kernels.h"
#include "fa/Runtime/Emulator/Engine/TensorCore.h"

namespace fa::runtime::emulator::detail {

/// Buffers for the largest instruction: k <= 32, 64 rows of A, 256 columns of B.
struct Expanded {
  alignas(64) float a[32 * 64 * 4];
  alignas(64) float b[32 * 256];
  alignas(64) int32_t aExponents[32 * 64 * 4];
  alignas(64) int32_t bExponents[32 * 256];
};

/// `negate` changes the sign of every element.
void expandA(const OperandTile &tile, MmaType type, unsigned k, bool negate, Expanded &out);
void expandB(const OperandTile &tile, MmaType type, unsigned k, Expanded &out);
/// Exponents of the expanded values, for the exact kernel.
void expandExponents(MmaType aType, MmaType bType, unsigned k, unsigned rows, unsigned n, Expanded &out);
/// Smallest exponent of a normal number.
int minExponent(MmaType type);

} // namespace fa::runtime::emulator::detail
