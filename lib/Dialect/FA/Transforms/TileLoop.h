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

/// Replaces a tile loop by a chain of loops that hand the state on, and erases what was built for it and nobody uses.
class TileLoopRewriter : public OpBuilder::Listener {
public:
  explicit TileLoopRewriter(const TileLoop &tiles);
  void notifyOperationInserted(Operation *op, OpBuilder::InsertPoint) override { built.push_back(op); }

protected:
  TileLoop tiles;
  OpBuilder builder; ///< in front of the loop
  Location loc;

  /// A copy of the loop that goes on from the chain's last state; its bounds are those of the original.
  scf::ForOp appendLoop();
  /// The chain takes the place of the loop.
  void replaceLoop();

private:
  SmallVector<Value> states;
  std::vector<Operation *> built;
};

/// A remark on the step: the bounds, and why they are conservative where they are.
void remarkBounds(StepOp step, const MaskAnalysis &analysis);

} // namespace mlir::fa
