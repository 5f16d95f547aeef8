// The cold path of the row reference: from the scores of one sub-tile to P relative to its row maxima.
#include "Exp2.h"
#include "PartFunction.h"
#include "StepBuilder.h"

using namespace mlir;
using namespace mlir::fa::cpu;

namespace {

/// One vector of queries, from lane `column` of the sub-tile.
class RowRebase {
public:
  RowRebase(Emitter &e, const Scratch &scratch, const KernelShape &shape, Value subTile, Value column)
      : e(e), scratch(scratch), shape(shape), column(column),
        position(e.add(e.mul(subTile, shape.table.subTile()), column)), outputRow(e.mul(subTile, shape.depthV)),
        scale(e.splat(shape.exponentScale)) {}

  /// Scores are those of [first, last). Sums take [lower, upper) first, and are the same bits that the fast path gives.
  void emit(Value lower, Value upper, Value first, Value last) {
    Value maximum =
        e.loop(first, last, 1, {e.splat(-std::numeric_limits<double>::infinity())}, [&](Value row, ValueRange carried) {
          return SmallVector<Value>{e.larger(e.load(scratch.scores, row, column), carried[0])};
        })[0];
    raise(maximum);
    // The whole blocks, what lies before them, what lies after them.
    e.loop(e.index(0), e.index(3), 1, [&](Value part) {
      addProbabilities(e.pick(part, {lower, first, e.max(upper, first)}),
                       e.pick(part, {upper, e.min(lower, last), last}));
    });
  }

private:
  void addProbabilities(Value lower, Value upper) {
    Value sum = e.loop(lower, upper, 1, {e.load(scratch.sum, position)}, [&](Value row, ValueRange carried) {
      Value p = probability(e.load(scratch.scores, row, column));
      e.store(p, scratch.scores, row, column);
      return SmallVector<Value>{e.addf(carried[0], p)};
    })[0];
    e.store(sum, scratch.sum, position);
  }

  Emitter &e;
  const Scratch &scratch;
  const KernelShape &shape;
  Value column, position, outputRow, scale;
  Value reference, shift, large; ///< the new ones; large: shift is NaN

  /// Exact at the reference whatever its size; the same rounding as the fast path where that one is used.
  Value probability(Value x) {
    Value exact = e.mulf(e.subf(x, reference), scale);
    return emitHiddenWeight(e, x, emitExp2(e, e.select(large, exact, emitShifted(e, shape, x, shift))));
  }

  /// An unfit row without history takes its maximum as reference; another one only a larger reference. What was summed
  /// before is rescaled. The other rows keep theirs, and get the bits that the fast path gives.
  void raise(Value maximum) {
    Value oldReference = e.load(scratch.reference, position), oldShift = e.load(scratch.shift, position);
    Value oldSum = e.load(scratch.sum, position), zero = e.splat(0.0);
    Value fresh =
        e.both(e.compare(arith::CmpFPredicate::OEQ, oldSum, zero),
               e.compare(arith::CmpFPredicate::OGT, maximum, e.splat(-std::numeric_limits<double>::infinity())));
    Value unfit = e.compare(arith::CmpFPredicate::OGT, e.load(scratch.unfit, column), zero);
    Value changed = e.both(unfit, e.either(fresh, e.compare(arith::CmpFPredicate::OGT, maximum, oldReference)));
    reference = e.select(changed, maximum, oldReference);
    e.store(reference, scratch.reference, position);
    Value exponent = e.mulf(e.subf(oldReference, reference), scale);
    Value product = e.mulf(reference, scale);
    Value within = e.both(e.compare(arith::CmpFPredicate::OLT, product, e.splat(largestShift(shape.type))),
                          e.compare(arith::CmpFPredicate::OGT, product, e.splat(-largestShift(shape.type))));
    Value newShift = e.select(within, e.subf(zero, product), e.splat(std::numeric_limits<double>::quiet_NaN()));
    shift = e.select(changed, newShift, oldShift);
    e.store(shift, scratch.shift, position);
    large = e.compare(arith::CmpFPredicate::UNO, shift, shift);
    Value difference = e.subf(shift, oldShift);
    exponent = e.select(e.compare(arith::CmpFPredicate::UNO, difference, difference), exponent, difference);
    Value factor = emitExp2(e, e.select(e.compare(arith::CmpFPredicate::OEQ, oldSum, zero), zero, exponent));
    e.store(e.mulf(oldSum, factor), scratch.sum, position);
    e.loop(outputRow, e.add(outputRow, shape.depthV), 1, [&](Value row) {
      e.store(e.mulf(e.load(scratch.output, row, column), factor), scratch.output, row, column);
    });
  }
};

} // namespace

Value mlir::fa::cpu::emitHiddenWeight(Emitter &e, Value exponent, Value p) {
  Value hidden = e.compare(arith::CmpFPredicate::OEQ, exponent, e.splat(-std::numeric_limits<double>::infinity()));
  return e.select(hidden, e.splat(-0.0), p);
}

Value mlir::fa::cpu::emitShifted(Emitter &e, const KernelShape &shape, Value score, Value shift) {
  return shape.scoresAreExponents ? e.addf(score, shift) : e.multiplyAdd(score, e.splat(shape.exponentScale), shift);
}

func::FuncOp mlir::fa::cpu::emitRebaseFunction(OpBuilder &builder, Location loc, StringRef name,
                                               const KernelShape &shape) {
  OpBuilder::InsertionGuard guard(builder);
  Type index = builder.getIndexType();
  SmallVector<Type> types{Scratch::arenaType(builder, shape), index, index, index};
  types.append(2 * shape.table.queryVectors, index);
  func::FuncOp function = beginPartFunction(builder, loc, name, types, /*cold=*/true);
  Block *entry = &function.front();
  Emitter e(builder, loc, shape.type, shape.table);
  Scratch scratch(e, entry->getArgument(0), Value(), shape);
  const int64_t vectors = shape.table.queryVectors;
  e.loop(e.index(0), e.index(vectors), 1, [&](Value vector) {
    auto pick = [&](int64_t from) {
      return e.pick(vector, llvm::to_vector_of<Value>(entry->getArguments().slice(from, vectors)));
    };
    RowRebase(e, scratch, shape, entry->getArgument(1), e.mul(vector, shape.table.lanes))
        .emit(entry->getArgument(2), entry->getArgument(3), pick(4), pick(4 + vectors));
  });
  func::ReturnOp::create(builder, loc);
  return function;
}
