// Emission of tile operations as loops: rows that exist outside, then keys that exist, then depth.
#include "TileLoops.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fa::loops;

//===----------------------------------------------------------------------===//
// Scratch
//===----------------------------------------------------------------------===//

StateScratch loops::emitAllocate(ImplicitLocOpBuilder &b, StateType type) {
  auto allocate = [&](ArrayRef<int64_t> shape) -> Value {
    return memref::AllocOp::create(b, MemRefType::get(shape, type.getElementType()));
  };
  return {allocate({type.getRows(), type.getDepth()}), allocate({type.getRows()}), allocate({type.getRows()})};
}

void loops::emitFree(ImplicitLocOpBuilder &b, const StateScratch &scratch) {
  for (Value buffer : {scratch.accumulator, scratch.reference, scratch.sum})
    memref::DeallocOp::create(b, buffer);
}

void loops::emitInit(ImplicitLocOpBuilder &b, const StateScratch &scratch, StateType type) {
  Value zero = emitFloat(b, type.getElementType(), 0.0);
  Value none = emitMinusInfinity(b, type.getElementType());
  emitLoop(b, emitIndex(b, type.getRows()), [&](Value r) {
    memref::StoreOp::create(b, none, scratch.reference, r);
    memref::StoreOp::create(b, zero, scratch.sum, r);
    emitLoop(b, emitIndex(b, type.getDepth()),
             [&](Value d) { memref::StoreOp::create(b, zero, scratch.accumulator, ValueRange{r, d}); });
  });
}

/// Loop over the rows of a query tile that exist in a sequence of length `seqQ`; the body gets the row of the tile and
/// the absolute query index.
static void emitRows(ImplicitLocOpBuilder &b, Value tile, int64_t rows, Value seqQ,
                     llvm::function_ref<void(Value r, Value i)> fill) {
  Value first = arith::MulIOp::create(b, tile, emitIndex(b, rows));
  emitLoop(b, emitValidCount(b, seqQ, first, rows), [&](Value r) { fill(r, arith::AddIOp::create(b, first, r)); });
}

//===----------------------------------------------------------------------===//
// fa.step
//===----------------------------------------------------------------------===//

namespace {
/// One key tile of the online softmax, row by row. The logits of a row wait in a buffer until its new reference is
/// known.
class StepLowering {
public:
  StepLowering(ImplicitLocOpBuilder &b, StepOp op, const StateScratch &scratch) : b(b), op(op), scratch(scratch) {}

  LogicalResult run() {
    source.query = op.getQuery();
    source.key = op.getKey();
    source.value = op.getValue();
    source.queryBatch = op.getQueryBatch();
    source.queryHead = op.getQueryHead();
    source.keyBatch = op.getKeyBatch();
    source.keyHead = op.getKeyHead();
    source.accumulator = op.getAccumulatorType();
    source.score = op.getScore().empty() ? nullptr : &op.getScore();
    source.mask = op.getMask().empty() ? nullptr : &op.getMask();
    if (failed(emitScale(b, op, op.getDynamicScale(), op.getScaleAttr(), source)))
      return failure();
    int64_t tile = op.getTileKv();
    firstKey = arith::MulIOp::create(b, op.getKeyTile(), emitIndex(b, tile));
    keys = op.getFull() ? emitIndex(b, tile) : emitValidCount(b, emitDim(b, op.getKey(), 2), firstKey, tile);
    logits = memref::AllocOp::create(b, MemRefType::get({tile}, source.accumulator));
    LogicalResult result = success();
    emitRows(b, op.getQueryTile(), op.getState().getType().getRows(), emitDim(b, op.getQuery(), 2),
             [&](Value r, Value i) {
               if (failed(emitRow(r, i)))
                 result = failure();
             });
    memref::DeallocOp::create(b, logits);
    return result;
  }

private:
  LogicalResult emitRow(Value r, Value i) {
    Value old = memref::LoadOp::create(b, scratch.reference, r);
    FailureOr<Value> reference = emitLogits(i, old);
    if (failed(reference))
      return failure();
    emitRescale(r, old, *reference);
    emitProbabilities(r, *reference);
    return success();
  }

  /// Fills `logits` and returns the new reference, max(old, logits).
  FailureOr<Value> emitLogits(Value i, Value old) {
    auto loop = scf::ForOp::create(b, emitIndex(b, 0), keys, emitIndex(b, 1), old);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value k = loop.getInductionVar();
    FailureOr<Value> logit = emitLogit(b, source, i, arith::AddIOp::create(b, firstKey, k));
    if (failed(logit))
      return failure();
    memref::StoreOp::create(b, *logit, logits, k);
    Value max = arith::MaximumFOp::create(b, loop.getRegionIterArg(0), *logit);
    scf::YieldOp::create(b, max);
    return loop.getResult(0);
  }

