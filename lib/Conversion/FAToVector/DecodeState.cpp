// Beginning and end of a state of few query rows, and the cold path of its lazy row reference.
#include "DecodeStep.h"
#include "Exp2.h"
#include "PartFunction.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fa::cpu;

namespace {

/// A row's reference is raised when a score exceeds it by 2^16: rare on real data, and sums keep 2^111 of range.
constexpr double raiseThreshold = 16.0;

void clearState(Emitter &e, const DecodeShape &shape, const DecodeScratch &scratch) {
  const int64_t lanes = shape.lanes();
  Value zero = e.index(0), zeros = e.splat(0.0), unseen = e.splat(-std::numeric_limits<double>::infinity());
  e.loop(zero, e.index(shape.rowBlocks * shape.rows), 1, [&](Value row) {
    e.loop(zero, e.index(shape.paddedDepthV()), lanes,
           [&](Value column) { e.store(zeros, scratch.output, row, column); });
  });
  e.loop(zero, e.index(shape.rowBlocks * lanes), lanes, [&](Value lane) {
    e.store(zeros, scratch.reference, lane);
    e.store(unseen, scratch.threshold, lane);
    e.store(zeros, scratch.sum, lane);
  });
}

} // namespace

void mlir::fa::cpu::emitDecodeInit(Emitter &e, const DecodeShape &shape, Value arena, StepOp step, Value factor) {
  DecodeScratch scratch(e, arena, shape);
  clearState(e, shape, scratch);
  Value rows = emitSequenceView(e, step.getQuery(), step.getQueryBatch(), step.getQueryHead());
  Value last = e.sub(memref::DimOp::create(e.builder, e.loc, step.getQuery(), 2), e.index(1));
  Value firstQuery = e.mul(step.getQueryTile(), shape.kernel.tileQ);
  // Rows past the last query repeat it, so that every lane holds data of the tensor.
  e.loop(e.index(0), e.index(shape.rowBlocks * shape.rows), 1, [&](Value row) {
    emitStageRow(e, rows, e.min(e.add(firstQuery, row), last), shape.order, scratch.queries, row, factor);
  });
}

func::FuncOp mlir::fa::cpu::emitDecodeRaiseFunction(OpBuilder &builder, Location loc, StringRef name,
                                                    const DecodeShape &shape) {
  OpBuilder::InsertionGuard guard(builder);
  Emitter e(builder, loc, shape.kernel.type, shape.kernel.table);
  Type index = builder.getIndexType();
  SmallVector<Type> types{e.vectorType, DecodeScratch::arenaType(builder, shape), index, index};
  func::FuncOp function = beginPartFunction(builder, loc, name, types, /*cold=*/true);
  Block *entry = &function.front();
  DecodeScratch scratch(e, entry->getArgument(1), shape);
  Value maximum = entry->getArgument(0), rowBlock = entry->getArgument(2), lane = e.mul(rowBlock, shape.lanes());
  // The lanes of a row share one reference.
  for (int64_t distance = 1; distance < shape.group(); distance *= 2) {
    SmallVector<int64_t> partner;
    for (int64_t n = 0; n < shape.lanes(); ++n)
      partner.push_back(n ^ distance);
    maximum = e.larger(maximum, vector::ShuffleOp::create(builder, loc, maximum, maximum, partner));
  }
  const double scale = shape.kernel.exponentScale;
  Value oldReference = e.load(scratch.reference, lane), threshold = e.load(scratch.threshold, lane);
  Value raised = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OGT, maximum, threshold);
  Value unseen = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OEQ, threshold,
                                       e.splat(-std::numeric_limits<double>::infinity()));
  Value newReference = e.select(raised, maximum, oldReference);
  e.store(newReference, scratch.reference, lane);
  e.store(e.select(raised, e.addf(maximum, e.splat(raiseThreshold / scale)), threshold), scratch.threshold, lane);
  // A row that saw no key yet has nothing to rescale, and its old reference is not one.
  Value change = e.select(unseen, e.splat(0.0), e.subf(oldReference, newReference));
  Value factor = emitExp2(e, e.select(raised, e.mulf(change, e.splat(scale)), e.splat(0.0)));
  e.store(e.mulf(e.load(scratch.sum, lane), factor), scratch.sum, lane);
  Value weights = e.mul(rowBlock, shape.scoreVectors()), zero = e.index(0);
  e.loop(zero, entry->getArgument(3), 1, [&](Value n) {
    Value row = e.add(weights, n);
    e.store(e.mulf(e.load(scratch.scores, row, zero), factor), scratch.scores, row, zero);
  });
  for (int64_t r = 0; r < shape.rows; ++r) {
    Value row = e.add(e.mul(rowBlock, shape.rows), r);
    Value rowFactor = e.broadcast(vector::ExtractOp::create(builder, loc, factor, r * shape.group()));
    e.loop(e.index(0), e.index(shape.paddedDepthV()), shape.lanes(), [&](Value column) {
      e.store(e.mulf(e.load(scratch.output, row, column), rowFactor), scratch.output, row, column);
    });
  }
  func::ReturnOp::create(builder, loc);
  return function;
}

