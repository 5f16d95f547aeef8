// wgmma and mma.sync: checks shapes, brings operands into the kernels' layouts and runs the selected kernel.
#include "fa/Runtime/Emulator/Engine/TensorCore.h"
#include "ExpandOperands.h"
#include "fa/Runtime/Emulator/Engine/Convert.h"
#include <cstring>
#include <string>
#include <xmmintrin.h>

namespace fa::runtime::emulator {
namespace {

bool isFp8(MmaType type) { return sizeOf(type) == 1; }

Status verifyTypes(MmaType a, MmaType b, Accumulator accumulator) {
  if (a != b && !(isFp8(a) && isFp8(b)))
    return makeError("expected A and B of the same type (e4m3 and e5m2 may be mixed)");
  if (accumulator == Accumulator::F16 && a != MmaType::F16 && !isFp8(a))
    return makeError("expected an f32 accumulator for bf16 and tf32 inputs, but got f16");
  return Status::success();
}

detail::ExactRule exactRule(MmaType a, MmaType b, Accumulator accumulator) {
  bool fp8 = isFp8(a);
  return {fp8 ? 13 : 25, fp8 ? 13 : 23, detail::minExponent(a), detail::minExponent(b),
          accumulator == Accumulator::F16};
}

/// Sets the rounding mode toward zero while it lives.
class TowardZero {
public:
  TowardZero() : saved(_mm_getcsr()) { _mm_setcsr(saved | _MM_ROUND_TOWARD_ZERO); }
  ~TowardZero() { _mm_setcsr(saved); }

private:
  unsigned saved;
};

void multiply(detail::Product &product, Arithmetic arithmetic, MmaType aType, MmaType bType,
              detail::Expanded &operands) {
  product.a = operands.a;
  product.b = operands.b;
  if (arithmetic == Arithmetic::Fast)
    return detail::kernels().multiplyFast(product);
  detail::expandExponents(aType, bType, product.k, product.rows, product.n, operands);
  product.aExponents = operands.aExponents;
  product.bExponents = operands.bExponents;
  TowardZero rounding;
  detail::kernels().multiplyExact(product);
}

/// f16 accumulators as f32 registers: packed register r of a warp holds elements 2r and 2r + 1.
struct UnpackedAccumulator {
  alignas(64) float lanes[4 * 128][lanesPerWarp];
  float *registers[4 * 128];

  void unpack(const uint32_t *const *packed, unsigned count, bool read) {
    for (unsigned r = 0; r < 2 * count; ++r) {
      registers[r] = lanes[r];
      for (unsigned lane = 0; read && lane < lanesPerWarp; ++lane)
        lanes[r][lane] = widenF16(static_cast<uint16_t>(packed[r / 2][lane] >> 16 * (r % 2)));
    }
  }
  void pack(uint32_t *const *packed, unsigned count) const {
    for (unsigned r = 0; r < count; ++r)
      convertToF16x2(reinterpret_cast<const uint32_t *>(lanes[2 * r + 1]),
                     reinterpret_cast<const uint32_t *>(lanes[2 * r]), packed[r]);
  }
};

thread_local detail::Expanded operands;
thread_local UnpackedAccumulator unpacked;

} // namespace

Status verify(const WgmmaShape &shape) {
  if (shape.n < 8 || shape.n > 256 || shape.n % 8)
    return makeError("expected wgmma n to be a multiple of 8 in 8..256, but got " + std::to_string(shape.n));
  return verifyTypes(shape.aType, shape.bType, shape.accumulator);
}

void wgmma(const WgmmaShape &shape, const OperandTile &a, const OperandTile &b, uint32_t *const *d) {
  unsigned k = 32 / sizeOf(shape.aType);
  detail::expandA(a, shape.aType, k, shape.negateA != shape.negateB, operands);
  detail::expandB(b, shape.bType, k, operands);
  detail::Product product{.a = nullptr,
                          .b = nullptr,
                          .aExponents = nullptr,
                          .bExponents = nullptr,
                          .d = nullptr,
                          .k = k,
                          .rows = 64,
                          .n = shape.n,
                          .accumulate = shape.accumulate,
                          .rule = exactRule(shape.aType, shape.bType, shape.accumulator)};
  if (shape.accumulator == Accumulator::F32) {
    product.d = reinterpret_cast<float *const *>(d);
    return multiply(product, shape.arithmetic, shape.aType, shape.bType, operands);
  }
  unsigned registers = warpsPerWarpgroup * shape.n / 4;
  unpacked.unpack(d, registers, shape.accumulate);
  product.d = unpacked.registers;
  multiply(product, shape.arithmetic, shape.aType, shape.bType, operands);
  unpacked.pack(d, registers);
}

Status verify(const MmaSyncShape &shape) {
  unsigned bytes = shape.k * sizeOf(shape.aType);
  if (bytes != 32 && bytes != 16)
    return makeError("expected mma.sync k of 16 or 32 bytes per row, but got k = " + std::to_string(shape.k) + " of " +
                     std::to_string(sizeOf(shape.aType)) + " bytes each");
  return verifyTypes(shape.aType, shape.bType, shape.accumulator);
}

void mmaSync(const MmaSyncShape &shape, const uint32_t *const *a, const uint32_t *const *b, const uint32_t *const *c,
             uint32_t *const *d) {
  // Register r of A: rows 8 * (r & 1) .., 16-byte half r >> 1 of k; of B: half r. Four lanes hold 16 contiguous bytes.
  OperandTile aTile, bTile;
  aTile.rows = 16;
  bTile.rows = 8;
  for (unsigned r = 0; r < operandARegisters(shape); ++r)
    for (unsigned group = 0; group < 8; ++group)
      std::memcpy(aTile.row(group + 8 * (r & 1)) + 16 * (r >> 1), a[r] + 4 * group, 16);
  for (unsigned r = 0; r < operandBRegisters(shape); ++r)
    for (unsigned group = 0; group < 8; ++group)
      std::memcpy(bTile.row(group) + 16 * r, b[r] + 4 * group, 16);
  detail::expandA(aTile, shape.aType, shape.k, false, operands);
  detail::expandB(bTile, shape.bType, shape.k, operands);
  detail::Product product{.a = nullptr,
                          .b = nullptr,
                          .aExponents = nullptr,
                          .bExponents = nullptr,
                          .d = nullptr,
                          .k = shape.k,
                          .rows = 16,
                          .n = 8,
                          .accumulate = true,
                          .rule = exactRule(shape.aType, shape.bType, shape.accumulator)};
  unsigned registers = accumulatorRegisters(shape);
  if (shape.accumulator == Accumulator::F16) {
    unpacked.unpack(c, registers, true);
    product.d = unpacked.registers;
    multiply(product, shape.arithmetic, shape.aType, shape.bType, operands);
    return unpacked.pack(d, registers);
  }
  for (unsigned r = 0; r < registers; ++r)
    if (d[r] != c[r])
      std::memcpy(d[r], c[r], 4 * lanesPerWarp);
  product.d = reinterpret_cast<float *const *>(d);
  multiply(product, shape.arithmetic, shape.aType, shape.bType, operands);
}

} // namespace fa::runtime::emulator
