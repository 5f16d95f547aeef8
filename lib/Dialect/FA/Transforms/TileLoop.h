// The innermost loop over tiles around a step, whichever order it has, and its mask analysis. Private to the
// tile-elimination passes.
#pragma once
#include "fa/Analysis/MaskAnalysis.h"
#include "fa/Dialect/FA/IR/FA.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlir::fa {

/// scf.for over key tiles (query_outer) or query tiles (key_outer) that holds one step.
struct TileLoop {
  scf::ForOp loop;
  StepOp step;
  bool keyOuter;

  /// Nothing when the step is in no such loop.
  static std::optional<TileLoop> match(StepOp step);

  FailureOr<MaskAnalysis> analyze(std::optional<ProofScope> proof);
  MaskAnalysis::Context context(OpBuilder &builder);
  /// True when the loop runs over every tile: from 0 to ceildiv(length, tile).
  bool coversEveryTile();
  MaskLengths lengths();
};

/// The attribute that fa-eliminate-masked-tiles leaves on a loop: the number of the run that it walks.
inline constexpr llvm::StringLiteral runAttrName = "fa.run";

/// Every loop of `root` in which tiles can be eliminated, in order.
SmallVector<TileLoop> findTileLoops(Operation *root);

/// Records what is built, so that what nobody uses can be erased again.
class BuiltOperations : public OpBuilder::Listener {
public:
  void notifyOperationInserted(Operation *op, OpBuilder::InsertPoint) override { operations.push_back(op); }
  void eraseUnused();

private:
  std::vector<Operation *> operations;
};

/// A remark on the step: the bounds, and why they are conservative where they are.
void remarkBounds(StepOp step, const MaskAnalysis &analysis);

} // namespace mlir::fa
