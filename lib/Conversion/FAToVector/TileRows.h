// Rows of tensors: loads in the computing type, conversions, requests.
#pragma once
#include "Emitter.h"

namespace mlir::fa::cpu {

/// A tile of a 4-d tensor: rows [row, row + count) of one (batch, head).
struct TileRows {
  Value tensor, batch, head, row, count;
};

/// An element, or a vector of them, in the computing type.
Value widen(Emitter &e, Value value);
/// An element, or a vector of them, of the computing type as `element`.
Value narrow(Emitter &e, Value value, Type element);

Value loadElement(Emitter &e, const TileRows &tile, Value row, Value column);
/// `elements` of a row, in the type of the tensor.
Value loadPiece(Emitter &e, const TileRows &tile, Value row, Value column, int64_t elements);

/// Asks for the cache lines that hold `column` of `count` rows. Harmless where they do not exist.
void prefetchRows(Emitter &e, const TileRows &tile, Value row, int64_t count, Value column, bool isWrite);

/// Asks for all of `count` rows from the first one of the tile on.
void prefetchWholeRows(Emitter &e, const TileRows &tile, int64_t count, int64_t depth);

/// Columns that are worked on as vectors of `width` elements.
int64_t vectorColumns(Value tensor, int64_t depth, int64_t width);

} // namespace mlir::fa::cpu
