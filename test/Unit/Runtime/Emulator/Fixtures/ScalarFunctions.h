// Scalar functions that are compiled three times: for x86 by the test, and to PTX by nvcc and by LLVM. The emulator
// must give the bits that x86 gives. Only operations that C++ and IEEE 754 define on every input are used.
#pragma once

#ifdef __CUDACC__
#define FA_FUNCTION static __device__ inline
#else
#define FA_FUNCTION static inline
#endif

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef int s32;
typedef unsigned long long u64;
typedef long long s64;

FA_FUNCTION float asFloat(u32 x) {
  float f;
  __builtin_memcpy(&f, &x, 4);
  return f;
}
FA_FUNCTION u32 asBits(float f) {
  u32 x;
  __builtin_memcpy(&x, &f, 4);
  return x;
}
FA_FUNCTION double asDouble(u64 x) {
  double d;
  __builtin_memcpy(&d, &x, 8);
  return d;
}
FA_FUNCTION u64 asBits(double d) {
  u64 x;
  __builtin_memcpy(&x, &d, 8);
  return x;
}
/// A double with the sign and fraction of two words and an exponent in a tame range.
FA_FUNCTION double tame(u32 high, u32 low) {
  return asDouble(((u64)(high & 0x800fffffu) << 32 | low) + ((u64)(1023 - 64 + (high >> 20 & 127)) << 52));
}
FA_FUNCTION float tameFloat(u32 x) { return asFloat((x & 0x807fffffu) + ((127 - 16 + (x >> 23 & 31)) << 23)); }
FA_FUNCTION u32 fold(u64 x) { return (u32)x ^ (u32)(x >> 32); }
FA_FUNCTION u32 fold(double d) { return d != d ? 0x7fffffffu : fold(asBits(d)); }
FA_FUNCTION u32 canonical(float f) { return f != f ? 0x7fffffffu : asBits(f); }

// ---- integers
// --------------------------------------------------------------------------------------------------------
FA_FUNCTION u32 intArithmetic(u32 a, u32 b, u32 c) { return a * b + c - (a ^ b) + (~c & a) - (b | c); }
FA_FUNCTION u32 intHigh(u32 a, u32 b, u32 c) { return (u32)((u64)a * b >> 32) ^ (u32)((s64)(s32)a * (s32)c >> 32); }
FA_FUNCTION u32 intShifts(u32 a, u32 b, u32 c) {
  return (a << (b & 31)) ^ (a >> (c & 31)) ^ (u32)((s32)a >> (b & 31)) ^ (a << (c & 31) | a >> (-c & 31));
}
FA_FUNCTION u32 intDivision(u32 a, u32 b, u32 c) {
  u32 d = b | 1;
  s32 e = (s32)(c | 2);
  return a / d + a % d + (u32)((s32)(a >> 1) / e) + (u32)((s32)(a >> 1) % e);
}
FA_FUNCTION u32 intConstantDivision(u32 a, u32 b, u32 c) {
  return a / 7 + b % 1000003 + (u32)((s32)c / 10) + (u32)((s32)c % 13) + (u32)((s32)a / -3);
}
FA_FUNCTION u32 intBits(u32 a, u32 b, u32 c) {
  return (u32)__builtin_popcount(a) + (u32)__builtin_clz(b | 1) * 64 + (u32)__builtin_clz((c & -c) | 1) * 4096 +
         (u32)__builtin_popcountll((u64)a << 32 | b) * 65536;
}
FA_FUNCTION u32 intFields(u32 a, u32 b, u32 c) {
  u32 low = a >> 5 & 0x3ff, inserted = (b & ~0xff00u) | (c & 0xff) << 8;
  s32 extended = (s32)(c << 11) >> 19;
  return low + inserted + (u32)extended;
}
FA_FUNCTION u32 intBytes(u32 a, u32 b, u32 c) {
  return (a & 0xff) << 24 | (b >> 16 & 0xff) << 16 | (c >> 8 & 0xff) << 8 | a >> 24;
}
FA_FUNCTION u32 intNarrow(u32 a, u32 b, u32 c) {
  u16 x = (u16)(a + b);
  short y = (short)(b - c);
  signed char z = (signed char)(a ^ c);
  u8 w = (u8)(x >> 3);
  return (u32)(x * y) + (u32)z * 3 + w - (u32)(y >> 2);
}
FA_FUNCTION u32 intMinMax(u32 a, u32 b, u32 c) {
  s32 x = (s32)a<(s32)b ? (s32)a : (s32)b, y = (s32)b>(s32) c ? (s32)b : (s32)c;
  u32 u = a < c ? a : c, v = a > b ? a : b;
  u32 distance = x > y ? (u32)x - u : (u32)y - v;
  return distance ^ u * 3 ^ v;
}
FA_FUNCTION u32 longArithmetic(u32 a, u32 b, u32 c) {
  u64 x = (u64)a << 32 | b, y = (u64)b << 32 | c;
  return fold(x * y + (x >> (c & 63)) - (y << (a & 63)) + (u64)((s64)x >> (b & 63)) + (x < y ? 5 : 7));
}
FA_FUNCTION u32 longDivision(u32 a, u32 b, u32 c) {
  u64 x = (u64)a << 32 | b, y = (u64)(b & 0xffff) << 32 | c | 1;
  s64 z = (s64)((u64)c << 32 | a) >> 3;
  return fold(x / y + x % y + (u64)(z / (s64)(y >> 1 | 1)) + (u64)(z % 1000));
}
FA_FUNCTION u32 carryChain(u32 a, u32 b, u32 c) {
  unsigned __int128 x = (unsigned __int128)((u64)a << 32 | b) * ((u64)c << 32 | a);
  x += (unsigned __int128)b << 90 | c;
  return fold((u64)x) ^ fold((u64)(x >> 64)) * 31;
}

