// A builder with a location and the index, vector and loop idioms that every part of the kernel uses.
#pragma once
#include "BlockTable.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Builders.h"

namespace mlir::fa::cpu {

class Emitter {
public:
  Emitter(OpBuilder &builder, Location loc, Type type, const BlockTable &table)
      : builder(builder), loc(loc), type(type), table(table), vectorType(VectorType::get({table.lanes}, type)) {}

  OpBuilder &builder;
  Location loc;
  Type type; ///< of scores, softmax and accumulator: f32 or f64
  const BlockTable &table;
  VectorType vectorType; ///< `lanes` elements of `type`

  // Indices. Constants fold where both sides are known.
  Value index(int64_t value);
  Value add(Value a, Value b);
  Value add(Value a, int64_t b) { return b == 0 ? a : add(a, index(b)); }
  Value sub(Value a, Value b);
  Value mul(Value a, Value b);
  Value mul(Value a, int64_t b) { return b == 1 ? a : mul(a, index(b)); }
  Value min(Value a, Value b);
  Value max(Value a, Value b);
  Value ceilDiv(Value a, int64_t b);
  /// a - a mod b, for a >= 0.
  Value roundDown(Value a, int64_t b);
  Value compare(arith::CmpIPredicate predicate, Value a, Value b);
  Value boolean(bool value);
  Value both(Value a, Value b) { return arith::AndIOp::create(builder, loc, a, b); }
  Value negate(Value a) { return arith::XOrIOp::create(builder, loc, a, boolean(true)); }
  Value either(Value a, Value b) { return arith::OrIOp::create(builder, loc, a, b); }

  /// values[index].
  Value pick(Value index, ArrayRef<Value> values);
  /// The same index, which LLVM does not relate to the loop it comes from: what is computed from it in a long loop body
  /// would all be candidates of loop strength reduction, which takes more than linear time.
  Value opaque(Value index);

  // Vectors of `lanes` elements.
  Value splat(double value);
  Value broadcast(Value scalar);
  Value load(Value memref, Value row, Value column);
  void store(Value vector, Value memref, Value row, Value column);
  /// A contiguous matrix as one row.
  Value flat(Value matrix);
  /// At (row + rowOffset, column + columnOffset) of a contiguous matrix: constant parts end up in the address, so that
  /// neighbours share one register.
  Value load(Value matrix, Value row, int64_t rowOffset, Value column, int64_t columnOffset);
  void store(Value vector, Value matrix, Value row, int64_t rowOffset, Value column, int64_t columnOffset);
  Value load(Value memref, Value position);
  void store(Value vector, Value memref, Value position);
  /// A flag in scratch memory: an element of the computing type, 0 or 1.
  Value isSet(Value flags, Value position);
  void set(Value flags, Value position, bool value);
  /// a * b + c, fused where the machine can.
  Value multiplyAdd(Value a, Value b, Value c);
  /// The larger value per lane; `b` where either is NaN (one instruction on x86, unlike maxnum).
  Value larger(Value a, Value b);
  /// The smaller value per lane; `b` where either is NaN.
  Value smaller(Value a, Value b);
  /// vector<lanes x i1>
  Value compare(arith::CmpFPredicate predicate, Value a, Value b) {
    return arith::CmpFOp::create(builder, loc, predicate, a, b);
  }
  Value mulf(Value a, Value b) { return arith::MulFOp::create(builder, loc, a, b); }
  Value addf(Value a, Value b) { return arith::AddFOp::create(builder, loc, a, b); }
  Value subf(Value a, Value b) { return arith::SubFOp::create(builder, loc, a, b); }
  Value select(Value condition, Value a, Value b) { return arith::SelectOp::create(builder, loc, condition, a, b); }
  /// Of the computing type, or a vector of it: is -0, the weight of a hidden pair.
  Value isMinusZero(Value x);
  /// i1: some lane of a vector of i1 is set.
  Value anyLane(Value mask);
  /// vector<lanes x index> of base, base + 1, ...
  Value lanesFrom(Value base);

  // Control flow.
  using LoopBody = llvm::function_ref<SmallVector<Value>(Value iv, ValueRange carried)>;
  SmallVector<Value> loop(Value lower, Value upper, int64_t step, ValueRange inits, LoopBody body);
  void loop(Value lower, Value upper, int64_t step, llvm::function_ref<void(Value iv)> body);
  void when(Value condition, llvm::function_ref<void()> body);
  void when(Value condition, llvm::function_ref<void()> body, llvm::function_ref<void()> otherwise);
  /// body(false), and body(true) if that returned true.
  void attempt(llvm::function_ref<Value(Value again)> body);
  SmallVector<Value> choose(Value condition, llvm::function_ref<SmallVector<Value>()> then,
                            llvm::function_ref<SmallVector<Value>()> otherwise);

private:
  Value positionIn(Value matrix, Value row, int64_t rowOffset, Value column, int64_t columnOffset);

  llvm::DenseMap<Value, Value> flatViews;
};

} // namespace mlir::fa::cpu