namespace {

/// The row, times `factor`, to scratch.values with its columns in their own order.
void restoreRow(Emitter &e, const DecodeShape &shape, const DecodeScratch &scratch, Value row, Value factor) {
  const int64_t lanes = shape.lanes();
  SmallVector<int64_t> lower, upper;
  for (int64_t lane = 0; lane < lanes; ++lane) {
    lower.push_back(lane / 2 + lane % 2 * lanes);
    upper.push_back(lanes / 2 + lane / 2 + lane % 2 * lanes);
  }
  Value zero = e.index(0), factors = e.broadcast(factor);
  forEachPiece(e, shape.orderV, [&](Value column, int64_t, bool paired) {
    Value a = e.mulf(e.load(scratch.output, row, column), factors);
    if (!paired)
      return e.store(a, scratch.values, zero, column);
    Value next = e.add(column, lanes), b = e.mulf(e.load(scratch.output, row, next), factors);
    e.store(vector::ShuffleOp::create(e.builder, e.loc, a, b, lower), scratch.values, zero, column);
    e.store(vector::ShuffleOp::create(e.builder, e.loc, a, b, upper), scratch.values, zero, next);
  });
}

/// scratch.values[0] to a row of the output.
void storeRow(Emitter &e, const DecodeShape &shape, const DecodeScratch &scratch, Value output,
              ArrayRef<Value> position) {
  auto type = cast<MemRefType>(output.getType());
  Type element = type.getElementType();
  const int64_t lanes = shape.lanes(), depth = shape.orderV.depth;
  const int64_t whole = type.getStridesAndOffset().first.back() == 1 ? depth - depth % lanes : 0;
  auto narrow = [&](Value value, Type to) -> Value {
    return element == e.type ? value : Value(arith::TruncFOp::create(e.builder, e.loc, to, value));
  };
  auto at = [&](Value column) {
    SmallVector<Value> indices(position);
    indices.push_back(column);
    return indices;
  };
  Value zero = e.index(0);
  e.loop(zero, e.index(whole), lanes, [&](Value column) {
    Value vector = narrow(e.load(scratch.values, zero, column), VectorType::get({lanes}, element));
    vector::StoreOp::create(e.builder, e.loc, vector, output, at(column));
  });
  e.loop(e.index(whole), e.index(depth), 1, [&](Value column) {
    Value value = memref::LoadOp::create(e.builder, e.loc, scratch.values, ValueRange{zero, column});
    memref::StoreOp::create(e.builder, e.loc, narrow(value, element), output, at(column));
  });
}

} // namespace

void mlir::fa::cpu::emitDecodeFinish(Emitter &e, const DecodeShape &shape, Value arena, FinishOp finish) {
  DecodeScratch scratch(e, arena, shape);
  const int64_t group = shape.group(), tileQ = shape.kernel.tileQ;
  Value first = e.mul(finish.getQueryTile(), tileQ);
  Value seqQ = memref::DimOp::create(e.builder, e.loc, finish.getOutput(), 2);
  auto constant = [&](double value) -> Value {
    return arith::ConstantOp::create(e.builder, e.loc, e.builder.getFloatAttr(e.type, value));
  };
  auto elementOf = [&](Value memref, Value position) -> Value {
    return memref::LoadOp::create(e.builder, e.loc, memref, ValueRange{position});
  };
  Value zero = constant(0.0), one = constant(1.0);
  e.loop(e.index(0), e.min(e.sub(seqQ, first), e.index(tileQ)), 1, [&](Value row) {
    // Lane row * group is the first lane of the row: blocks have rows * group lanes.
    Value lane = e.mul(row, group);
    Value sum = e.loop(lane, e.add(lane, group), 1, {zero}, [&](Value n, ValueRange carried) {
      return SmallVector<Value>{e.addf(carried[0], elementOf(scratch.sum, n))};
    })[0];
    Value empty = arith::CmpFOp::create(e.builder, e.loc, arith::CmpFPredicate::OEQ, sum, zero);
    Value inverse = arith::DivFOp::create(e.builder, e.loc, one, e.select(empty, one, sum));
    restoreRow(e, shape, scratch, row, inverse);
    SmallVector<Value> position{finish.getBatch(), finish.getHead(), e.add(first, row)};
    storeRow(e, shape, scratch, finish.getOutput(), position);
    if (!finish.getLse())
      return;
    constexpr double ln2 = 0.693147180559945309417;
    Value log = math::Log2Op::create(e.builder, e.loc, sum);
    Value reference = e.mulf(elementOf(scratch.reference, lane), constant(shape.kernel.exponentScale * ln2));
    Value lse = e.addf(reference, e.mulf(log, constant(ln2)));
    memref::StoreOp::create(e.builder, e.loc, lse, finish.getLse(), position);
  });
}
