// The static facts of one kernel, and the scratch memory that follows from them.
#pragma once
#include "Emitter.h"

namespace mlir::fa::cpu {

inline constexpr double log2OfE = 1.44269504088896340736;

/// What is known when a kernel is compiled. `type` is the computing type (f32, or f64 for f64 inputs).
struct KernelShape {
  Type type;
  int64_t depth = 0, depthV = 0;             ///< of query / key and of value / output
  int64_t tileQ = 0, tileKv = 0;             ///< rows of the query tile, keys of the key tile
  bool copyKeys = false, copyValues = false; ///< a key or value tile may be copied (strided, or another element type)
  /// P = 2^(exponentScale (x - reference)), positive. See Scratch::shift for how it is computed.
  double exponentScale = log2OfE;
  /// Queries are packed so that dot products are powers of two (exponentScale is 1): where a row's reference is 0,
  /// nothing comes between the dot product and 2^x. Not with a score function, nor with depth on lanes.
  bool scoresAreExponents = false;
  BlockTable table;

  int64_t numSubTiles() const { return llvm::divideCeil(tileQ, table.subTile()); }
  int64_t numLanes() const { return numSubTiles() * table.subTile(); }
};

/// Views of two scratch arenas: what lives as long as a state, and copies of key and value tiles. Rows of the former
/// hold one sub-tile of queries (n = `subTile` lanes); sub-tile s owns rows [s * n, (s + 1) * n).
class Scratch {
public:
  /// `copies` may be null when no copy is used.
  Scratch(Emitter &e, Value arena, Value copies, const KernelShape &shape);
  static MemRefType arenaType(OpBuilder &builder, const KernelShape &shape);
  static MemRefType copiesType(OpBuilder &builder, const KernelShape &shape);

  Value candidate; ///< table.keys x subTile: accumulators that are not finite, before they are looked at
  Value marked;    ///< 1: not 0 when the weights of the sub-tile at work tell hidden pairs from those that underflowed
  Value factor;    ///< 1: what queries are multiplied by
  Value started;   ///< numSubTiles: 0 before a step visits the sub-tile; its queries and output hold nothing then
  Value queries;   ///< (numSubTiles * depth) x subTile: Q^T, scaled
  Value output;    ///< (numSubTiles * depthV) x subTile: O^T, unnormalised
  Value scores;    ///< tileKv x subTile: P^T of the sub-tile at work
  Value reference; ///< numLanes: P is 1 where a score is equal to it; 0 until sums show that another one is needed
  /// numLanes: P = 2^(exponentScale x + shift); -exponentScale * reference, or NaN where that is so large that its
  /// rounding would matter: a NaN sum sends the row to the cold path, which subtracts first.
  Value shift;
  Value sum;     ///< numLanes: row sums
  Value inverse; ///< lanes: 1 / sum of the vector of queries that is being stored
  Value seen;    ///< subTile: largest score of the masked blocks of the sub-tile at work; -inf where all are hidden
  Value partial; ///< subTile: row sums on their way to the edges of the tile and back
  Value unfit;   ///< subTile: 1 where the row's sum asks for another reference, else 0
  Value keys;    ///< tileKv x depth, when copyKeys
  Value values;  ///< tileKv x depthV, when copyValues
};

} // namespace mlir::fa::cpu