  /// Brings accumulator and sum to the new reference. Skipped while the reference stays: also while it is still -inf,
  /// where the factor would be NaN. A reference that is NaN is never equal, and reaches the whole row.
  void emitRescale(Value r, Value old, Value reference) {
    Value changed = arith::CmpFOp::create(b, arith::CmpFPredicate::UNE, old, reference);
    auto choice = scf::IfOp::create(b, TypeRange{}, changed, /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(choice.thenBlock());
    Value factor = emitExp(b, old, reference);
    auto multiply = [&](Value buffer, ValueRange index) {
      Value value = memref::LoadOp::create(b, buffer, index);
      memref::StoreOp::create(b, arith::MulFOp::create(b, value, factor), buffer, index);
    };
    memref::StoreOp::create(b, reference, scratch.reference, r);
    multiply(scratch.sum, r);
    emitLoop(b, emitIndex(b, op.getState().getType().getDepth()),
             [&](Value d) { multiply(scratch.accumulator, ValueRange{r, d}); });
  }

  /// Adds the visible keys to sum and accumulator.
  void emitProbabilities(Value r, Value reference) {
    auto loop = scf::ForOp::create(b, emitIndex(b, 0), keys, emitIndex(b, 1), emitFloat(b, source.accumulator, 0.0));
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(loop.getBody());
      Value k = loop.getInductionVar(), sum = loop.getRegionIterArg(0);
      Value logit = memref::LoadOp::create(b, logits, k);
      auto choice = scf::IfOp::create(b, TypeRange{sum.getType()}, emitIsVisible(b, logit), /*withElseRegion=*/true);
      scf::YieldOp::create(b, choice.getResult(0));
      b.setInsertionPointToStart(choice.elseBlock());
      scf::YieldOp::create(b, sum);
      b.setInsertionPointToStart(choice.thenBlock());
      Value p = emitRounded(b, emitExp(b, logit, reference), op.getQuery().getType().getElementType());
      emitAccumulate(b, source, scratch.accumulator, r, p, arith::AddIOp::create(b, firstKey, k));
      scf::YieldOp::create(b, arith::AddFOp::create(b, sum, p).getResult());
    }
    Value before = memref::LoadOp::create(b, scratch.sum, r);
    memref::StoreOp::create(b, arith::AddFOp::create(b, before, loop.getResult(0)), scratch.sum, r);
  }

  ImplicitLocOpBuilder &b;
  StepOp op;
  const StateScratch &scratch;
  AttentionSource source;
  Value firstKey, keys, logits;
};
} // namespace

LogicalResult loops::emitStep(ImplicitLocOpBuilder &b, StepOp op, const StateScratch &scratch) {
  return StepLowering(b, op, scratch).run();
}

//===----------------------------------------------------------------------===//
// fa.finish, fa.load_state, fa.store_state
//===----------------------------------------------------------------------===//

void loops::emitFinish(ImplicitLocOpBuilder &b, FinishOp op, const StateScratch &scratch) {
  emitRows(b, op.getQueryTile(), op.getState().getType().getRows(), emitDim(b, op.getOutput(), 2),
           [&](Value r, Value i) {
             FinishedRow row{scratch.accumulator,
                             {r},
                             memref::LoadOp::create(b, scratch.reference, r),
                             memref::LoadOp::create(b, scratch.sum, r)};
             emitFinishedRow(b, row, op.getOutput(), op.getLse(), ValueRange{op.getBatch(), op.getHead(), i});
           });
}

/// Copies the rows that exist between scratch and the memory of a load_state or store_state.
template <typename Op> static void emitCopy(ImplicitLocOpBuilder &b, Op op, const StateScratch &scratch, bool load) {
  StateType type = op.getState().getType();
  auto copy = [&](Value inScratch, ValueRange at, Value inMemory, ValueRange position) {
    Value value = memref::LoadOp::create(b, load ? inMemory : inScratch, load ? position : at);
    memref::StoreOp::create(b, value, load ? inScratch : inMemory, load ? at : position);
  };
  emitRows(b, op.getQueryTile(), type.getRows(), emitDim(b, op.getAccumulator(), 2), [&](Value r, Value i) {
    SmallVector<Value> position{op.getBatch(), op.getHead(), i};
    copy(scratch.reference, r, op.getReference(), position);
    copy(scratch.sum, r, op.getSum(), position);
    emitLoop(b, emitIndex(b, type.getDepth()), [&](Value d) {
      SmallVector<Value> inner(position);
      inner.push_back(d);
      copy(scratch.accumulator, ValueRange{r, d}, op.getAccumulator(), inner);
    });
  });
}

void loops::emitLoadState(ImplicitLocOpBuilder &b, LoadStateOp op, const StateScratch &scratch) {
  emitCopy(b, op, scratch, /*load=*/true);
}

void loops::emitStoreState(ImplicitLocOpBuilder &b, StoreStateOp op, const StateScratch &scratch) {
  emitCopy(b, op, scratch, /*load=*/false);
}
