// Which keys of a tile a sub-tile of queries visits: the mask analysis at the size of register blocks.
#pragma once
#include "KernelShape.h"
#include "fa/Analysis/MaskAnalysis.h"

namespace mlir::fa::cpu {

/// Keys of one key tile, relative to it: those that some query of a group may see, and those that all its queries see.
struct KeyRange {
  Value lower, upper, fullLower, fullUpper;
};

class SubTileBounds {
public:
  /// Nothing where sub-tiles do not divide the query tile. `mask` lies in a function whose values it captures.
  static FailureOr<std::optional<SubTileBounds>> compute(Region &mask, const KernelShape &shape, Value query, Value key,
                                                         Value value, Location loc);

  /// Where a sub-tile is: of query tile `queryTile`, against keys [firstKey, firstKey + numKeys).
  struct Position {
    Value batch, head, queryTile, subTile, firstKey, numKeys;
  };
  /// One for each vector of queries of the sub-tile. Bounds are multiples of `table.keys`; `upper` may be numKeys, and
  /// the others may lie outside the tile.
  SmallVector<KeyRange> emit(Emitter &e, const Position &position, Value seqQ, Value seqKv) const;

private:
  KeyRange emitRows(Emitter &e, const Position &position, Value rows, Value seqQ, Value seqKv) const;
  SubTileBounds(MaskAnalysis analysis, const KernelShape &shape) : analysis(std::move(analysis)), shape(&shape) {}

  MaskAnalysis analysis;
  const KernelShape *shape;
};

} // namespace mlir::fa::cpu
