// Softmax of one row of an unfused computation, in its own precision: as powers of e and as powers of two.
#pragma once
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

namespace fa::reference {

template <typename T> inline constexpr T minusInfinity = -std::numeric_limits<T>::infinity();

/// Largest logit; NaN if any is NaN (std::max would lose it).
template <typename T> T largest(const std::vector<T> &logits) {
  T result = minusInfinity<T>;
  for (T x : logits) {
    if (std::isnan(x))
      return x;
    result = std::max(result, x);
  }
  return result;
}

/// What is subtracted from all logits before the exponential, and the sum of the exponentials.
template <typename T> struct Softmax {
  T reference, sum;
};

/// Logits become e^(x - largest).
template <typename T> Softmax<T> powersOfE(std::vector<T> &logits) {
  const T reference = largest(logits);
  T sum = 0;
  for (T &x : logits)
    sum += x = std::exp(x - reference);
  return {reference, sum};
}

/// The value `places` units in the last place further up.
template <typename T> T stepped(T value, int places) {
  using Bits = std::conditional_t<std::is_same_v<T, float>, int32_t, int64_t>;
  return value < std::numeric_limits<T>::min() ? value : std::bit_cast<T>(std::bit_cast<Bits>(value) + places);
}

/// The sum of positive terms in index order, with the largest relative error that it has when all terms move by -4 to 4
/// units in the last place. How a sum of equal terms errs depends on nothing but their last bits, in which no two
/// implementations of the exponential agree.
template <typename T> T worstSum(const std::vector<T> &terms) {
  constexpr int reach = 4, count = 2 * reach + 1;
  T sums[count] = {}, lost[count] = {};
  for (T term : terms)
    for (int n = 0; n < count; ++n) {
      const T add = stepped(term, n - reach), next = sums[n] + add;
      const T kept = next - sums[n]; // two-sum: what the rounding lost, exactly
      lost[n] += (sums[n] - (next - kept)) + (add - kept);
      sums[n] = next;
    }
  T worst = 0;
  for (int n = 0; n < count; ++n)
    if (std::abs(lost[n] / sums[n]) > std::abs(worst))
      worst = lost[n] / sums[n];
  return (sums[reach] + lost[reach]) * (1 - worst);
}

/// Logits become 2^x where their sum is far from the ends of the type's range, else 2^(x - largest).
template <typename T> Softmax<T> powersOfTwo(std::vector<T> &logits) {
  const T limit = std::ldexp(T(1), std::numeric_limits<T>::max_exponent / 2);
  std::vector<T> powers(logits.size());
  T sum = 0;
  for (size_t n = 0; n < logits.size(); ++n)
    sum += powers[n] = std::exp2(logits[n]);
  if (sum >= 1 / limit && sum <= limit) {
    logits.swap(powers);
    return {0, worstSum(logits)};
  }
  const T reference = largest(logits);
  sum = 0;
  for (T &x : logits)
    sum += x = std::exp2(x - reference);
  return {reference, sum};
}

} // namespace fa::reference
