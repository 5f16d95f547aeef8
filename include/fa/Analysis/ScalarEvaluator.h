// Values of index and boolean arithmetic in IR for given arguments, by MLIR's constant folding: what a loop bound
// is, or whether a mask region shows a pair, without compiled code.
#pragma once
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Region.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include <functional>

namespace mlir::fa {

class ScalarEvaluator {
public:
  /// The size of one dimension of a buffer whose type leaves it open; failure: unknown.
  std::function<FailureOr<int64_t>(Value buffer, int64_t dim)> sizeOf;
  /// One element of a buffer; failure: unknown.
  std::function<FailureOr<Attribute>(Value buffer, llvm::ArrayRef<int64_t> indices)> load;
  /// An argument that is not bound; failure: unknown.
  std::function<FailureOr<Attribute>(Value argument)> argument;

  void bind(Value value, Attribute constant);
  /// Binds an index.
  void bind(Value value, int64_t constant);

  /// The constant of a value; emits an error on the operation that cannot be evaluated.
  FailureOr<Attribute> evaluate(Value value);
  FailureOr<int64_t> evaluateInteger(Value value);
  /// What a scalar region yields for the given block arguments, all indices.
  FailureOr<bool> evaluateMask(Region &region, llvm::ArrayRef<int64_t> arguments);

private:
  llvm::DenseMap<Value, Attribute> constants;
  /// What was computed since, to be forgotten when an argument is bound anew.
  llvm::SmallVector<Value> computed;

  FailureOr<Attribute> compute(Operation *op, unsigned result);
};

} // namespace mlir::fa
