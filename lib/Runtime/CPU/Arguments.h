// Builds the argument array of one CPU kernel from a descriptor and its bindings.
#pragma once
#include "fa/Runtime/Driver.h"

namespace fa::runtime {

/// Owns the storage that the pointers of `pointers()` lead to. Copies are independent, so each thread has its own
/// (a kernel may not see another thread's scratch).
class CpuArguments {
public:
  /// Errors name the argument's index, the tensor and what is wrong with it.
  static Expected<CpuArguments> build(const LaunchDescriptor &descriptor, const Bindings &bindings);

  /// The array to hand to a kernel, with every scratch argument pointing at `bytes` of memory.
  std::vector<void *> pointers(void *scratch, int64_t bytes);

private:
  /// Each argument: 64-bit words laid out as the kernel reads them.
  std::vector<std::vector<int64_t>> words;
  std::vector<size_t> scratchArguments;
};

} // namespace fa::runtime
