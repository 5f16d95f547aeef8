// Keys of a tile that only some queries of a sub-tile see: a function of its own, so that the loops over whole blocks
// keep all registers.
#include "PartFunction.h"
#include "StepBuilder.h"

using namespace mlir;
using namespace mlir::fa::cpu;

/// i1: a vector of queries has keys outside the whole blocks.
Value StepBuilder::anyEdge(const Visit &visit) {
  auto less = [&](Value a, Value b) { return e.compare(arith::CmpIPredicate::slt, a, b); };
  Value any = e.boolean(false);
  for (auto [first, last] : llvm::zip_equal(visit.first, visit.last))
    any = e.either(any, e.either(less(first, e.min(visit.lower, last)), less(e.max(visit.upper, first), last)));
  return any;
}

/// The sums with those of the edges.
SmallVector<Value> StepBuilder::callEdges(Value subTile, const Visit &visit, Value again, ValueRange sums) {
  auto position = [&](size_t i) { return e.index(int64_t(i) * e.table.lanes); };
  auto call = [&] {
    for (auto [i, sum] : llvm::enumerate(sums))
      e.store(sum, scratch.partial, position(i));
    SmallVector<Value> arguments{operands.arena, keys,    values,      firstQuery,  firstKey,
                                 numKeys,        subTile, visit.lower, visit.upper, again};
    llvm::append_range(arguments, visit.first);
    llvm::append_range(arguments, visit.last);
    func::CallOp::create(e.builder, e.loc, edges, arguments);
    SmallVector<Value> added;
    for (size_t i = 0; i < sums.size(); ++i)
      added.push_back(e.load(scratch.partial, position(i)));
    return added;
  };
  return e.choose(anyEdge(visit), call, [&] { return SmallVector<Value>(sums); });
}

/// Arguments are those of callEdges.
func::FuncOp StepBuilder::edgeFunction() {
  OpBuilder::InsertionGuard guard(e.builder);
  auto step = cast<func::FuncOp>(e.builder.getInsertionBlock()->getParentOp());
  e.builder.setInsertionPoint(step);
  Type index = e.builder.getIndexType();
  SmallVector<Type> types{operands.arena.getType(), keys.getType(), values.getType()};
  types.append(6, index);
  types.push_back(e.builder.getI1Type());
  types.append(2 * e.table.queryVectors, index);
  func::FuncOp function = beginPartFunction(e.builder, e.loc, (step.getName() + "_edges").str(), types);
  Block::BlockArgListType arguments = function.getArguments();
  Emitter inner(e.builder, e.loc, e.type, e.table);
  StepOperands own = operands;
  own.arena = arguments[0];
  own.copies = Value();
  StepBuilder body(inner, shape, own, score, mask, functions, /*bounds=*/nullptr);
  body.laneMask = laneMask;
  body.keys = arguments[1];
  body.values = arguments[2];
  body.firstQuery = arguments[3];
  body.firstKey = arguments[4];
  body.numKeys = arguments[5];
  Visit visit;
  visit.lower = arguments[7];
  visit.upper = arguments[8];
  for (int64_t i = 0; i < e.table.queryVectors; ++i) {
    visit.first.push_back(arguments[10 + i]);
    visit.last.push_back(arguments[10 + e.table.queryVectors + i]);
  }
  body.emitEdges(arguments[6], visit, arguments[9]);
  func::ReturnOp::create(e.builder, e.loc);
  return function;
}

/// Blocks of one vector of queries, one loop for all: before and after those of the whole sub-tile.
void StepBuilder::emitEdges(Value subTile, const Visit &visit, Value again) {
  Value zero = e.index(0), shifted = isShifted(subTile);
  e.loop(zero, e.index(e.table.queryVectors), 1, [&](Value counter) {
    Value vector = e.opaque(counter), lane = e.mul(vector, e.table.lanes);
    Value first = e.pick(vector, visit.first), last = e.pick(vector, visit.last);
    Value sum = e.loop(zero, e.index(2), 1, {e.load(scratch.partial, lane)}, [&](Value side, ValueRange outer) {
      Value lower = e.pick(side, {first, e.max(visit.upper, first)});
      Value upper = e.pick(side, {e.min(visit.lower, last), last});
      return e.loop(lower, upper, e.table.keys, outer, [&](Value key, ValueRange inner) {
        ScoreBlock block{subTile, e.opaque(key), 1, lane, mask != nullptr};
        SmallVector<Value> scores = hideInRegisters(block, emitDotProducts(block));
        return keepOrExponentiate(scores, block, again, shifted, inner);
      });
    })[0];
    e.store(sum, scratch.partial, lane);
  });
}
