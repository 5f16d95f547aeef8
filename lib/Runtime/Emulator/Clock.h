// Vector clocks of the race detector. Empty when races are not checked.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace fa::runtime::emulator {

/// Two clocks: what is ordered before, and what is ordered before and made visible to the async proxy.
struct Clock {
  std::vector<uint32_t> ordered, fenced;

  void join(const Clock &other) {
    if (other.ordered.empty())
      return;
    if (ordered.empty()) {
      *this = other;
      return;
    }
    for (std::size_t i = 0; i < ordered.size(); ++i) {
      ordered[i] = ordered[i] > other.ordered[i] ? ordered[i] : other.ordered[i];
      fenced[i] = fenced[i] > other.fenced[i] ? fenced[i] : other.fenced[i];
    }
  }
  void clear() {
    ordered.clear();
    fenced.clear();
  }
};

} // namespace fa::runtime::emulator
