// Rows of tensors as vectors of columns, for kernels with depth on lanes.
#pragma once
#include "DecodeShape.h"

namespace mlir::fa::cpu {

/// Rows of one (batch, head) of a 4-d tensor: memref<? x depth x element>.
Value emitSequenceView(Emitter &e, Value tensor, Value batch, Value head);

/// Calls `body(column, count, paired)` for every piece of a row, in order: whole pieces in a loop (`column` varies),
/// what is left one by one. A paired piece has 2 * lanes columns; another one has count <= lanes columns.
void forEachPiece(Emitter &e, const ColumnOrder &order,
                  llvm::function_ref<void(Value column, int64_t count, bool paired)> body);

/// One piece in the computing type: two vectors (even and odd columns) for a paired piece, else one, with zeros past
/// `count`. The innermost stride of `rows` is 1.
SmallVector<Value> loadPiece(Emitter &e, Value rows, Value row, Value column, int64_t count, bool paired);

/// Copies row `row` of `rows` to row `to` of `scratch`, in `order`, with zeros past the depth; times `factor` if given.
void emitStageRow(Emitter &e, Value rows, Value row, const ColumnOrder &order, Value scratch, Value to,
                  Value factor = Value());

/// Asks for the cache line of an element that will be read soon.
void emitPrefetch(Emitter &e, Value rows, Value row, Value column);

} // namespace mlir::fa::cpu
