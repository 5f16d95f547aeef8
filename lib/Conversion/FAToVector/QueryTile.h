// A query tile between tensors and the scratch arena: packed sub-tile by sub-tile, stored in the end.
#pragma once
#include "KernelShape.h"
#include "TileRows.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::fa::cpu {

/// Zeros in `rows` rows of O^T.
void emitClearOutput(Emitter &e, const Scratch &scratch, Value firstRow, int64_t rows);

/// Adds `@name(arena, query, batch, head, query tile, sub-tile)`, which writes Q^T * Scratch::factor of the sub-tile.
/// Lanes past the last query repeat it, so that every lane holds data of the tensor.
func::FuncOp emitPackFunction(OpBuilder &builder, Location loc, StringRef name, const KernelShape &shape,
                              MemRefType query);

/// O = acc / l for the `queries.count` rows that exist (0 where l is 0), and LSE = ln 2 * (c m + log2 l), c the
/// exponent scale, when `lse` is given.
void emitStoreOutput(Emitter &e, const Scratch &scratch, const KernelShape &shape, const TileRows &queries, Value lse);

} // namespace mlir::fa::cpu
