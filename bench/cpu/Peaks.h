// What one core can do: multiply-add rates of each type and read bandwidth. Every figure is a short run of fixed work
// that the caller times, so that it can stand next to the measurement it is compared with.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace fa::bench {

/// A unit of the machine, for one vector width.
struct Peak {
  std::string name;            ///< f32, f64, or bf16 (the bf16 dot product)
  int bits;                    ///< of a vector
  void (*run)(int64_t rounds); ///< work of one thread
  double operationsPerRound;   ///< a multiply-add counts 2

  /// Rounds that take about `seconds` at 3 GHz.
  int64_t roundsFor(double seconds) const;
};

/// The rates this CPU has with vectors of at most `bits` (0: its widest).
std::vector<Peak> peaks(int bits = 0);
/// The unit that `dtype` computes on: its own, or f32 for 16-bit types.
Peak peakOf(const std::string &dtype, int bits = 0);
/// The bf16 dot product, where the CPU has one.
std::optional<Peak> dotPeak();

/// A buffer to be read by `threads` threads: as many bytes as the kernel reads that is compared with it, so that both
/// find their data in the same place (caches or memory).
class ReadProbe {
public:
  explicit ReadProbe(unsigned threads, size_t bytes);
  /// Reads the share of one thread; returns its bytes.
  double run(unsigned thread) const;

private:
  unsigned threads;
  std::vector<uint64_t> buffer;
};

} // namespace fa::bench
