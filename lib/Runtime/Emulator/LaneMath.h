// Scalar functions that LaneOps.def uses. Everything here is `static inline` without standard templates: the file is
// compiled once per instruction set, and shared symbols would mix the copies.
#pragma once
#include "fa/Runtime/Emulator/Engine/Convert.h"
#include "fa/Support/DType.h"
#include <cstdint>
#include <cstring>

namespace fa::runtime::emulator {
namespace {

using u8 = uint8_t;
using u16 = uint16_t;
using u32 = uint32_t;
using u64 = uint64_t;
using s8 = int8_t;
using s16 = int16_t;
using s32 = int32_t;
using s64 = int64_t;
using f32 = float;
using f64 = double;

inline u32 bitsOf(f32 value) {
  u32 bits;
  std::memcpy(&bits, &value, 4);
  return bits;
}
inline f32 floatOf(u32 bits) {
  f32 value;
  std::memcpy(&value, &bits, 4);
  return value;
}

/// Subnormals become zero of the same sign.
inline f32 flush(f32 value) {
  u32 bits = bitsOf(value);
  return floatOf((bits & 0x7f800000u) == 0 ? bits & 0x80000000u : bits);
}
inline f32 absolute(f32 value) { return floatOf(bitsOf(value) & 0x7fffffffu); }
/// Clamps to [0, 1]; NaN becomes +0.
inline f32 saturateFloat(f32 value) { return value >= 1.0f ? 1.0f : value > 0.0f ? value : 0.0f; }
inline s32 saturate32(s64 value) { return value > INT32_MAX ? INT32_MAX : value < INT32_MIN ? INT32_MIN : (s32)value; }

inline f32 canonicalNaN() { return floatOf(0x7fffffffu); }
/// max.f32: a NaN loses to a number, -0 < +0.
inline f32 maximumNumber(f32 a, f32 b) {
  f32 zero = floatOf(bitsOf(a) & bitsOf(b));
  f32 larger = a > b ? a : a < b ? b : a == b ? zero : a != a ? b : a;
  return larger != larger ? canonicalNaN() : larger;
}
inline f32 minimumNumber(f32 a, f32 b) {
  f32 zero = floatOf(bitsOf(a) | bitsOf(b));
  f32 smaller = a < b ? a : a > b ? b : a == b ? zero : a != a ? b : a;
  return smaller != smaller ? canonicalNaN() : smaller;
}
inline f32 maximumNaN(f32 a, f32 b) { return a != a || b != b ? canonicalNaN() : maximumNumber(a, b); }
inline f32 minimumNaN(f32 a, f32 b) { return a != a || b != b ? canonicalNaN() : minimumNumber(a, b); }
inline f64 maximumNumber64(f64 a, f64 b) {
  if (a == b)
    return __builtin_signbit(a) ? b : a;
  return a > b || b != b ? a : b;
}
inline f64 minimumNumber64(f64 a, f64 b) {
  if (a == b)
    return __builtin_signbit(a) ? a : b;
  return a < b || b != b ? a : b;
}

inline u32 funnelLeft(u32 low, u32 high, u32 shift) { return (u32)((((u64)high << 32 | low) << shift) >> 32); }
inline u32 funnelRight(u32 low, u32 high, u32 shift) { return (u32)(((u64)high << 32 | low) >> shift); }
inline u32 reverse32(u32 value) {
  value = (value >> 1 & 0x55555555u) | (value & 0x55555555u) << 1;
  value = (value >> 2 & 0x33333333u) | (value & 0x33333333u) << 2;
  value = (value >> 4 & 0x0f0f0f0fu) | (value & 0x0f0f0f0fu) << 4;
  return __builtin_bswap32(value);
}
inline u32 findBit32(u32 value) { return value ? 31 - __builtin_clz(value) : ~0u; }
inline u32 findBit64(u64 value) { return value ? 63 - __builtin_clzll(value) : ~0u; }
inline u32 shiftOfBit32(u32 value) { return value ? __builtin_clz(value) : ~0u; }
inline u32 shiftOfBit64(u64 value) { return value ? __builtin_clzll(value) : ~0u; }

/// bfe: `length` bits from `position`; signed fields replicate the bit at min(position + length - 1, msb).
inline u64 extractField64(u64 value, u32 position, u32 length, bool isSigned) {
  position &= 255;
  length &= 255;
  if (!length)
    return 0;
  u32 top = position + length - 1;
  bool sign = isSigned && (value >> (top > 63 ? 63 : top) & 1);
  u64 field = position > 63 ? 0 : value >> position;
  u32 have = position > 63 ? 0 : 64 - position;
  u32 keep = length < have ? length : have;
  u64 mask = keep >= 64 ? ~0ull : (1ull << keep) - 1;
  return sign ? (field & mask) | ~mask : field & mask;
}
inline u32 extractField32(u32 value, u32 position, u32 length, bool isSigned) {
  position &= 255;
  length &= 255;
  u32 top = position + length - 1;
  u32 sign = isSigned && length && (value >> (top > 31 ? 31 : top) & 1) ? ~0u : 0;
  u32 have = position > 31 ? 0 : 32 - position;
  u32 keep = length < have ? length : have;
  u32 mask = keep >= 32 ? ~0u : (1u << keep) - 1;
  u32 field = position > 31 ? 0 : value >> position;
  return (field & mask) | (sign & ~mask);
}
/// prmt in its default mode: nibble i of the selector picks byte i of the result.
inline u32 permuteBytes(u32 a, u32 b, u32 selector) {
  u64 bytes = (u64)b << 32 | a;
  u32 result = 0;
  for (u32 i = 0; i < 4; ++i) {
    u32 nibble = selector >> (4 * i) & 15;
    u32 byte = (u32)(bytes >> (8 * (nibble & 7))) & 255;
    if (nibble & 8)
      byte = byte & 128 ? 255 : 0;
    result |= byte << (8 * i);
  }
  return result;
}

// f16 and bf16: sums and products of two values are exact in f64 up to its own rounding; rounding f64 to odd first
// makes the final rounding the only one.
inline f64 addToOdd(f64 a, f64 b) {
  f64 sum = a + b, other = sum - a;
  f64 error = (a - (sum - other)) + (b - other);
  u64 bits;
  std::memcpy(&bits, &sum, 8);
  if (error != 0 && !(bits & 1) && sum - sum == 0)
    bits += (error > 0) == (sum > 0) ? 1 : -1;
  std::memcpy(&sum, &bits, 8);
  return sum;
}
inline f64 wideHalf(u32 bits) { return widenF16((u16)bits); }
inline f64 wideBrain(u32 bits) { return floatOf(bits << 16); }
inline u32 canonical16(u16 bits, u16 infinity) { return (bits & 0x7fff) > infinity ? 0x7fff : bits; }
inline u32 narrowHalf(f64 value) { return canonical16(toF16(value), 0x7c00); }
inline u32 narrowBrain(f64 value) { return canonical16(toBF16(value), 0x7f80); }
inline u32 halfAdd(u32 a, u32 b) { return narrowHalf(addToOdd(wideHalf(a), wideHalf(b))); }
inline u32 halfSub(u32 a, u32 b) { return narrowHalf(addToOdd(wideHalf(a), -wideHalf(b))); }
inline u32 halfMul(u32 a, u32 b) { return narrowHalf(wideHalf(a) * wideHalf(b)); }
inline u32 halfFma(u32 a, u32 b, u32 c) { return narrowHalf(addToOdd(wideHalf(a) * wideHalf(b), wideHalf(c))); }
inline u32 brainAdd(u32 a, u32 b) { return narrowBrain(addToOdd(wideBrain(a), wideBrain(b))); }
inline u32 brainSub(u32 a, u32 b) { return narrowBrain(addToOdd(wideBrain(a), -wideBrain(b))); }
inline u32 brainMul(u32 a, u32 b) { return narrowBrain(wideBrain(a) * wideBrain(b)); }
inline u32 brainFma(u32 a, u32 b, u32 c) { return narrowBrain(addToOdd(wideBrain(a) * wideBrain(b), wideBrain(c))); }
inline u32 halfMin(u32 a, u32 b, bool nan) {
  f32 x = (f32)wideHalf(a), y = (f32)wideHalf(b);
  return narrowHalf(nan ? minimumNaN(x, y) : minimumNumber(x, y));
}
inline u32 halfMax(u32 a, u32 b, bool nan) {
  f32 x = (f32)wideHalf(a), y = (f32)wideHalf(b);
  return narrowHalf(nan ? maximumNaN(x, y) : maximumNumber(x, y));
}
inline u32 brainMin(u32 a, u32 b, bool nan) {
  f32 x = (f32)wideBrain(a), y = (f32)wideBrain(b);
  return narrowBrain(nan ? minimumNaN(x, y) : minimumNumber(x, y));
}
inline u32 brainMax(u32 a, u32 b, bool nan) {
  f32 x = (f32)wideBrain(a), y = (f32)wideBrain(b);
  return narrowBrain(nan ? maximumNaN(x, y) : maximumNumber(x, y));
}
inline u32 pair(u32 low, u32 high) { return (low & 0xffff) | high << 16; }
inline u32 both(u32 a, u32 b, u32 (*f)(u32, u32)) { return pair(f(a & 0xffff, b & 0xffff), f(a >> 16, b >> 16)); }
inline u32 all(u32 a, u32 b, u32 c, u32 (*f)(u32, u32, u32)) {
  return pair(f(a & 0xffff, b & 0xffff, c & 0xffff), f(a >> 16, b >> 16, c >> 16));
}

} // namespace
} // namespace fa::runtime::emulator
