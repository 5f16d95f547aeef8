// The body of fa.step for few query rows: blocks of keys in order, S = Q K^T, exponentials, O += P V.
#pragma once
#include "DecodeRows.h"
#include "StepBuilder.h"

namespace mlir::fa::cpu {

/// Clears the state and packs the queries.
void emitDecodeInit(Emitter &e, const DecodeShape &shape, Value arena, StepOp step, Value factor);

/// Adds `@name(scores, arena, row block, n)`: raises the references of the rows whose maximum exceeds their threshold
/// and rescales row sums, output and the first n vectors of weights. Never inlined.
func::FuncOp emitDecodeRaiseFunction(OpBuilder &builder, Location loc, StringRef name, const DecodeShape &shape);

/// O = acc / l (0 where l is 0) and LSE for the rows of the query tile that exist.
void emitDecodeFinish(Emitter &e, const DecodeShape &shape, Value arena, FinishOp finish);

class DecodeStep {
public:
  /// As for StepBuilder.
  DecodeStep(Emitter &e, const DecodeShape &shape, const StepOperands &operands, Region *score, Region *mask,
             func::FuncOp raise, const SubTileBounds *bounds);

  LogicalResult emit();

private:
  /// Rows of values of one block: `rows` from `first` on, columns in `order`.
  struct Values {
    Value rows, first;
    ColumnOrder order;
  };
  /// Vectors of columns that are accumulated together.
  struct Piece {
    int64_t column, count;
    bool paired;
  };

  /// Rows of keys of one block: `rows` from `first` on, at most `last`.
  struct Keys {
    Value rows, first, last;
    ColumnOrder order;
  };

  KeyRange keyRange();
  LogicalResult emitBlock(Value block, const KeyRange &range);
  Value rowAhead(Value block);
  void prefetchRow(Value rows, Value row);
  Keys emitKeys(Value block);
  Values emitValues(Value block, Value count);
  Value emitDotProducts(Value rowBlock, Value firstOfVector, const Keys &keys, Value ahead);
  Value emitSums(SmallVector<Value> products);

  FailureOr<Value> emitScores(Value rowBlock, Value block, const Keys &keys, Value masked);
  FailureOr<Value> applyRegions(Value rowBlock, Value firstOfVector, Value scores, Value masked);
  FailureOr<Value> changedScores(Value rowBlock, Value firstOfVector, Value x, Value masked);
  void emitRaiseCheck(Value rowBlock, Value vector, Value scores);
  Value emitExponentials(Value rowBlock, Value vector, Value scores);

  Value areFinite(const Values &values, Value count);
  Value zeroTimes(const Values &values, Value row, Value sum);
  void emitOutput(const Values &values, Value count);
  void emitColumns(Value rowBlock, Value column, ArrayRef<Piece> pieces, const Values &values, Value count);
  void accumulate(SmallVector<Value> &accumulators, Value column, ArrayRef<Piece> pieces, const Values &values,
                  Value key, function_ref<Value(int64_t row)> weight);
  void emitGuardedOutput(const Values &values, Value count);

  Emitter &e;
  const DecodeShape &shape;
  StepOperands operands;
  Region *score, *mask;
  func::FuncOp raise;
  const SubTileBounds *bounds;
  DecodeScratch scratch;
  Value seqQ, seqKv, firstKey, numKeys, firstQuery, keyRows, valueRows;
};

} // namespace mlir::fa::cpu
