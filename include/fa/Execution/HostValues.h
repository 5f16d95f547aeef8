// Values of a host function for one run: its arguments, and what constants, dims, views and index arithmetic make of
// them.
#pragma once
#include "fa/Execution/ScalarCode.h"
#include "fa/Runtime/Driver.h"
#include "fa/Support/Expected.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/DenseMap.h"

namespace fa::execution {

/// Evaluates on demand, on the IR as the user wrote it (after bufferization), never on lowered IR.
class HostValues {
public:
  void bind(mlir::Value argument, runtime::Tensor tensor) { tensors[argument] = std::move(tensor); }
  /// Integers and floats of any width.
  void bind(mlir::Value argument, double scalar);

  /// A bound memref, or a cast, subview, transpose, reinterpret_cast, expand or collapse of one.
  Expected<runtime::Tensor> tensor(mlir::Value value) const;
  /// A bound scalar, or pure scalar operations on bound values.
  Expected<Slot> scalar(mlir::Value value) const;
  Expected<int64_t> index(mlir::Value value) const;
  bool hasScalar(mlir::Value value) const { return scalars.contains(value); }
  Slot boundScalar(mlir::Value value) const { return scalars.lookup(value); }

private:
  llvm::DenseMap<mlir::Value, runtime::Tensor> tensors;
  llvm::DenseMap<mlir::Value, Slot> scalars;
};

/// `file:line:column` of an operation, or its name when it has no place in a file.
std::string describeLocation(mlir::Location loc);

} // namespace fa::execution
