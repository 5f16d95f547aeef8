// p = 2^(x c - m c) with one fused multiply-add, or 2^((x - m) c) where |m c| is so large that the product's rounding
// shows.
#include "Softmax.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::fa;
using hopper::QuadReduceOp;
using hopper::Reduction;
using hopper::RowBroadcastOp;
using hopper::RowReduceOp;
using LocBuilder = ImplicitLocOpBuilder;

constexpr double log2e = 1.4426950408889634074, ln2 = 0.69314718055994530942;
/// Below it, half an ulp of m c is at most 2^-2: the exponent of the row reference itself comes out as 0 exactly, since
/// the fused multiply-add subtracts m c as rounded from x c unrounded (docs/Numerics.md).
constexpr double fusedFormLimit = 4194304; // 2^22

Softmax::Softmax(LocBuilder &b, const KernelPlan &plan, Value scale)
    : fragment(plan.scoreFragment()), rows(VectorType::get({2}, b.getF32Type())), scale(scale) {
  StepOp step = plan.masked;
  if (step.getScale())
    staticScale = step.getScale()->convertToDouble();
  bool isZero = staticScale && *staticScale == 0;
  scaled = !staticScale || isZero || !step.getScore().empty();
  exponentScale = scaled ? log2e : std::abs(*staticScale) * log2e;
}

Value Softmax::splat(LocBuilder &b, VectorType type, double value) const {
  return arith::ConstantOp::create(b, DenseElementsAttr::get(type, b.getF32FloatAttr(value)));
}

Value Softmax::scaleScores(LocBuilder &b, Value scores) const {
  // A scale of zero: the product would be NaN where a score is infinite.
  if (staticScale && *staticScale == 0)
    return splat(b, fragment, 0);
  Value factor =
      staticScale ? splat(b, fragment, *staticScale) : vector::BroadcastOp::create(b, fragment, scale).getResult();
  return arith::MulFOp::create(b, scores, factor);
}

/// x c - m c, or x - m first, of which nothing is left to round: a second copy of as many instructions, none on the way
/// of those that run.
Value Softmax::exponentWithColdPath(LocBuilder &b, Value x, Value reference, Value product, Value isLarge) const {
  auto branch = scf::IfOp::create(b, TypeRange{fragment, rows}, isLarge, /*withElseRegion=*/true);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    Value shifted = arith::SubFOp::create(b, x, RowBroadcastOp::create(b, fragment, reference));
    scf::YieldOp::create(b, ValueRange{shifted, splat(b, rows, 0)});
    b.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(b, ValueRange{x, arith::NegFOp::create(b, product)});
  }
  Value addend = RowBroadcastOp::create(b, fragment, branch.getResult(1));
  return math::FmaOp::create(b, branch.getResult(0), splat(b, fragment, exponentScale), addend);
}

/// The same by one multiply-add that runs once with (c, -m c) or twice: with (1, -m), which subtracts, then with (c,
/// 0). Shorter code, but exponentials cannot start before its last element.
Value Softmax::exponentByRepetition(LocBuilder &b, Value x, Value reference, Value product, Value isLarge) const {
  Type f32 = b.getF32Type();
  auto number = [&](double value) { return arith::ConstantOp::create(b, b.getF32FloatAttr(value)); };
  Value c = number(exponentScale), no = arith::ConstantOp::create(b, b.getBoolAttr(false));
  Value factor = arith::SelectOp::create(b, isLarge, number(1), c);
  Value addend = arith::NegFOp::create(b, arith::SelectOp::create(b, isLarge, reference, product));
  auto loop = scf::WhileOp::create(b, TypeRange{fragment}, ValueRange{x, factor, addend, isLarge});
  OpBuilder::InsertionGuard guard(b);
  mlir::Block *before =
      b.createBlock(&loop.getBefore(), {}, {fragment, f32, rows, b.getI1Type()}, SmallVector<Location>(4, b.getLoc()));
  Value scale = vector::BroadcastOp::create(b, fragment, before->getArgument(1));
  Value shift = RowBroadcastOp::create(b, fragment, before->getArgument(2));
  Value next = math::FmaOp::create(b, before->getArgument(0), scale, shift);
  scf::ConditionOp::create(b, before->getArgument(3), ValueRange{next});
  mlir::Block *after = b.createBlock(&loop.getAfter(), {}, {fragment}, {b.getLoc()});
  scf::YieldOp::create(b, ValueRange{after->getArgument(0), c, splat(b, rows, 0), no});
  return loop.getResult(0);
}