// ---- floats
// ----------------------------------------------------------------------------------------------------------
FA_FUNCTION u32 floatArithmetic(u32 a, u32 b, u32 c) {
  float x = asFloat(a), y = asFloat(b), z = asFloat(c);
  return canonical(x * y + z) ^ canonical(x - y) * 3 ^ canonical(y + z) * 5;
}
FA_FUNCTION u32 floatDivision(u32 a, u32 b, u32 c) {
  return canonical(asFloat(a) / asFloat(b)) ^ canonical(__builtin_sqrtf(asFloat(c))) * 3;
}
FA_FUNCTION u32 floatFused(u32 a, u32 b, u32 c) {
  return canonical(__builtin_fmaf(asFloat(a), asFloat(b), asFloat(c)));
}
FA_FUNCTION u32 floatFusedTame(u32 a, u32 b, u32 c) {
  return canonical(__builtin_fmaf(tameFloat(a), tameFloat(b), -tameFloat(c)));
}
FA_FUNCTION u32 floatCompare(u32 a, u32 b, u32 c) {
  float x = asFloat(a), y = asFloat(b), z = asFloat(c);
  return (x < y) | (x <= z) << 1 | (y > z) << 2 | (x >= y) << 3 | (x == z) << 4 | (y != x) << 5 | !(x < z) << 6 |
         !(y >= z) << 7 | (x < y || y < z) << 8 | (x == y && z != z) << 9;
}
FA_FUNCTION u32 floatMinMax(u32 a, u32 b, u32 c) {
  float x = asFloat(a), y = asFloat(b), z = asFloat(c);
  // Adding zero makes the sign of a zero result the same however min and max break the tie.
  return canonical(__builtin_fminf(x, y) + 0.0f) ^ canonical(__builtin_fmaxf(y, z) + 0.0f) * 3 ^
         canonical(__builtin_fabsf(z)) * 5 ^ canonical(__builtin_copysignf(x == x ? x : 1.0f, y)) * 7;
}
FA_FUNCTION u32 floatRounding(u32 a, u32 b, u32 c) {
  float x = tameFloat(a), y = tameFloat(b), z = tameFloat(c);
  return canonical(__builtin_floorf(x)) ^ canonical(__builtin_ceilf(y)) * 3 ^ canonical(__builtin_truncf(z)) * 5 ^
         canonical(__builtin_rintf(x + y)) * 7;
}
FA_FUNCTION u32 floatToInt(u32 a, u32 b, u32 c) {
  float x = tameFloat(a) * 16.0f, y = __builtin_fabsf(tameFloat(b)) * 64.0f, z = tameFloat(c) * 65536.0f;
  return (u32)(s32)x + (u32)y * 3 + fold((u64)(s64)z) * 5 + (u32)(short)(s32)(x / 64.0f);
}
FA_FUNCTION u32 intToFloat(u32 a, u32 b, u32 c) {
  return asBits((float)a) ^ asBits((float)(s32)b) * 3 ^ asBits((float)(((u64)a << 32) | c)) * 5 ^
         asBits((float)(s64)((u64)b << 32 | a)) * 7 ^ asBits((float)(u8)c) * 11 ^ asBits((float)(short)a);
}
FA_FUNCTION u32 doubleArithmetic(u32 a, u32 b, u32 c) {
  double x = asDouble((u64)a << 32 | b), y = asDouble((u64)b << 32 | c), z = asDouble((u64)c << 32 | a);
  return fold(x * y - z) ^ fold(x / y) * 3 ^ fold(x + z) * 5;
}
FA_FUNCTION u32 doubleFused(u32 a, u32 b, u32 c) {
  return fold(__builtin_fma(tame(a, b), tame(b, c), -tame(c, a))) ^ fold(__builtin_sqrt(tame(a & 0x7fffffff, c))) * 3;
}
FA_FUNCTION u32 doubleConvert(u32 a, u32 b, u32 c) {
  double x = tame(a, b);
  float narrow = (float)asDouble((u64)b << 32 | c), tameNarrow = (float)x;
  return canonical(narrow) ^ asBits(tameNarrow) * 3 ^ fold((double)asFloat(c)) * 5 ^
         fold((double)(s64)((u64)a << 32 | c)) * 7 ^ fold((u64)(s64)(x * 0x1p-20)) * 11 ^ (u32)(s32)(x * 0x1p-40) ^
         fold((double)a) * 13;
}
FA_FUNCTION u32 polynomial(u32 a, u32 b, u32 c) {
  float x = tameFloat(a) * 0x1p-17f, sum = tameFloat(b);
  for (u32 i = 0; i < (c & 15); ++i)
    sum = __builtin_fmaf(sum, x, 1.0f / (float)(i + 1));
  return canonical(sum);
}

