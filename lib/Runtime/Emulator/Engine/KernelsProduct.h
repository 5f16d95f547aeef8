// Matrix products on accumulator fragments. A register's 32 lanes are 8 rows x 4 columns, so a vector of lanes is an
// outer product: the rows' elements of A, each four times, times four columns of B, broadcast.
// Included by KernelsVariant.h only.

inline Floats loadFloats(const float *p) {
  Floats v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}
inline Ints loadInts(const int32_t *p) {
  Ints v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}
inline Floats splat(float x) { return Floats{} + x; }
inline Ints splat(int32_t x) { return Ints{} + x; }

inline Floats broadcast4(const float *p) {
#if FA_KERNELS_LANES == 16
  return (Floats)_mm512_broadcast_f32x4(_mm_loadu_ps(p));
#elif FA_KERNELS_LANES == 8
  return (Floats)_mm256_broadcast_ps(reinterpret_cast<const __m128 *>(p));
#else
  return loadFloats(p);
#endif
}
inline Ints broadcast4(const int32_t *p) { return (Ints)broadcast4(reinterpret_cast<const float *>(p)); }

/// Without FMA hardware the product is rounded first; it is exact for every input type as long as it is in f32's
/// normal range, so the results agree.
inline Floats multiplyAdd(Floats a, Floats b, Floats c) {
#if FA_KERNELS_LANES == 16
  return (Floats)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
#elif FA_KERNELS_LANES == 8
  return (Floats)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
#else
  return a * b + c;
#endif
}

/// Where the four row vectors of a block live: D is split by halves of 8 rows (two registers each) and lanes.
struct Block {
  unsigned warp, row, group; ///< first row within the warp, column group of 8
  float *at(const Product &p, unsigned vector, unsigned odd, unsigned groupOffset) const {
    unsigned r = row + vector * rowsPerVector;
    return p.d[warp * (p.n / 2) + 4 * (group + groupOffset) + 2 * (r / 8) + odd] + 4 * (r % 8);
  }
};

template <unsigned Groups> void fastBlock(const Product &p, Block block) {
  Floats acc[rowVectors][2 * Groups];
  for (unsigned i = 0; i < rowVectors; ++i)
    for (unsigned j = 0; j < 2 * Groups; ++j)
      acc[i][j] = p.accumulate ? loadFloats(block.at(p, i, j % 2, j / 2)) : Floats{};
  const float *a = p.a + (16 * block.warp + block.row) * 4, *b = p.b + block.group * 8;
  for (unsigned k = 0; k < p.k; ++k, a += p.rows * 4, b += p.n) {
    Floats rows[rowVectors];
    for (unsigned i = 0; i < rowVectors; ++i)
      rows[i] = loadFloats(a + i * lanes);
    for (unsigned j = 0; j < 2 * Groups; ++j) {
      Floats columns = broadcast4(b + 4 * j);
      for (unsigned i = 0; i < rowVectors; ++i)
        acc[i][j] = multiplyAdd(rows[i], columns, acc[i][j]);
    }
  }
  for (unsigned i = 0; i < rowVectors; ++i)
    for (unsigned j = 0; j < 2 * Groups; ++j)
      __builtin_memcpy(block.at(p, i, j % 2, j / 2), &acc[i][j], sizeof(Floats));
}

void multiplyFast(const Product &p) {
  constexpr unsigned groups = lanes == 16 ? 2 : 1;
  for (unsigned warp = 0; warp < p.rows / 16; ++warp)
    for (unsigned row = 0; row < 16; row += rowsPerBlock) {
      unsigned group = 0;
      for (; group + groups <= p.n / 8; group += groups)
        fastBlock<groups>(p, {warp, row, group});
      for (; group < p.n / 8; ++group)
        fastBlock<1>(p, {warp, row, group});
    }
}

// ---- exact
// -----------------------------------------------------------------------------------------------------------

inline Ints select(Ints condition, Ints a, Ints b) { return (condition & a) | (~condition & b); }
inline Ints maximum(Ints a, Ints b) { return select(a > b, a, b); }
inline bool any(Ints condition) {
  int32_t all = 0;
  for (unsigned i = 0; i < lanes; ++i)
    all |= condition[i];
  return all != 0;
}
/// Defined for every input, unlike a cast: values out of range (of elements that go to exactDot) give INT_MIN.
inline Ints truncateToInts(Floats v) {
#if FA_KERNELS_LANES == 16
  return (Ints)_mm512_cvttps_epi32((__m512)v);
#elif FA_KERNELS_LANES == 8
  return (Ints)_mm256_cvttps_epi32((__m256)v);
#else
  return (Ints)_mm_cvttps_epi32((__m128)v);
#endif
}
inline Ints wrapAdd(Ints a, Ints b) { return (Ints)((Unsigneds)a + (Unsigneds)b); }
/// 2^e for normal exponents.
inline Floats powerOfTwo(Ints e) { return (Floats)((e + 127) << 23); }

