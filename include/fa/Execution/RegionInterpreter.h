// Score and mask regions as plain callbacks for the reference.
#pragma once
#include "fa/Execution/HostValues.h"
#include "fa/Execution/ScalarCode.h"
#include "mlir/IR/Region.h"
#include <memory>
#include <mutex>

namespace fa::execution {

/// Compiles a region of fa.attention (or a single host value, with `region` null) to scalar code. Captured memrefs are
/// resolved by `values`. An operation that the interpreter does not know is an error with its name and location.
Expected<ScalarCode> compileRegion(mlir::Region &region, const HostValues &values);
Expected<ScalarCode> compileValue(mlir::Value value, const HostValues &values);

/// A compiled region that several threads may call at once.
class RegionFunction {
public:
  explicit RegionFunction(ScalarCode code);

  double score(double s, int64_t b, int64_t h, int64_t i, int64_t j) { return evaluate(s, b, h, i, j).f; }
  bool visible(int64_t b, int64_t h, int64_t i, int64_t j) { return evaluate(0, b, h, i, j).i & 1; }
  /// The first fault of any call, such as a load out of bounds; such a call returned 0.
  Status status() const;

private:
  ScalarCode code;
  uint64_t serial; ///< tells this function from others in a thread's cache
  mutable std::mutex mutex;
  std::string fault;

  Slot evaluate(double s, int64_t b, int64_t h, int64_t i, int64_t j);
};

} // namespace fa::execution
