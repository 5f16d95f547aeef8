// The static facts of one kernel, and the scratch memory that follows from them.
#pragma once
#include "Emitter.h"

namespace mlir::fa::cpu {

/// What is known when a kernel is compiled. `type` is the computing type (f32, or f64 for f64 inputs).
struct KernelShape {
  Type type;
  int64_t depth = 0, depthV = 0;             ///< of query / key and of value / output
  int64_t tileQ = 0, tileKv = 0;             ///< rows of the query tile, keys of the key tile
  bool copyKeys = false, copyValues = false; ///< a key or value tile may be copied (strided, or another element type)
  /// P = 2^(exponentScale (x - reference)): subtracted first, so that rounding x * exponentScale costs nothing where x is
  /// large, and P is exactly 1 at the reference. Positive.
  double exponentScale = 1.44269504088896340736;
  BlockTable table;

  int64_t numSubTiles() const { return llvm::divideCeil(tileQ, table.subTile()); }
  int64_t numLanes() const { return numSubTiles() * table.subTile(); }
};

/// Views of two scratch arenas: what lives as long as a state, and copies of key and value tiles. Rows of the former hold
/// one sub-tile of queries (n = `subTile` lanes); sub-tile s owns rows [s * n, (s + 1) * n).
class Scratch {
public:
  /// `copies` may be null when no copy is used.
  Scratch(Emitter &e, Value arena, Value copies, const KernelShape &shape);
  static MemRefType arenaType(OpBuilder &builder, const KernelShape &shape);
  static MemRefType copiesType(OpBuilder &builder, const KernelShape &shape);

  Value queries;   ///< (numSubTiles * depth) x subTile: Q^T, scaled
  Value output;    ///< (numSubTiles * depthV) x subTile: O^T, unnormalised
  Value scores;    ///< tileKv x subTile: P^T of the sub-tile at work
  Value reference; ///< numLanes: subtracted from scores; 0 until the row saw a key
  Value threshold; ///< numLanes: a score above it raises the reference; -inf until the row saw a key
  Value sum;       ///< numLanes: row sums
  Value keys;      ///< tileKv x depth, when copyKeys
  Value values;    ///< tileKv x depthV, when copyValues
};

} // namespace mlir::fa::cpu
