// The keys that one conjunction of a mask touches in one query tile: an interval under conditions. Private
// to the analysis.
#pragma once
#include "TileSystem.h"

namespace mlir::fa {

/// { j : max(lower) <= j <= min(upper) } where every guard is >= 0. A superset of the keys when not exact.
struct KeySpan {
  llvm::SmallVector<AffineExpr> lower, upper, guards;
  /// `upper - lower` of the pairs whose order is not implied and that rounding to tiles could hide.
  llvm::SmallVector<AffineExpr> orderGuards;
  bool exact = true;

  /// True for the span of a conjunction that never holds.
  bool neverHolds() const;
  /// First key tile, and one past the last.
  TileBound firstTile(int64_t keyTile) const;
  TileBound endTile(int64_t keyTile) const;
  /// Appends "key j lies in the span".
  void addMembership(AffineExpr j, llvm::SmallVectorImpl<AffineExpr> &constraints) const;
};

/// Eliminates the query position and every division from a conjunction over tile symbols.
KeySpan computeKeySpan(TileSystem &system, const MaskPredicate::Conjunction &conjunction);

/// The conditions, each >= 0 and over the tile symbols and keyTileSymbol(), under which key tile k holds a
/// pair of the conjunction. No conditions: always. `exact` is cleared when they are only necessary.
llvm::SmallVector<AffineExpr> computeTileConditions(TileSystem &system, const MaskPredicate::Conjunction &conjunction,
                                                    bool &exact);

/// All guards; with `nonEmpty`, also those that make the span hold at least one key.
llvm::SmallVector<AffineExpr> allGuards(TileSystem &system, const KeySpan &span, bool nonEmpty);
/// May a tile lie strictly between a non-empty `below` and a non-empty `above`?
bool mayLeaveGap(TileSystem &system, const KeySpan &below, const KeySpan &above);
/// May the first tile of `a` lie below the first tile of `b`, both non-empty?
bool mayStartBelow(TileSystem &system, const KeySpan &a, const KeySpan &b);

} // namespace mlir::fa