// ---- control flow and memory
// -----------------------------------------------------------------------------------------
FA_FUNCTION u32 greatestDivisor(u32 a, u32 b, u32 c) {
  a |= 1;
  while (b) {
    u32 t = a % b;
    a = b;
    b = t;
  }
  return a ^ c;
}
FA_FUNCTION u32 collatz(u32 a, u32 b, u32 c) {
  u32 steps = 0, x = (a & 0xffff) + 1;
  while (x != 1 && steps < 200) {
    if (x & 1)
      x = 3 * x + 1;
    else
      x >>= 1;
    ++steps;
    if (x == (b & 0xff))
      break;
  }
  return steps * 65537 + x + c;
}
FA_FUNCTION u32 switching(u32 a, u32 b, u32 c) {
  u32 x = c;
  for (int i = 0; i < 6; ++i) {
    switch (a >> 4 * i & 15) {
    case 0:
      x += b;
      break;
    case 1:
      x *= 3;
      break;
    case 2:
      x ^= a;
      [[fallthrough]];
    case 3:
      x = x << 7 | x >> 25;
      break;
    case 4:
      if (x & 4)
        return x - b;
      x -= 9;
      break;
    case 5:
      x = x / ((b & 15) + 1);
      break;
    case 6:
      continue;
    case 7:
      x = ~x;
      break;
    case 8:
      x += 0x9e3779b9u;
      break;
    case 9:
      x ^= x >> 15;
      break;
    default:
      x -= a;
      break;
    }
    x += 1;
  }
  return x;
}
FA_FUNCTION u32 localArray(u32 a, u32 b, u32 c) {
  u32 table[16];
  for (u32 i = 0; i < 16; ++i)
    table[i] = a * (i + 1) ^ b;
  for (u32 i = 0; i < 24; ++i) {
    u32 at = c >> (i & 7) & 15, to = (table[at] + i) & 15;
    table[to] += table[at] >> 3;
  }
  u32 sum = 0;
  for (u32 i = 0; i < 16; ++i)
    sum = sum * 31 + table[i];
  return sum;
}
FA_FUNCTION u32 localBytes(u32 a, u32 b, u32 c) {
  u8 bytes[12];
  __builtin_memcpy(bytes, &a, 4);
  __builtin_memcpy(bytes + 4, &b, 4);
  __builtin_memcpy(bytes + 8, &c, 4);
  for (u32 i = 0; i + 1 < 12; ++i) {
    u32 j = bytes[i] % 12;
    u8 t = bytes[i];
    bytes[i] = bytes[j];
    bytes[j] = t;
  }
  u32 x, y, z;
  __builtin_memcpy(&x, bytes, 4);
  __builtin_memcpy(&y, bytes + 4, 4);
  __builtin_memcpy(&z, bytes + 8, 4);
  return x + y * 3 + z * 5;
}
FA_FUNCTION u32 nestedLoops(u32 a, u32 b, u32 c) {
  u32 x = a;
  for (u32 i = 0; i < (b & 7) + 1; ++i) {
    for (u32 j = i; j < (c & 7) + 2; ++j) {
      if ((x & 3) == 0 && j > i)
        break;
      x = x * 1664525u + 1013904223u + (i ^ j);
      if (x >> 31)
        continue;
      x ^= x >> 13;
    }
    if ((x & 31) == 5)
      return x;
  }
  return x + 1;
}

#define FA_SCALAR_FUNCTIONS(F)                                                                                         \
  F(intArithmetic)                                                                                                     \
  F(intHigh)                                                                                                           \
  F(intShifts) F(intDivision) F(intConstantDivision) F(intBits) F(intFields) F(intBytes) F(intNarrow) F(intMinMax)     \
      F(longArithmetic) F(longDivision) F(carryChain) F(floatArithmetic) F(floatDivision) F(floatFused)                \
          F(floatFusedTame) F(floatCompare) F(floatMinMax) F(floatRounding) F(floatToInt) F(intToFloat)                \
              F(doubleArithmetic) F(doubleFused) F(doubleConvert) F(polynomial) F(greatestDivisor) F(collatz)          \
                  F(switching) F(localArray) F(localBytes) F(nestedLoops)
