// Key and value tiles, in place or as a copy in the scratch arena.
#pragma once
#include "TileRows.h"

namespace mlir::fa::cpu {

/// How a key or value tile is read.
enum class TileAccess {
  InPlace, ///< rows are contiguous and of the computing type: no copy
  Copy,    ///< another element type, or strided rows: copied once per step
  Runtime, ///< decided by strides and lengths when the kernel runs
};
/// `readRows`: see emitTileView.
TileAccess classifyTile(MemRefType tensor, Type computeType, int64_t readRows);

/// A tile with contiguous rows as memref<? x depth x element type>.
Value emitTileInPlace(Emitter &e, const TileRows &tile, int64_t depth);

/// The tile as memref<? x depth x type> with contiguous rows, in place or in `copy`. Rows are read `readRows` at a
/// time: where the last of them do not exist, the tile is copied, and they hold anything. `copyOffset` is 0, but must
/// not be a constant: the view then has the form of a tile in place, for which LLVM keeps one pointer per row. Where it
/// can see the address, it recomputes rows in the innermost loop and spills (a third of the speed).
Value emitTileView(Emitter &e, const TileRows &tile, int64_t depth, int64_t readRows, Value copy, Value copyOffset);

} // namespace mlir::fa::cpu
