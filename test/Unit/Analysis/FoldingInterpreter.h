// Evaluates a mask region at one pair by MLIR's constant folding: an oracle that shares nothing with the reader.
#pragma once
#include "mlir/IR/Builders.h"
#include "mlir/IR/Region.h"
#include "llvm/ADT/DenseMap.h"

namespace fa::test {
using Folded = llvm::DenseMap<mlir::Value, mlir::Attribute>;

/// The constant of every value of the region at one position (b, h, i, j), null for what does not fold. `captures`
/// give the constants of values from outside and of loads.
inline Folded foldRegion(mlir::Region &region, std::array<int64_t, 4> position, const Folded &captures = Folded()) {
  mlir::Builder builder(region.getContext());
  Folded values = captures;
  for (auto [argument, value] : llvm::zip_equal(region.getArguments(), position))
    values[argument] = builder.getIndexAttr(value);
  for (mlir::Operation &op : region.front().without_terminator()) {
    if (values.contains(op.getResult(0)))
      continue;
    llvm::SmallVector<mlir::Attribute> operands;
    for (mlir::Value operand : op.getOperands())
      operands.push_back(values.lookup(operand));
    llvm::SmallVector<mlir::OpFoldResult> results;
    if (mlir::failed(op.fold(operands, results)) || results.empty())
      continue;
    auto attribute = mlir::dyn_cast<mlir::Attribute>(results[0]);
    values[op.getResult(0)] = attribute ? attribute : values.lookup(mlir::cast<mlir::Value>(results[0]));
  }
  return values;
}

/// An integer constant: booleans as 0 and 1, the others signed.
inline std::optional<int64_t> integerOf(const Folded &values, mlir::Value value) {
  auto integer = mlir::dyn_cast_or_null<mlir::IntegerAttr>(values.lookup(value));
  if (!integer)
    return std::nullopt;
  return value.getType().isInteger(1) ? int64_t(!integer.getValue().isZero()) : integer.getValue().getSExtValue();
}
} // namespace fa::test
