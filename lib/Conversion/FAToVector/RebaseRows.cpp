// The cold path of the row reference: from the scores of one sub-tile to P relative to its row maxima.
#include "Exp2.h"
#include "StepBuilder.h"

using namespace mlir;
using namespace mlir::fa::cpu;

namespace {

func::FuncOp createFunction(OpBuilder &builder, Location loc, StringRef name, const KernelShape &shape) {
  Type index = builder.getIndexType();
  SmallVector<Type> types{Scratch::arenaType(builder, shape), index, index, index};
  types.append(2 * shape.table.queryVectors, index);
  auto function = func::FuncOp::create(builder, loc, name, builder.getFunctionType(types, {}));
  function.setPrivate();
  function->setAttr("passthrough", builder.getStrArrayAttr({"noinline", "cold"}));
  return function;
}

/// One vector of queries.
class RowRebase {
public:
  RowRebase(Emitter &e, const Scratch &scratch, const KernelShape &shape, Value subTile, int64_t i)
      : e(e), scratch(scratch), shape(shape), column(e.index(i * shape.table.lanes)),
        position(e.add(e.mul(subTile, shape.table.subTile()), column)), outputRow(e.mul(subTile, shape.depthV)),
        scale(e.splat(shape.exponentScale)) {}

  /// Scores are those of [first, last). Sums take [lower, upper) first, and are the same bits that the fast path gives.
  void emit(Value lower, Value upper, Value first, Value last) {
    Value maximum = e.loop(first, last, 1, {e.splat(-std::numeric_limits<double>::infinity())},
                           [&](Value row, ValueRange carried) {
                             return SmallVector<Value>{e.larger(e.load(scratch.scores, row, column), carried[0])};
                           })[0];
    raise(maximum);
    addProbabilities(lower, upper);
    addProbabilities(first, e.min(lower, last));
    addProbabilities(e.max(upper, first), last);
  }

private:
  Emitter &e;
  const Scratch &scratch;
  const KernelShape &shape;
  Value column, position, outputRow, scale;
  Value reference, shift, large; ///< the new ones; large: shift is NaN

  void addProbabilities(Value lower, Value upper) {
    Value sum = e.loop(lower, upper, 1, {e.load(scratch.sum, position)}, [&](Value row, ValueRange carried) {
      Value p = probability(e.load(scratch.scores, row, column));
      e.store(p, scratch.scores, row, column);
      return SmallVector<Value>{e.addf(carried[0], p)};
    })[0];
    e.store(sum, scratch.sum, position);
  }

  /// Exact at the reference whatever its size; the same rounding as the fast path where that one is used.
  Value probability(Value x) {
    Value exact = e.mulf(e.subf(x, reference), scale);
    return emitExp2(e, e.select(large, exact, emitShifted(e, shape, x, shift)));
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

Value mlir::fa::cpu::emitShifted(Emitter &e, const KernelShape &shape, Value score, Value shift) {
  return shape.scoresAreExponents ? e.addf(score, shift) : e.multiplyAdd(score, e.splat(shape.exponentScale), shift);
}

func::FuncOp mlir::fa::cpu::emitRebaseFunction(OpBuilder &builder, Location loc, StringRef name,
                                               const KernelShape &shape) {
  func::FuncOp function = createFunction(builder, loc, name, shape);
  OpBuilder::InsertionGuard guard(builder);
  Block *entry = function.addEntryBlock();
  builder.setInsertionPointToStart(entry);
  Emitter e(builder, loc, shape.type, shape.table);
  Scratch scratch(e, entry->getArgument(0), Value(), shape);
  for (int64_t i = 0; i < shape.table.queryVectors; ++i)
    RowRebase(e, scratch, shape, entry->getArgument(1), i)
        .emit(entry->getArgument(2), entry->getArgument(3), entry->getArgument(4 + i),
              entry->getArgument(4 + shape.table.queryVectors + i));
  func::ReturnOp::create(builder, loc);
  return function;
}
