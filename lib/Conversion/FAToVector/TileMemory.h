// Traffic between tensors and the scratch arena: pack queries, reach or copy key and value tiles, store the output.
#pragma once
#include "KernelShape.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::fa::cpu {

/// How a key or value tile is read.
enum class TileAccess {
  InPlace, ///< rows are contiguous and of the computing type: no copy
  Copy,    ///< another element type, or strided rows: copied once per step
  Runtime, ///< decided by strides and lengths when the kernel runs
};
/// `readRows`: see emitTileView.
TileAccess classifyTile(MemRefType tensor, Type computeType, int64_t readRows);

/// A tile of a 4-d tensor: rows [row, row + count) of one (batch, head).
struct TileRows {
  Value tensor, batch, head, row, count;
};

/// A tile with contiguous rows as memref<? x depth x element type>.
Value emitTileInPlace(Emitter &e, const TileRows &tile, int64_t depth);

/// Asks for `count` rows from the first one of the tile on. Harmless where they do not exist.
void emitPrefetchRows(Emitter &e, const TileRows &tile, int64_t count, int64_t depth);

/// The tile as memref<? x depth x type> with contiguous rows, in place or in `copy`. Rows are read `readRows` at a
/// time: where the last of them do not exist, the tile is copied, and they hold anything. `copyOffset` is 0, but must
/// not be a constant: the view then has the form of a tile in place, for which LLVM keeps one pointer per row. Where it
/// can see the address, it recomputes rows in the innermost loop and spills (a third of the speed).
Value emitTileView(Emitter &e, const TileRows &tile, int64_t depth, int64_t readRows, Value copy, Value copyOffset);

/// i1: a step has visited the sub-tile.
Value emitHasStarted(Emitter &e, const Scratch &scratch, Value subTile);

/// Zeros in O^T of the sub-tile.
void emitClearOutput(Emitter &e, const Scratch &scratch, const KernelShape &shape, Value subTile);

/// Adds `@name(arena, query, batch, head, query tile, sub-tile)`, which writes Q^T * Scratch::factor of the sub-tile.
/// Lanes past the last query repeat it, so that every lane holds data of the tensor.
func::FuncOp emitPackFunction(OpBuilder &builder, Location loc, StringRef name, const KernelShape &shape,
                              MemRefType query);

/// O = acc / l for the `queries.count` rows that exist (0 where l is 0), and LSE = ln 2 * (c m + log2 l), c the
/// exponent scale, when `lse` is given.
void emitStoreOutput(Emitter &e, const Scratch &scratch, const KernelShape &shape, const TileRows &queries, Value lse);

} // namespace mlir::fa::cpu
