// The reference side of a run: the problem that an L0 fa.attention states, evaluated without any compiled code.
#pragma once
#include "fa/Execution/HostValues.h"
#include "fa/Execution/Program.h"
#include "fa/Execution/RegionInterpreter.h"
#include "fa/Reference/Verdict.h"
#include <memory>
#include <optional>

namespace fa::execution {

/// A reference::Problem whose callbacks interpret masks and regions of the op as the user wrote it.
class AttentionProblem {
public:
  /// Tensors of `bindings` are host memory, by argument name; they and the program must outlive this. Fails when the
  /// function holds no or several fa.attention, or a region holds an operation that the interpreter does not know.
  static Expected<AttentionProblem> create(const Program &program, const runtime::Bindings &bindings);

  const reference::Problem &problem() const { return stated; }
  /// Where the attention writes, as views of bound tensors.
  const reference::TensorView &output() const { return outputView; }
  const std::optional<reference::TensorView> &lse() const { return lseView; }
  /// False if every pair is visible.
  bool isMasked() const { return static_cast<bool>(stated.visible); }
  /// Faults of regions during evaluation, such as a load out of bounds.
  Status status() const;
  /// (row, key) pairs that are visible, over all batches and heads.
  int64_t countVisiblePairs() const;

private:
  reference::Problem stated;
  reference::TensorView outputView;
  std::optional<reference::TensorView> lseView;
  std::shared_ptr<RegionFunction> score, mask;

  Status setScale(mlir::fa::AttentionOp op, const HostValues &values);
  Status setRegions(mlir::fa::AttentionOp op, const HostValues &values);
};

} // namespace fa::execution
