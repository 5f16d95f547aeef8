// How one step is cut into register blocks: the numbers that depend on the vector unit. docs/Decisions/0401.
#pragma once
#include "mlir/IR/BuiltinTypes.h"
#include <cstdint>

namespace mlir::fa::cpu {

/// A register block holds `keys` x `queryVectors` accumulators of `lanes` queries each. Accumulators, one key operand
/// and the query operands must fit the vector registers: keys * queryVectors + queryVectors + 1 <= registers.
struct BlockTable {
  int64_t lanes = 4;        ///< elements of the computing type in a vector
  int64_t queryVectors = 2; ///< vectors of queries that share one broadcast of a key
  int64_t keys = 4;         ///< key rows (PV: depth columns) of a block
  int64_t unroll = 2;       ///< depth (PV: keys) per loop iteration
  bool avx512 = false;      ///< vreduce and vscalef exist
  bool fused = false;       ///< a * b + c is one operation

  /// Query rows that are worked on together.
  int64_t subTile() const { return lanes * queryVectors; }
};

/// `vectorBits`: 128, 256 or 512. `computeType`: f32 or f64. Blocks never straddle a key tile of `tileKv` keys.
BlockTable selectBlockTable(int64_t vectorBits, bool avx512, Type computeType, int64_t tileQ, int64_t tileKv);

} // namespace mlir::fa::cpu
