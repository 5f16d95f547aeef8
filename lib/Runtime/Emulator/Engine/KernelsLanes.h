// Loops over the 32 lanes of a warp, written without branches so that the compiler vectorises them.
// Included by KernelsVariant.h only.

constexpr unsigned warpLanes = 32;

inline float asFloat(uint32_t bits) { return __builtin_bit_cast(float, bits); }
inline uint32_t asBits(float value) { return __builtin_bit_cast(uint32_t, value); }
inline double asDouble(uint64_t bits) { return __builtin_bit_cast(double, bits); }
inline uint64_t asBits(double value) { return __builtin_bit_cast(uint64_t, value); }

inline uint32_t bf16Bits(uint32_t x) {
  uint32_t rounded = (x + 0x7fff + ((x >> 16) & 1)) >> 16;
  return (x & 0x7fffffff) > 0x7f800000 ? 0x7fff : rounded;
}

/// Nearest even; subnormal results come from adding a constant whose unit in the last place is f16's smallest value.
inline uint32_t f16Bits(uint32_t x) {
  uint32_t sign = (x >> 16) & 0x8000, magnitude = x & 0x7fffffff;
  uint32_t normal = (magnitude + 0xfff + ((magnitude >> 13) & 1) - (112u << 23)) >> 13;
  uint32_t subnormal = asBits(asFloat(magnitude) + 0.5f) - asBits(0.5f);
  uint32_t result = magnitude < (113u << 23) ? subnormal : normal;
  result = magnitude >= 0x477ff000 ? 0x7c00 : result;
  result |= sign;
  return magnitude > 0x7f800000 ? 0x7fff : result;
}

void convertToBF16x2(const uint32_t *upper, const uint32_t *lower, uint32_t *out) {
  for (unsigned i = 0; i < warpLanes; ++i)
    out[i] = bf16Bits(upper[i]) << 16 | bf16Bits(lower[i]);
}
void convertToF16x2(const uint32_t *upper, const uint32_t *lower, uint32_t *out) {
  for (unsigned i = 0; i < warpLanes; ++i)
    out[i] = f16Bits(upper[i]) << 16 | f16Bits(lower[i]);
}

constexpr uint32_t canonicalNaN = 0x7fffffff;

inline uint32_t flush(uint32_t bits, bool ftz) { return ftz && (bits & 0x7f800000) == 0 ? bits & 0x80000000 : bits; }
inline uint32_t finish(float value, bool ftz) {
  uint32_t bits = asBits(value);
  return (bits & 0x7fffffff) > 0x7f800000 ? canonicalNaN : flush(bits, ftz);
}

/// 2^x for |x| <= 200 in double: relative error below 1e-11.
inline double exp2Double(double x) {
  constexpr double magic = 0x1.8p52;
  double shifted = x + magic, f = (x - (shifted - magic)) * 0x1.62e42fefa39efp-1;
  double p =
      1 + f * (1 + f * (1.0 / 2 +
                        f * (1.0 / 6 +
                             f * (1.0 / 24 +
                                  f * (1.0 / 120 +
                                       f * (1.0 / 720 + f * (1.0 / 5040 + f * (1.0 / 40320 + f * (1.0 / 362880)))))))));
  return asDouble(asBits(p) + (asBits(shifted) << 52));
}

void ex2(const uint32_t *in, uint32_t *out, bool ftz) {
  for (unsigned i = 0; i < warpLanes; ++i) {
    float x = asFloat(flush(in[i], ftz));
    float clamped = x > 200.f ? 200.f : x;
    clamped = clamped < -200.f ? -200.f : clamped;
    float value = static_cast<float>(exp2Double(static_cast<double>(clamped)));
    out[i] = x != x ? canonicalNaN : finish(value, ftz);
  }
}

/// log2 of a positive finite double, absolute error below 1e-12.
inline double log2Double(double x) {
  uint64_t bits = asBits(x);
  uint64_t shifted = bits - asBits(0x1.6a09e667f3bcdp-1); // exponent counts from sqrt(1/2)
  double exponent = static_cast<double>(static_cast<int32_t>(static_cast<int64_t>(shifted) >> 52));
  double m = asDouble((shifted & 0xfffffffffffffull) + asBits(0x1.6a09e667f3bcdp-1));
  double t = (m - 1) / (m + 1), s = t * t;
  double p =
      t * (1 + s * (1.0 / 3 +
                    s * (1.0 / 5 + s * (1.0 / 7 + s * (1.0 / 9 + s * (1.0 / 11 + s * (1.0 / 13 + s * (1.0 / 15))))))));
  return exponent + p * 0x1.71547652b82fep1; // 2 / ln 2
}

void lg2(const uint32_t *in, uint32_t *out, bool ftz) {
  for (unsigned i = 0; i < warpLanes; ++i) {
    uint32_t bits = flush(in[i], ftz);
    float x = asFloat(bits);
    uint32_t value =
        finish(static_cast<float>(log2Double(x > 0 && bits < 0x7f800000 ? static_cast<double>(x) : 1.0)), ftz);
    value = bits == 0x7f800000 ? bits : value;
    value = (bits & 0x7fffffff) == 0 ? 0xff800000 : value;
    out[i] = x != x || x < 0 ? canonicalNaN : value;
  }
}

void rcp(const uint32_t *in, uint32_t *out, bool ftz) {
  for (unsigned i = 0; i < warpLanes; ++i)
    out[i] = finish(1.0f / asFloat(flush(in[i], ftz)), ftz);
}

void rsqrt(const uint32_t *in, uint32_t *out, bool ftz) {
  for (unsigned i = 0; i < warpLanes; ++i) {
    double x = static_cast<double>(asFloat(flush(in[i], ftz)));
    out[i] = finish(static_cast<float>(1.0 / __builtin_sqrt(x)), ftz);
  }
}

void squareRoot(const uint32_t *in, uint32_t *out, bool ftz) {
  for (unsigned i = 0; i < warpLanes; ++i)
    out[i] = finish(__builtin_sqrtf(asFloat(flush(in[i], ftz))), ftz);
}

/// (1 - e) / (1 + e) with e = 2^(-2 |x| log2 e); a short series where the difference would cancel.
void tanh(const uint32_t *in, uint32_t *out, bool ftz) {
  for (unsigned i = 0; i < warpLanes; ++i) {
    float x = asFloat(flush(in[i], ftz));
    double magnitude = static_cast<double>(asFloat(asBits(x) & 0x7fffffff));
    double clamped = magnitude > 20 ? 20 : magnitude;
    double e = exp2Double(clamped * -0x1.71547652b82fep1);
    double value = (1 - e) / (1 + e);
    double series = clamped - clamped * clamped * clamped * (1.0 / 3);
    value = clamped < 1e-3 ? series : value;
    uint32_t bits = finish(static_cast<float>(value), ftz) | (asBits(x) & 0x80000000);
    out[i] = x != x ? canonicalNaN : bits;
  }
}
