// Emission of logits, probabilities and finished rows as scalar loops.
// Floats carry `contract` (LLVM may fuse a product into an FMA) and the dot product also `reassoc` (LLVM may put it on
// vector lanes); neither changes what happens to infinities and NaN.
#include "ScoreLoops.h"
#include "fa/Dialect/FA/IR/ScalarRegion.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include <cmath>
#include <limits>
#include <numbers>

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fa::loops;

Value loops::emitFloat(ImplicitLocOpBuilder &b, Type type, double value) {
  return arith::ConstantOp::create(b, b.getFloatAttr(type, value));
}

Value loops::emitMinusInfinity(ImplicitLocOpBuilder &b, Type type) {
  return emitFloat(b, type, -std::numeric_limits<double>::infinity());
}

Value loops::emitIndex(ImplicitLocOpBuilder &b, int64_t value) { return arith::ConstantIndexOp::create(b, value); }

Value loops::emitDim(ImplicitLocOpBuilder &b, Value memref, int64_t dim) {
  auto type = cast<MemRefType>(memref.getType());
  return type.isDynamicDim(dim) ? memref::DimOp::create(b, memref, dim).getResult()
                                : emitIndex(b, type.getDimSize(dim));
}

void loops::emitLoop(ImplicitLocOpBuilder &b, Value size, llvm::function_ref<void(Value)> fill) {
  auto loop = scf::ForOp::create(b, emitIndex(b, 0), size, emitIndex(b, 1));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  fill(loop.getInductionVar());
}

Value loops::emitReduction(ImplicitLocOpBuilder &b, Value size, Value start,
                           llvm::function_ref<Value(Value, Value)> fold) {
  auto loop = scf::ForOp::create(b, emitIndex(b, 0), size, emitIndex(b, 1), start);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  scf::YieldOp::create(b, fold(loop.getInductionVar(), loop.getRegionIterArg(0)));
  return loop.getResult(0);
}

Value loops::emitValidCount(ImplicitLocOpBuilder &b, Value size, Value first, int64_t tile) {
  Value rest = arith::SubIOp::create(b, size, first);
  return arith::MinSIOp::create(b, rest, emitIndex(b, tile));
}

/// A loaded input or captured value in the accumulator type.
static Value extend(ImplicitLocOpBuilder &b, Value value, Type accumulator) {
  return value.getType() == accumulator ? value : arith::ExtFOp::create(b, accumulator, value).getResult();
}

static arith::FastMathFlagsAttr fastMath(ImplicitLocOpBuilder &b, arith::FastMathFlags flags) {
  return arith::FastMathFlagsAttr::get(b.getContext(), flags);
}

//===----------------------------------------------------------------------===//
// Scale
//===----------------------------------------------------------------------===//

static bool holds(Type type, double value) { return !type.isF32() || std::isfinite(static_cast<float>(value)); }

/// 1/sqrt(depth) for a depth known at run time only.
static Value emitDefaultScale(ImplicitLocOpBuilder &b, const AttentionSource &source) {
  Value depth = emitDim(b, source.query, 3);
  depth = arith::IndexCastOp::create(b, b.getI64Type(), depth);
  depth = arith::SIToFPOp::create(b, source.accumulator, depth);
  return arith::DivFOp::create(b, emitFloat(b, source.accumulator, 1.0), math::SqrtOp::create(b, depth));
}

LogicalResult loops::emitScale(ImplicitLocOpBuilder &b, Operation *op, Value dynamicScale, FloatAttr scale,
                               AttentionSource &source) {
  if (dynamicScale) {
    source.scale = dynamicScale;
    return success();
  }
  int64_t depth = cast<MemRefType>(source.query.getType()).getDimSize(3);
  if (!scale && ShapedType::isDynamic(depth)) {
    source.scale = emitDefaultScale(b, source);
    return success();
  }
  double value = scale ? scale.getValueAsDouble() : 1.0 / std::sqrt(static_cast<double>(depth));
  if (!holds(source.accumulator, value))
    return op->emitError() << "expected a scale within the range of " << source.accumulator << ", but got " << value;
  source.scaleIsZero = value == 0.0;
  if (value != 0.0 && value != 1.0)
    source.scale = emitFloat(b, source.accumulator, value);
  return success();
}

//===----------------------------------------------------------------------===//
// Logits
//===----------------------------------------------------------------------===//

/// sum_d query[i, d] key[j, d] in the accumulator type.
static Value emitDot(ImplicitLocOpBuilder &b, const AttentionSource &s, Value i, Value j) {
  using arith::FastMathFlags;
  return emitReduction(b, emitDim(b, s.query, 3), emitFloat(b, s.accumulator, 0.0), [&](Value d, Value sum) -> Value {
    Value q = memref::LoadOp::create(b, s.query, ValueRange{s.queryBatch, s.queryHead, i, d});
    Value k = memref::LoadOp::create(b, s.key, ValueRange{s.keyBatch, s.keyHead, j, d});
    Value product = arith::MulFOp::create(b, extend(b, q, s.accumulator), extend(b, k, s.accumulator),
                                          fastMath(b, FastMathFlags::contract));
    return arith::AddFOp::create(b, sum, product, fastMath(b, FastMathFlags::contract | FastMathFlags::reassoc));
  });
}