TileSoftmax Softmax::tile(LocBuilder &b, Value x, RowState old, bool isMainLoop) const {
  TileSoftmax result;
  double infinity = std::numeric_limits<double>::infinity();
  Value max = QuadReduceOp::create(b, rows, Reduction::Max, RowReduceOp::create(b, rows, Reduction::Max, x));
  if (old.max)
    max = arith::MaxNumFOp::create(b, old.max, max);
  result.state.max = max;
  // A row that has seen no key yet: subtract 0, so that e^(-inf - m) is 0 and not NaN.
  Value isEmpty = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, max, splat(b, rows, -infinity));
  Value reference = arith::SelectOp::create(b, isEmpty, splat(b, rows, 0), max);
  Value c = splat(b, rows, exponentScale);
  if (old.max) {
    Value difference = arith::SubFOp::create(b, old.max, reference);
    result.factor = math::Exp2Op::create(b, arith::MulFOp::create(b, difference, c));
  }
  Value product = arith::MulFOp::create(b, reference, c);

  // For a whole warp.
  Value large = arith::CmpFOp::create(b, arith::CmpFPredicate::OGE, math::AbsFOp::create(b, product),
                                      splat(b, rows, fusedFormLimit));
  Value either = arith::OrIOp::create(b, vector::ExtractOp::create(b, large, int64_t(0)),
                                      vector::ExtractOp::create(b, large, int64_t(1)));
  Value anyLarge = hopper::AnyOp::create(b, b.getI1Type(), either);
  Value exponent = isMainLoop ? exponentWithColdPath(b, x, reference, product, anyLarge)
                              : exponentByRepetition(b, x, reference, product, anyLarge);
  result.probabilities = math::Exp2Op::create(b, exponent);
  Value sum = RowReduceOp::create(b, rows, Reduction::Sum, result.probabilities);
  result.state.sum = old.sum ? math::FmaOp::create(b, old.sum, result.factor, sum).getResult() : sum;
  return result;
}

std::pair<Value, Value> Softmax::finish(LocBuilder &b, RowState state) const {
  double infinity = std::numeric_limits<double>::infinity();
  Value sum = QuadReduceOp::create(b, rows, Reduction::Sum, state.sum);
  Value isEmpty = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, sum, splat(b, rows, 0));
  // 1 ulp (PTX ISA: rcp.approx); an IEEE division would bring a slow path.
  SmallVector<Value> reciprocals;
  for (int64_t row : {0, 1}) {
    Value ofRow = vector::ExtractOp::create(b, sum, row);
    reciprocals.push_back(NVVM::RcpApproxFtzF32Op::create(b, b.getF32Type(), ofRow));
  }
  Value reciprocal = vector::FromElementsOp::create(b, rows, reciprocals);
  Value inverse = arith::SelectOp::create(b, isEmpty, splat(b, rows, 0), reciprocal);
  // LSE = m (in logits) + ln l.
  Value logarithm = arith::MulFOp::create(b, math::Log2Op::create(b, sum), splat(b, rows, ln2));
  Value lse = math::FmaOp::create(b, state.max, splat(b, rows, exponentScale * ln2), logarithm);
  lse = arith::SelectOp::create(b, isEmpty, splat(b, rows, -infinity), lse);
  return {inverse, lse};
}
