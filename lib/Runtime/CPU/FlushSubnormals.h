// Subnormal results become 0 while a kernel runs.
#pragma once
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace fa::runtime {

/// Sets flush-to-zero (Intel SDM volume 1, 10.2.3.3) for the calling thread and restores it: weights of keys that are
/// far below their row's reference are subnormal, and x86 multiplies by each of those in microcode
/// (docs/Decisions/0620). Subnormal inputs keep their values. Other architectures multiply them at full speed: nothing
/// is done there.
class FlushSubnormals {
public:
#if defined(__x86_64__)
  FlushSubnormals() : before(_mm_getcsr()) { _mm_setcsr(before | _MM_FLUSH_ZERO_ON); }
  ~FlushSubnormals() { _mm_setcsr(before); }

private:
  unsigned before;

public:
#else
  FlushSubnormals() {}
  ~FlushSubnormals() {}
#endif
  FlushSubnormals(const FlushSubnormals &) = delete;
  FlushSubnormals &operator=(const FlushSubnormals &) = delete;
};

} // namespace fa::runtime