/// Exponents of C: subnormals and (through `minimum`) f16 subnormals keep the smallest normal exponent.
inline Ints exponentOf(Floats c, int minimum) {
  Ints bits = (Ints)c, field = (bits >> 23) & 255;
  Ints e = maximum(field - 127, splat(minimum));
  e = select(field == 255, splat(specialExponent), e);
  return select((bits & 0x7fffffff) == 0, splat(zeroExponent), e);
}

void exponents(const float *values, int32_t *result, unsigned count, int minimum) {
  for (unsigned i = 0; i < count; i += lanes) {
    Ints e = exponentOf(loadFloats(values + i), minimum);
    __builtin_memcpy(result + i, &e, sizeof e);
  }
}

/// Products and scaled terms are exact in f32 while the largest exponent lies in this window; other elements, and
/// integer sums that overflow, go to exactDot.
constexpr int32_t lowestExponent = -100, highestExponent = 120;

void exactElements(const Product &p, Block block, unsigned vector, unsigned odd, Floats c, Ints slow, Floats &result) {
  unsigned group8 = block.group * 8 + 4 * odd;
  for (unsigned lane = 0; lane < lanes; ++lane) {
    if (!slow[lane])
      continue;
    unsigned row = 16 * block.warp + block.row + vector * rowsPerVector + lane / 4;
    result[lane] = exactDot(p.rule, p.a + row * 4, p.rows * 4, p.b + group8 + lane % 4, p.n, p.k, c[lane]);
  }
}

/// sum * 2^(E - F) with the result's fraction bits; conversion and scaling truncate because of the rounding mode.
inline Floats scaleSum(Ints sum, Ints exponent, const ExactRule &rule) {
  Floats value = __builtin_convertvector(sum, Floats);
  if (rule.resultFractionBits < 23)
    value = (Floats)((Ints)value & ~((1 << (23 - rule.resultFractionBits)) - 1));
  return value * powerOfTwo(exponent - rule.fractionBits);
}

void exactBlock(const Product &p, Block block) {
  Floats c[rowVectors][2];
  Ints exponent[rowVectors][2];
  for (unsigned i = 0; i < rowVectors; ++i)
    for (unsigned j = 0; j < 2; ++j) {
      c[i][j] = p.accumulate ? loadFloats(block.at(p, i, j, 0)) : Floats{};
      exponent[i][j] = exponentOf(c[i][j], p.rule.halfAccumulator ? -14 : -126);
    }
  unsigned offsetA = (16 * block.warp + block.row) * 4, offsetB = block.group * 8;
  for (unsigned k = 0; k < p.k; ++k)
    for (unsigned j = 0; j < 2; ++j) {
      Ints columns = broadcast4(p.bExponents + offsetB + k * p.n + 4 * j);
      for (unsigned i = 0; i < rowVectors; ++i)
        exponent[i][j] =
            maximum(exponent[i][j], loadInts(p.aExponents + offsetA + k * p.rows * 4 + i * lanes) + columns);
    }
  Ints slow[rowVectors][2], sums[2][rowVectors][2];
  Floats scale[rowVectors][2];
  for (unsigned i = 0; i < rowVectors; ++i)
    for (unsigned j = 0; j < 2; ++j) {
      Ints e = exponent[i][j];
      slow[i][j] = (e > highestExponent) | ((e < lowestExponent) & (e > zeroExponent / 2));
      if (p.rule.halfAccumulator)
        slow[i][j] = splat(-1);
      exponent[i][j] = e = select((e > highestExponent) | (e < lowestExponent), splat(0), e);
      scale[i][j] = powerOfTwo(p.rule.fractionBits - e);
      sums[0][i][j] = truncateToInts(c[i][j] * scale[i][j]);
      sums[1][i][j] = Ints{};
    }
  for (unsigned k = 0; k < p.k; ++k)
    for (unsigned j = 0; j < 2; ++j) {
      Floats columns = broadcast4(p.b + offsetB + k * p.n + 4 * j);
      for (unsigned i = 0; i < rowVectors; ++i) {
        Floats product = loadFloats(p.a + offsetA + k * p.rows * 4 + i * lanes) * columns;
        sums[k & 1][i][j] = wrapAdd(sums[k & 1][i][j], truncateToInts(product * scale[i][j]));
      }
    }
  for (unsigned i = 0; i < rowVectors; ++i)
    for (unsigned j = 0; j < 2; ++j) {
      Ints even = sums[0][i][j], odd = sums[1][i][j];
      Ints sum = wrapAdd(even, odd);
      slow[i][j] |= ((even ^ sum) & (odd ^ sum)) < 0;
      Floats result = scaleSum(sum, exponent[i][j], p.rule);
      if (any(slow[i][j]))
        exactElements(p, block, i, j, c[i][j], slow[i][j], result);
      __builtin_memcpy(block.at(p, i, j, 0), &result, sizeof result);
    }
}

void multiplyExact(const Product &p) {
  for (unsigned warp = 0; warp < p.rows / 16; ++warp)
    for (unsigned row = 0; row < 16; row += rowsPerBlock)
      for (unsigned group = 0; group < p.n / 8; ++group)
        exactBlock(p, {warp, row, group});
}
