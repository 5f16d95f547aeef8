// The cold path of the lazy row reference.
#include "Exp2.h"
#include "StepBuilder.h"

using namespace mlir;
using namespace mlir::fa::cpu;

namespace {

func::FuncOp createFunction(OpBuilder &builder, Location loc, StringRef name, const KernelShape &shape) {
  Type index = builder.getIndexType();
  SmallVector<Type> types(shape.table.queryVectors, VectorType::get({shape.table.lanes}, shape.type));
  types.append({Scratch::arenaType(builder, shape), index, index});
  auto function = func::FuncOp::create(builder, loc, name, builder.getFunctionType(types, {}));
  function.setPrivate();
  function->setAttr("passthrough", builder.getStrArrayAttr({"noinline", "cold"}));
  return function;
}

/// memref[row, column] *= factor for `count` rows.
void scaleRows(Emitter &e, Value memref, Value first, Value count, Value column, Value factor) {
  e.loop(first, e.add(first, count), 1,
         [&](Value row) { e.store(e.mulf(e.load(memref, row, column), factor), memref, row, column); });
}

} // namespace

func::FuncOp mlir::fa::cpu::emitRaiseFunction(OpBuilder &builder, Location loc, StringRef name,
                                              const KernelShape &shape) {
  func::FuncOp function = createFunction(builder, loc, name, shape);
  OpBuilder::InsertionGuard guard(builder);
  Block *entry = function.addEntryBlock();
  builder.setInsertionPointToStart(entry);
  Emitter e(builder, loc, shape.type, shape.table);
  const int64_t vectors = shape.table.queryVectors;
  Scratch scratch(e, entry->getArgument(vectors), Value(), shape);
  Value subTile = entry->getArgument(vectors + 1), rows = entry->getArgument(vectors + 2);
  Value outputRow = e.mul(subTile, shape.depthV);
  for (int64_t i = 0; i < vectors; ++i) {
    Value maximum = entry->getArgument(i), column = e.index(i * shape.table.lanes);
    Value position = e.add(e.mul(subTile, shape.table.subTile()), column);
    Value oldReference = e.load(scratch.reference, position), threshold = e.load(scratch.threshold, position);
    Value raised = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OGT, maximum, threshold);
    Value unseen = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OEQ, threshold,
                                         e.splat(-std::numeric_limits<double>::infinity()));
    Value newReference = e.select(raised, maximum, oldReference);
    e.store(newReference, scratch.reference, position);
    e.store(e.select(raised, e.addf(maximum, e.splat(raiseThreshold / shape.exponentScale)), threshold), scratch.threshold, position);
    // A row that saw no key yet has nothing to rescale, and its old reference is not one.
    Value change = e.select(unseen, e.splat(0.0), e.subf(oldReference, newReference));
    Value exponent = e.mulf(change, e.splat(shape.exponentScale));
    Value factor = emitExp2(e, e.select(raised, exponent, e.splat(0.0)));
    e.store(e.mulf(e.load(scratch.sum, position), factor), scratch.sum, position);
    scaleRows(e, scratch.output, outputRow, e.index(shape.depthV), column, factor);
    scaleRows(e, scratch.scores, e.index(0), rows, column, factor);
  }
  func::ReturnOp::create(builder, loc);
  return function;
}
