// The body of fa.step: S^T = K Q^T block by block with the exponential in its epilogue, then O^T += V^T P^T.
#pragma once
#include "KernelShape.h"
#include "LaneMask.h"
#include "MicroKernel.h"
#include "SubTileBounds.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Region.h"

namespace mlir::fa::cpu {

/// A row keeps its reference while its sum stays within [1 / limit, limit]: any reference gives the same result then,
/// and values have the rest of the type's range.
inline double sumLimit(Type type) { return type.isF32() ? 0x1p24 : 0x1p128; }
/// Scratch::shift is used below this: its rounding is a factor of at most 2^(2^-8) (f64: 2^(2^-13)) common to P and the
/// sum.
inline double largestShift(Type type) { return type.isF32() ? 0x1p16 : 0x1p40; }

/// Adds `@name(arena, sub-tile, lower, upper, first..., last...)`: Scratch::scores holds the scores of [first, last)
/// for each vector of queries. References of the rows in Scratch::unfit are raised to their maxima, sums and output are
/// rescaled, and the scores become P and are summed: [lower, upper) first, as the fast path does.
func::FuncOp emitRebaseFunction(OpBuilder &builder, Location loc, StringRef name, const KernelShape &shape);

/// The exponent of a score, where its row has a shift: the same bits on every path.
Value emitShifted(Emitter &e, const KernelShape &shape, Value score, Value shift);

/// P, or -0 where the exponent is that of a hidden pair, -inf.
Value emitHiddenWeight(Emitter &e, Value exponent, Value p);

/// Values that one step works on.
struct StepOperands {
  Value arena, copies, query, key, value;
  Value batch, head; ///< of the query, as regions see them
  Value keyBatch, keyHead;
  Value queryTile, keyTile;
  Value copyOffset; ///< 0 (see emitTileView)
  Value full;       ///< i1: every pair of the tile is visible and exists
  Value output;     ///< where the query tile goes in the end, as emitTileInPlace views it; may be null
};

/// What steps call.
struct StepFunctions {
  func::FuncOp pack;   ///< see emitPackFunction
  func::FuncOp rebase; ///< see emitRebaseFunction
};

class StepBuilder {
public:
  /// `score` and `mask` may be null; their bodies use only values that dominate the builder's position. `bounds` (may
  /// be null) bounds the keys of sub-tiles in a masked step.
  StepBuilder(Emitter &e, const KernelShape &shape, const StepOperands &operands, Region *score, Region *mask,
              StepFunctions functions, const SubTileBounds *bounds);

  LogicalResult emit();

private:
  /// Scores of keys [key, key + table.keys) of the tile for `vectors` vectors of queries of a sub-tile, from lane
  /// `lane` of it: all of them, or one.
  struct ScoreBlock {
    Value subTile, key;
    int64_t vectors;
    Value lane;
    bool mayHide; ///< a mask or a score function may hide pairs
  };
  /// The keys of the tile that a sub-tile works on: blocks of [lower, upper) for all its queries, and what else of
  /// [first, last) each vector of queries may see in blocks of its own, which are masked. Where masks do not stay in
  /// registers there are none of these, and blocks outside [fullLower, fullUpper) are masked.
  struct Visit {
    Value lower, upper, fullLower, fullUpper;
    SmallVector<Value> first, last; ///< of each vector of queries
  };

  bool mayEndInBlock(int64_t keys) const;
  bool hasEdges() const;
  SmallVector<KeyRange> rangesOfVectors(Value subTile);
  Visit visitOf(Value subTile);
  LogicalResult emitVisit(Value subTile, const Visit &visit);

  // SubTileScores.cpp
  LogicalResult emitScores(Value subTile, const Visit &visit);
  SmallVector<Value> keepOrExponentiate(ArrayRef<Value> scores, const ScoreBlock &block, Value again, Value shifted,
                                        ValueRange sums);
  Value isShifted(Value subTile);
  SmallVector<Value> unfitRows(const Visit &visit, ValueRange sums);

  // Edges.cpp
  Value anyEdge(const Visit &visit);
  SmallVector<Value> callEdges(Value subTile, const Visit &visit, Value again, ValueRange sums);
  func::FuncOp edgeFunction();
  void emitEdges(Value subTile, const Visit &visit, Value again);

  // ScoreBlock.cpp
  SmallVector<Value> emitDotProducts(const ScoreBlock &block);
  SmallVector<Value> rowsOfNextTile(const ScoreBlock &block);
  void prefetchBeside(ArrayRef<Value> nextRows, Value key, Value t);
  Value laneOf(const ScoreBlock &block, int64_t i);
  Value positionOf(const ScoreBlock &block, int64_t i);
  void storeScores(ArrayRef<Value> rows, const ScoreBlock &block);
  SmallVector<Value> loadScores(const ScoreBlock &block);
  SmallVector<Value> emitExponentials(ArrayRef<Value> scores, const ScoreBlock &block, Value shifted, ValueRange sums);

  // HiddenPairs.cpp
  FailureOr<SmallVector<Value>> applyRegions(const ScoreBlock &block, const Visit &visit, SmallVector<Value> scores);
  SmallVector<Value> hideInRegisters(const ScoreBlock &block, SmallVector<Value> scores);
  SmallVector<Value> queriesOf(Value subTile);
  LogicalResult emitScoreRow(ArrayRef<Value> queries, Value row, Value masked);
  FailureOr<Value> hide(Value score, Value i, Value keyIndex, Value clampedKey);

  // OutputBlock.cpp
  void emitOutput(Value subTile, const Visit &visit, Value started);
  SmallVector<Value> loadOutput(Value subTile, Value column, int64_t columns, Value started);
  void emitOutputColumns(Value subTile, Value column, int64_t columns, const Visit &visit, Value started);
  void emitOneVector(const MicroKernel &product, int64_t vector, Value lower, Value upper,
                     SmallVector<Value> &accumulators);
  Value areFinite(ValueRange accumulators);
  void emitSuspectOutput(Value subTile, Value column, int64_t columns, const Visit &visit, Value started,
                         ArrayRef<Value> accumulators);
  void markHiddenPairs(Value subTile, const Visit &visit);
  void emitGuardedOutput(Value firstRow, Value column, int64_t columns, const Visit &visit);

  Emitter &e;
  const KernelShape &shape;
  StepOperands operands;
  Region *score, *mask;
  StepFunctions functions;
  func::FuncOp edges;
  const SubTileBounds *bounds;
  Scratch scratch;
  std::optional<LaneMask> laneMask; ///< without a score function: scores of masked blocks stay in registers
  Value seqQ, seqKv, firstKey, numKeys, firstQuery, keys, values;
};

} // namespace mlir::fa::cpu
