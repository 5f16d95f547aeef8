// The body of fa.step: S^T = K Q^T block by block with the exponential in its epilogue, then O^T += V^T P^T.
#pragma once
#include "KernelShape.h"
#include "SubTileBounds.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Region.h"

namespace mlir::fa::cpu {

/// A row's reference is raised when a score exceeds it by 2^16: rare on real data, and sums keep 2^111 of range.
inline constexpr double raiseThreshold = 16.0;

/// Adds `@name(max vectors..., arena, sub-tile, rows)`: raises the references of the lanes whose maximum exceeds their
/// threshold and rescales row sums, output and the first `rows` rows of scores. Never inlined: it runs about once per
/// tile.
func::FuncOp emitRaiseFunction(OpBuilder &builder, Location loc, StringRef name, const KernelShape &shape);

/// Values that one step works on.
struct StepOperands {
  Value arena, copies, query, key, value;
  Value batch, head; ///< of the query, as regions see them
  Value keyBatch, keyHead;
  Value queryTile, keyTile;
  Value copyOffset; ///< 0 (see emitTileView)
  Value full; ///< i1: every pair of the tile is visible and exists
};

class StepBuilder {
public:
  /// `score` and `mask` may be null; their bodies use only values that dominate the builder's position. `bounds` (may be
  /// null) bounds the keys of sub-tiles in a masked step.
  StepBuilder(Emitter &e, const KernelShape &shape, const StepOperands &operands, Region *score, Region *mask,
              func::FuncOp raise, const SubTileBounds *bounds);

  LogicalResult emit();

private:
  Value valuesAreFinite();
  KeyRange rangeOfSubTile(Value subTile);
  SmallVector<Value> emitDotProducts(Value subTile, Value block);
  LogicalResult emitScoreBlock(Value subTile, Value block, const KeyRange &range);
  FailureOr<SmallVector<Value>> applyRegions(Value subTile, Value block, Value masked, SmallVector<Value> scores);
  LogicalResult emitScoreRow(Value subTile, Value row, Value masked);
  FailureOr<Value> hide(Value score, Value i, Value keyIndex, Value clampedKey);
  void emitRaiseCheck(ArrayRef<Value> scores, Value subTile, Value block);
  void emitExponentials(ArrayRef<Value> scores, Value subTile, Value block);
  void emitOutput(Value subTile, const KeyRange &range);
  void emitOutputColumns(Value subTile, Value column, int64_t columns, const KeyRange &range);
  void emitGuardedOutput(Value subTile, const KeyRange &range);

  Emitter &e;
  const KernelShape &shape;
  StepOperands operands;
  Region *score, *mask;
  func::FuncOp raise;
  const SubTileBounds *bounds;
  Scratch scratch;
  Value seqQ, seqKv, firstKey, numKeys, firstQuery, keys, values;
};

} // namespace mlir::fa::cpu
