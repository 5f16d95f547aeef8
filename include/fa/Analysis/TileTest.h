// A condition per key tile, for masks whose visible tiles are no finite union of ranges (dilation).
#pragma once
#include "fa/Analysis/MaskBounds.h"

namespace mlir::fa {

/// Conditions over the tile symbols and one more, the key tile k (at position numTileSymbols).
struct TileTest {
  using Condition = llvm::SmallVector<AffineExpr>; // every expression >= 0
  /// The tile may hold a visible pair where one of these holds.
  std::vector<Condition> visible;
  /// The tile may hold a hidden pair where one of these holds.
  std::vector<Condition> hidden;
  bool visibleExact = true, fullExact = true;

  /// True when every tile passes the visible test: it would skip nothing.
  bool isTrivial() const;
  /// Comparisons that the visible test takes.
  unsigned size() const;
  /// The kind of one tile, nothing when it is skipped; `symbols` by TileSymbol, then k.
  std::optional<TileKind> evaluate(llvm::ArrayRef<int64_t> symbols, int64_t keyTile) const;
  /// Emits the visible test as one i1; `symbols` by TileSymbol, then k, all of index type.
  Value materializeVisible(OpBuilder &builder, Location loc, ValueRange symbols) const;
};

TileTest computeTileTest(const TileProblem &problem);

} // namespace mlir::fa
