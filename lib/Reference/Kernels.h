// The two inner loops of the reference: dot products of a row block with a key block, and weighted sums of value rows.
// Every sum runs in index order (as a naive library would), in the accumulator type.
#pragma once
#include <cstdint>

namespace fa::reference {

inline constexpr int64_t rowGroup = 4;  ///< rows of one call of `dots`
inline constexpr int64_t keyGroup = 32; ///< packed keys are padded to a multiple of this

/// scores[r][j] = sum over d of queries[r][d] * keys[d][j], for 4 rows and `keyCount` (a multiple of 32) keys.
/// `keys` is transposed: row d starts at keys + d * keyStride.
template <typename Accumulator, typename Element>
void dots(const Accumulator *queries, int64_t queryStride, const Element *keys, int64_t keyStride, int64_t depth,
          Accumulator *scores, int64_t scoreStride, int64_t keyCount);

/// output[d] += sum over n of weights[n] * values[indices[n]][d], for `depth` elements.
template <typename Accumulator, typename Element>
void accumulate(const Accumulator *weights, const int32_t *indices, int64_t count, const Element *values,
                int64_t valueStride, int64_t depth, Accumulator *output);

} // namespace fa::reference