/// The score of a visible pair: dot, scale, score region.
static FailureOr<Value> emitScore(ImplicitLocOpBuilder &b, const AttentionSource &s, Value i, Value j) {
  Value x = s.scaleIsZero ? emitFloat(b, s.accumulator, 0.0) : emitDot(b, s, i, j);
  if (s.scale)
    x = arith::MulFOp::create(b, x, s.scale);
  if (!s.score)
    return x;
  return cloneScalarRegion(b, *s.score, {x, s.queryBatch, s.queryHead, i, j});
}

/// Whether all masks let query i see key j, or null when there is no mask.
static FailureOr<Value> emitMask(ImplicitLocOpBuilder &b, const AttentionSource &s, Value i, Value j) {
  Value visible;
  auto combine = [&](Value other) { visible = visible ? arith::AndIOp::create(b, visible, other).getResult() : other; };
  if (s.masks) {
    Value seqQ = emitDim(b, s.query, 2), seqKv = emitDim(b, s.key, 2);
    for (auto mask : s.masks.getAsRange<MaskAttrInterface>())
      combine(mask.buildPredicate(b, b.getLoc(), i, j, seqQ, seqKv));
  }
  if (s.mask) {
    FailureOr<Value> keep = cloneScalarRegion(b, *s.mask, {s.queryBatch, s.queryHead, i, j});
    if (failed(keep))
      return failure();
    combine(*keep);
  }
  return visible;
}

FailureOr<Value> loops::emitLogit(ImplicitLocOpBuilder &b, const AttentionSource &s, Value i, Value j) {
  FailureOr<Value> visible = emitMask(b, s, i, j);
  if (failed(visible))
    return failure();
  if (!*visible)
    return emitScore(b, s, i, j);
  auto choice = scf::IfOp::create(b, TypeRange{s.accumulator}, *visible, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(choice.thenBlock());
  FailureOr<Value> score = emitScore(b, s, i, j);
  if (failed(score))
    return failure();
  scf::YieldOp::create(b, *score);
  b.setInsertionPointToStart(choice.elseBlock());
  scf::YieldOp::create(b, emitMinusInfinity(b, s.accumulator));
  return choice.getResult(0);
}

Value loops::emitIsVisible(ImplicitLocOpBuilder &b, Value logit) {
  return arith::CmpFOp::create(b, arith::CmpFPredicate::UNE, logit, emitMinusInfinity(b, logit.getType()));
}

//===----------------------------------------------------------------------===//
// Probabilities, accumulation, output
//===----------------------------------------------------------------------===//

Value loops::emitExp(ImplicitLocOpBuilder &b, Value logit, Value reference) {
  Value difference = arith::SubFOp::create(b, logit, reference);
  Value exponent = arith::MulFOp::create(b, difference, emitFloat(b, logit.getType(), std::numbers::log2e));
  return math::Exp2Op::create(b, exponent);
}

Value loops::emitRounded(ImplicitLocOpBuilder &b, Value probability, Type element) {
  Type accumulator = probability.getType();
  if (element == accumulator)
    return probability;
  Value rounded = arith::TruncFOp::create(b, element, probability);
  return arith::ExtFOp::create(b, accumulator, rounded);
}

void loops::emitAccumulate(ImplicitLocOpBuilder &b, const AttentionSource &s, Value accumulator, ValueRange prefix,
                           Value probability, Value j) {
  auto contract = fastMath(b, arith::FastMathFlags::contract);
  Value depth = emitDim(b, s.value, 3);
  emitLoop(b, depth, [&](Value d) {
    SmallVector<Value> index(prefix);
    index.push_back(d);
    Value v = memref::LoadOp::create(b, s.value, ValueRange{s.keyBatch, s.keyHead, j, d});
    Value old = memref::LoadOp::create(b, accumulator, index);
    Value product = arith::MulFOp::create(b, probability, extend(b, v, s.accumulator), contract);
    memref::StoreOp::create(b, arith::AddFOp::create(b, old, product, contract), accumulator, index);
  });
}

void loops::emitFinishedRow(ImplicitLocOpBuilder &b, const FinishedRow &row, Value output, Value lse,
                            ValueRange position) {
  Type type = row.sum.getType(), element = cast<MemRefType>(output.getType()).getElementType();
  Value zero = emitFloat(b, type, 0.0);
  Value empty = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, row.sum, zero);
  emitLoop(b, emitDim(b, output, 3), [&](Value d) {
    SmallVector<Value> from(row.prefix), to(position);
    from.push_back(d);
    to.push_back(d);
    Value acc = memref::LoadOp::create(b, row.accumulator, from);
    Value result = arith::SelectOp::create(b, empty, zero, arith::DivFOp::create(b, acc, row.sum));
    if (element != type)
      result = arith::TruncFOp::create(b, element, result);
    memref::StoreOp::create(b, result, output, to);
  });
  if (!lse)
    return;
  Value log = arith::AddFOp::create(b, row.reference, math::LogOp::create(b, row.sum));
  Value stat = arith::SelectOp::create(b, empty, emitMinusInfinity(b, type), log);
  memref::StoreOp::create(b, stat, lse, position);
}
