// Private interface between the engine and its vector kernels, which exist once per instruction set.
// Plain data only: a kernel's translation unit must not instantiate inline functions that other units share.
#pragma once
#include <cstdint>

namespace fa::runtime::emulator::detail {

/// The exact dot product's view of one input type.
struct ExactRule {
  int fractionBits;       ///< F: terms are truncated to this many bits relative to the largest exponent
  int resultFractionBits; ///< 23, or 13 for 8-bit inputs
  int minExponentA;       ///< of normal numbers; subnormals keep it
  int minExponentB;
  bool halfAccumulator; ///< C and D are f16 values, result rounded to nearest even
};

/// One matrix product on fragments. A holds `rows` = 16 * warps rows, B n columns; k terms per output.
///   a[(k * rows + row) * 4 + copy]: each element four times, once per lane of a row
///   b[(k * n/8 + n/8) * 8 + {0, 2, 4, 6, 1, 3, 5, 7}]: eight columns, the even ones first
///   d[warp * n/2 + r]: 32 lanes of f32
/// Exponents (exact only) have the layouts of a and b; zeros have zeroExponent.
struct Product {
  const float *a;
  const float *b;
  const int32_t *aExponents;
  const int32_t *bExponents;
  float *const *d;
  unsigned k;
  unsigned rows;
  unsigned n;
  bool accumulate;
  ExactRule rule;
};

constexpr int32_t zeroExponent = -1000;
constexpr int32_t specialExponent = 3000; ///< of infinity and NaN

/// The reference form of one output element; a and b point at element k = 0, strides in floats.
float exactDot(const ExactRule &rule, const float *a, unsigned strideA, const float *b, unsigned strideB, unsigned k,
               float c);

struct Kernels {
  const char *name;
  void (*multiplyFast)(const Product &product);
  /// Runs with the rounding mode toward zero.
  void (*multiplyExact)(const Product &product);
  /// Exponents of `count` (a multiple of 16) finite values whose subnormals keep `minimum`; see Product.
  void (*exponents)(const float *values, int32_t *exponents, unsigned count, int minimum);
  void (*convertToBF16x2)(const uint32_t *upper, const uint32_t *lower, uint32_t *out);
  void (*convertToF16x2)(const uint32_t *upper, const uint32_t *lower, uint32_t *out);
  void (*ex2)(const uint32_t *in, uint32_t *out, bool ftz);
  void (*lg2)(const uint32_t *in, uint32_t *out, bool ftz);
  void (*rcp)(const uint32_t *in, uint32_t *out, bool ftz);
  void (*rsqrt)(const uint32_t *in, uint32_t *out, bool ftz);
  void (*sqrt)(const uint32_t *in, uint32_t *out, bool ftz);
  void (*tanh)(const uint32_t *in, uint32_t *out, bool ftz);
};

extern const Kernels kernelsSse2, kernelsAvx2, kernelsAvx512;
/// The selected set.
const Kernels &kernels();

} // namespace fa::runtime::emulator::detail
