// Results computed elsewhere, and how far a kernel's may be from them.
#pragma once
#include "fa/Runtime/Host/HostTensor.h"

namespace fa::runtime::launcher {

/// `NAME=FILE.npy,max=X,rms=Y`: reference values (f64 or f32) and the bars of the verdict (docs/Numerics.md).
struct Expectation {
  std::string tensor, file;
  double maxBar = 0, rmsBar = 0;

  static Expected<Expectation> parse(const std::string &text);
};

/// How far one tensor is from what was expected.
struct Comparison {
  Expectation expectation;
  int64_t elements = 0;
  double maxError = 0, rmsError = 0;
  int64_t mismatches = 0;          ///< finite on one side only, or infinities that differ
  int64_t worst = 0;               ///< row-major index of the largest error, or of the first mismatch
  double expected = 0, actual = 0; ///< there

  bool passed() const { return mismatches == 0 && maxError <= expectation.maxBar && rmsError <= expectation.rmsBar; }
};

/// Fails for a file that cannot be read or has another shape.
Expected<Comparison> compare(const Expectation &expectation, const HostTensor &tensor);

} // namespace fa::runtime::launcher
