// Index, vector and loop idioms.
#include "Emitter.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace mlir::fa::cpu;

Value Emitter::index(int64_t value) { return arith::ConstantIndexOp::create(builder, loc, value); }

Value Emitter::add(Value a, Value b) {
  return builder.createOrFold<arith::AddIOp>(loc, a, b, arith::IntegerOverflowFlags::nsw);
}
Value Emitter::sub(Value a, Value b) {
  return builder.createOrFold<arith::SubIOp>(loc, a, b, arith::IntegerOverflowFlags::nsw);
}
Value Emitter::mul(Value a, Value b) {
  return builder.createOrFold<arith::MulIOp>(loc, a, b, arith::IntegerOverflowFlags::nsw);
}
Value Emitter::min(Value a, Value b) { return builder.createOrFold<arith::MinSIOp>(loc, a, b); }
Value Emitter::max(Value a, Value b) { return builder.createOrFold<arith::MaxSIOp>(loc, a, b); }
Value Emitter::ceilDiv(Value a, int64_t b) {
  return builder.createOrFold<arith::DivUIOp>(loc, add(a, b - 1), index(b));
}
Value Emitter::roundDown(Value a, int64_t b) {
  return b == 1 ? a : sub(a, builder.createOrFold<arith::RemUIOp>(loc, a, index(b)));
}
Value Emitter::compare(arith::CmpIPredicate predicate, Value a, Value b) {
  return builder.createOrFold<arith::CmpIOp>(loc, predicate, a, b);
}
Value Emitter::boolean(bool value) { return arith::ConstantIntOp::create(builder, loc, builder.getI1Type(), value); }

Value Emitter::pick(Value position, ArrayRef<Value> values) {
  Value picked = values.back();
  for (int64_t n = static_cast<int64_t>(values.size()) - 2; n >= 0; --n)
    picked = select(compare(arith::CmpIPredicate::eq, position, index(n)), values[n], picked);
  return picked;
}

Value Emitter::opaque(Value index) {
  auto cast = [&](Type type, Value value) {
    return UnrealizedConversionCastOp::create(builder, loc, type, value).getResult(0);
  };
  Type i64 = builder.getI64Type();
  auto noInstruction = LLVM::InlineAsmOp::create(
      builder, loc, i64, cast(i64, index), /*asm_string=*/"", /*constraints=*/"=r,0", /*has_side_effects=*/false,
      /*is_align_stack=*/false, LLVM::TailCallKind::None, LLVM::AsmDialectAttr(), ArrayAttr());
  return cast(index.getType(), noInstruction.getResult(0));
}

Value Emitter::splat(double value) {
  return arith::ConstantOp::create(builder, loc, DenseElementsAttr::get(vectorType, builder.getFloatAttr(type, value)));
}
Value Emitter::broadcast(Value scalar) {
  auto result = VectorType::get({table.lanes}, scalar.getType());
  return vector::BroadcastOp::create(builder, loc, result, scalar);
}
Value Emitter::load(Value memref, Value row, Value column) {
  return vector::LoadOp::create(builder, loc, vectorType, memref, ValueRange{row, column});
}
void Emitter::store(Value vector, Value memref, Value row, Value column) {
  vector::StoreOp::create(builder, loc, vector, memref, ValueRange{row, column});
}
Value Emitter::flat(Value matrix) {
  Value &view = flatViews[matrix];
  if (!view) {
    // Once, where the matrix is made: it serves all its uses.
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointAfterValue(matrix);
    SmallVector<ReassociationIndices> all{{0, 1}};
    view = memref::CollapseShapeOp::create(builder, loc, matrix, all);
  }
  return view;
}
Value Emitter::positionIn(Value matrix, Value row, int64_t rowOffset, Value column, int64_t columnOffset) {
  const int64_t width = cast<MemRefType>(matrix.getType()).getDimSize(1);
  return add(add(mul(row, width), column), rowOffset * width + columnOffset);
}
Value Emitter::load(Value matrix, Value row, int64_t rowOffset, Value column, int64_t columnOffset) {
  return load(flat(matrix), positionIn(matrix, row, rowOffset, column, columnOffset));
}
void Emitter::store(Value vector, Value matrix, Value row, int64_t rowOffset, Value column, int64_t columnOffset) {
  store(vector, flat(matrix), positionIn(matrix, row, rowOffset, column, columnOffset));
}
Value Emitter::load(Value memref, Value position) {
  return vector::LoadOp::create(builder, loc, vectorType, memref, ValueRange{position});
}
void Emitter::store(Value vector, Value memref, Value position) {
  vector::StoreOp::create(builder, loc, vector, memref, ValueRange{position});
}

Value Emitter::isSet(Value flags, Value position) {
  Value zero = arith::ConstantOp::create(builder, loc, builder.getFloatAttr(type, 0.0));
  Value flag = memref::LoadOp::create(builder, loc, flags, position);
  return compare(arith::CmpFPredicate::UNE, flag, zero);
}

