// ldmatrix and stmatrix: 8x8 matrices of 16-bit elements between shared memory rows and lanes.
// Source: PTX ISA, "ldmatrix" and "stmatrix".
#pragma once
#include "fa/Runtime/Emulator/Engine/Types.h"

namespace fa::runtime::emulator {

/// `rows[8 * i + r]` points at the 16 bytes of row r of matrix i (count = 1, 2 or 4 matrices); `registers[i]` at 32
/// lanes. Lane l gets row l/4, columns 2(l%4) (low half) and + 1; transposed: rows 2(l%4), + 1 of column l/4.
void ldmatrix(unsigned count, bool transpose, const uint8_t *const *rows, uint32_t *const *registers);
/// The inverse of ldmatrix.
void stmatrix(unsigned count, bool transpose, uint8_t *const *rows, const uint32_t *const *registers);

} // namespace fa::runtime::emulator