void Emitter::set(Value flags, Value position, bool value) {
  Value flag = arith::ConstantOp::create(builder, loc, builder.getFloatAttr(type, value ? 1.0 : 0.0));
  memref::StoreOp::create(builder, loc, flag, flags, position);
}

Value Emitter::multiplyAdd(Value a, Value b, Value c) {
  if (table.fused)
    return vector::FMAOp::create(builder, loc, a, b, c);
  // Without a fused operation vector.fma would call libm for each lane.
  auto contract = arith::FastMathFlags::contract;
  Value product = arith::MulFOp::create(builder, loc, a, b, contract);
  return arith::AddFOp::create(builder, loc, product, c, contract);
}

Value Emitter::larger(Value a, Value b) {
  Value greater = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OGT, a, b);
  return select(greater, a, b);
}

Value Emitter::smaller(Value a, Value b) { return select(compare(arith::CmpFPredicate::OLT, a, b), a, b); }

Value Emitter::isMinusZero(Value x) {
  Type element = builder.getIntegerType(type.getIntOrFloatBitWidth()), bits = element;
  TypedAttr sign = builder.getIntegerAttr(element, llvm::APInt::getSignMask(element.getIntOrFloatBitWidth()));
  if (auto vector = dyn_cast<VectorType>(x.getType())) {
    bits = vector.clone(element);
    sign = DenseElementsAttr::get(cast<ShapedType>(bits), sign);
  }
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, arith::BitcastOp::create(builder, loc, bits, x),
                               arith::ConstantOp::create(builder, loc, sign));
}

Value Emitter::anyLane(Value mask) {
  Type bits = builder.getIntegerType(table.lanes);
  Value word = vector::BitCastOp::create(builder, loc, VectorType::get({1}, bits), mask);
  Value scalar = vector::ExtractOp::create(builder, loc, word, int64_t(0));
  Value zero = arith::ConstantOp::create(builder, loc, builder.getIntegerAttr(bits, 0));
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, scalar, zero);
}

Value Emitter::lanesFrom(Value base) {
  SmallVector<int64_t> numbers;
  for (int64_t lane = 0; lane < table.lanes; ++lane)
    numbers.push_back(lane);
  Value steps = arith::ConstantOp::create(builder, loc, builder.getIndexVectorAttr(numbers));
  return arith::AddIOp::create(builder, loc, broadcast(base), steps);
}

SmallVector<Value> Emitter::loop(Value lower, Value upper, int64_t step, ValueRange inits, LoopBody body) {
  auto op = scf::ForOp::create(builder, loc, lower, upper, index(step), inits,
                               [&](OpBuilder &, Location, Value iv, ValueRange carried) {
                                 scf::YieldOp::create(builder, loc, body(iv, carried));
                               });
  return SmallVector<Value>(op.getResults());
}

void Emitter::loop(Value lower, Value upper, int64_t step, llvm::function_ref<void(Value iv)> body) {
  loop(lower, upper, step, {}, [&](Value iv, ValueRange) {
    body(iv);
    return SmallVector<Value>();
  });
}

void Emitter::when(Value condition, llvm::function_ref<void()> body) {
  scf::IfOp::create(builder, loc, condition, [&](OpBuilder &, Location) {
    body();
    scf::YieldOp::create(builder, loc);
  });
}

void Emitter::when(Value condition, llvm::function_ref<void()> body, llvm::function_ref<void()> otherwise) {
  auto region = [&](llvm::function_ref<void()> emit) {
    return [&, emit](OpBuilder &, Location) {
      emit();
      scf::YieldOp::create(builder, loc);
    };
  };
  scf::IfOp::create(builder, loc, condition, region(body), region(otherwise));
}

void Emitter::attempt(llvm::function_ref<Value(Value again)> body) {
  Type flag = builder.getI1Type();
  scf::WhileOp::create(
      builder, loc, TypeRange{flag}, ValueRange{boolean(false)},
      [&](OpBuilder &, Location, ValueRange carried) {
        Value again = body(carried[0]);
        scf::ConditionOp::create(builder, loc, again, ValueRange{boolean(true)});
      },
      [&](OpBuilder &, Location, ValueRange carried) { scf::YieldOp::create(builder, loc, carried); });
}

SmallVector<Value> Emitter::choose(Value condition, llvm::function_ref<SmallVector<Value>()> then,
                                   llvm::function_ref<SmallVector<Value>()> otherwise) {
  auto op = scf::IfOp::create(
      builder, loc, condition, [&](OpBuilder &, Location) { scf::YieldOp::create(builder, loc, then()); },
      [&](OpBuilder &, Location) { scf::YieldOp::create(builder, loc, otherwise()); });
  return SmallVector<Value>(op.getResults());
}
