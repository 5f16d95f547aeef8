// fa.attention: verifier, effects, canonicalisation.
#include "FAAssembly.h"
#include "fa/Dialect/FA/IR/FA.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include <cmath>

using namespace mlir;
using namespace mlir::fa;

Type AttentionOp::getAccumulatorType() { return detail::accumulatorTypeFor(getQueryType().getElementType()); }

//===----------------------------------------------------------------------===//
// Verifier
//===----------------------------------------------------------------------===//

namespace {
/// Reports that two dims that must agree do not. Dynamic dims agree with anything.
struct DimChecker {
  AttentionOp op;

  LogicalResult equal(StringRef label, const Twine &what, ShapedType a, unsigned dimA, StringRef nameA, ShapedType b,
                      unsigned dimB, StringRef nameB) {
    int64_t x = a.getDimSize(dimA), y = b.getDimSize(dimB);
    if (ShapedType::isDynamic(x) || ShapedType::isDynamic(y) || x == y)
      return success();
    return op.emitOpError() << label << " expected " << nameA << " and " << nameB << " to have the same " << what
                            << ", but got " << x << " and " << y;
  }
};
} // namespace

static LogicalResult verifyForm(AttentionOp op) {
  SmallVector<Value> values{op.getQuery(), op.getKey(), op.getValue()};
  llvm::append_range(values, op.getOutputs());
  for (Value v : values) {
    if (isa<RankedTensorType>(v.getType()) != op.hasTensorSemantics())
      return op.emitOpError("(C1) expected query, key, value and outputs to be all tensors or all memrefs");
    if (auto type = dyn_cast<MemRefType>(v.getType()); type && !type.isStrided())
      return op.emitOpError("(C1) expected memrefs with a strided layout, but got ") << type;
  }
  if (op.getOutputs().empty() || op.getOutputs().size() > 2)
    return op.emitOpError("(C7) expected one output, or an output and a log-sum-exp, but got ")
           << op.getOutputs().size() << " outputs";
  if (cast<ShapedType>(op.getOutput().getType()).getRank() != 4)
    return op.emitOpError("(C7) expected the output to have 4 dims, but got ") << op.getOutput().getType();
  if (op.getLse() && cast<ShapedType>(op.getLse().getType()).getRank() != 3)
    return op.emitOpError("(C8) expected the log-sum-exp to have 3 dims, but got ") << op.getLse().getType();
  return success();
}

static LogicalResult verifyTypes(AttentionOp op) {
  Type element = op.getQueryType().getElementType();
  for (Value v : {op.getKey(), op.getValue(), op.getOutput()})
    if (cast<ShapedType>(v.getType()).getElementType() != element)
      return op.emitOpError("(C2) expected query, key, value and output to have one element type, but got ")
             << element << " and " << cast<ShapedType>(v.getType()).getElementType();
  if (op.getLse() && cast<ShapedType>(op.getLse().getType()).getElementType() != op.getAccumulatorType())
    return op.emitOpError("(C8) expected a log-sum-exp of ")
           << op.getAccumulatorType() << ", but got " << op.getLse().getType();
  return success();
}

static LogicalResult verifyShapes(AttentionOp op) {
  ShapedType q = op.getQueryType(), k = op.getKeyType(), v = op.getValueType();
  auto o = cast<ShapedType>(op.getOutput().getType());
  DimChecker check{op};
  if (failed(check.equal("(C3)", "batch", q, 0, "query", k, 0, "key")) ||
      failed(check.equal("(C3)", "batch", q, 0, "query", v, 0, "value")) ||
      failed(check.equal("(C4)", "depth", q, 3, "query", k, 3, "key")) ||
      failed(check.equal("(C5)", "heads", k, 1, "key", v, 1, "value")) ||
      failed(check.equal("(C5)", "sequence length", k, 2, "key", v, 2, "value")))
    return failure();
  if (q.getDimSize(3) == 0 || k.getDimSize(3) == 0 || v.getDimSize(3) == 0)
    return op.emitOpError("(C4) expected a depth of at least 1, but got 0");
  int64_t headsQ = q.getDimSize(1), headsKv = k.getDimSize(1);
  if (!ShapedType::isDynamic(headsQ) && !ShapedType::isDynamic(headsKv) &&
      (headsKv == 0 ? headsQ != 0 : headsQ % headsKv != 0))
    return op.emitOpError("(C6) expected heads of query to be a multiple of heads of key, but got ")
           << headsQ << " and " << headsKv;
  if (failed(check.equal("(C7)", "batch", q, 0, "query", o, 0, "output")) ||
      failed(check.equal("(C7)", "heads", q, 1, "query", o, 1, "output")) ||
      failed(check.equal("(C7)", "sequence length", q, 2, "query", o, 2, "output")) ||
      failed(check.equal("(C7)", "depth", v, 3, "value", o, 3, "output")))
    return failure();
  if (!op.getLse())
    return success();
  auto lse = cast<ShapedType>(op.getLse().getType());
  return failure(failed(check.equal("(C8)", "batch", q, 0, "query", lse, 0, "log-sum-exp")) ||
                 failed(check.equal("(C8)", "heads", q, 1, "query", lse, 1, "log-sum-exp")) ||
                 failed(check.equal("(C8)", "sequence length", q, 2, "query", lse, 2, "log-sum-exp")));
}

static LogicalResult verifyOutputs(AttentionOp op) {
  if (op.hasTensorSemantics() ? TypeRange(op.getResultTypes()) != TypeRange(op.getOutputs().getTypes())
                              : op.getNumResults() != 0)
    return op.emitOpError(op.hasTensorSemantics() ? "(C13) expected the tensor form to return the types of its outputs"
                                                  : "(C13) expected the memref form to return nothing");
  for (Value output : op.getOutputs()) {
    auto type = dyn_cast<MemRefType>(output.getType());
    if (!type)
      continue;
    auto [strides, offset] = type.getStridesAndOffset();
    for (auto [size, stride] : llvm::zip(type.getShape(), strides))
      if (stride == 0 && size != 1 && size != 0)
        return op.emitOpError("(C14) expected no stride of 0 in an output, but got ") << type;
  }
  return success();
}

LogicalResult AttentionOp::verify() {
  if (failed(verifyForm(*this)) || failed(verifyTypes(*this)) || failed(verifyShapes(*this)) ||
      failed(verifyOutputs(*this)))
    return failure();
  return detail::verifyScale(*this, getScaleAttr(), getDynamicScale(), getAccumulatorType());
}

LogicalResult AttentionOp::verifyRegions() {
  return detail::verifyScalarRegions(*this, getScore(), getMask(), getAccumulatorType());
}

//===----------------------------------------------------------------------===//
// Interfaces
//===----------------------------------------------------------------------===//

void AttentionOp::getAsmBlockArgumentNames(Region &region, OpAsmSetValueNameFn setName) {
  detail::nameScalarRegionArguments(region, &region == &getScore(), setName);
}

void AttentionOp::getEffects(SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &effects) {
  if (!hasTensorSemantics()) {
    for (OpOperand *operand : {&getQueryMutable(), &getKeyMutable(), &getValueMutable()})
      effects.emplace_back(MemoryEffects::Read::get(), operand);
    for (OpOperand &operand : getOutputsMutable())
      effects.emplace_back(MemoryEffects::Write::get(), &operand);
  }
  for (Region *region : {&getScore(), &getMask()})
    region->walk([&](MemoryEffectOpInterface nested) {
      if (nested.hasEffect<MemoryEffects::Read>())
        effects.emplace_back(MemoryEffects::Read::get());
    });
}

LogicalResult AttentionOp::reifyResultShapes(OpBuilder &builder, ReifiedRankedShapedTypeDims &shapes) {
  for (Value output : getOutputs())
    shapes.push_back(tensor::getMixedSizes(builder, getLoc(), output));
  return success();
}

//===----------------------------------------------------------------------===//
// Canonicalisation
//===----------------------------------------------------------------------===//

namespace {
/// A scale that is a constant becomes static.
struct FoldConstantScale : OpRewritePattern<AttentionOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(AttentionOp op, PatternRewriter &rewriter) const override {
    FloatAttr constant;
    if (!op.getDynamicScale() || !matchPattern(op.getDynamicScale(), m_Constant(&constant)) ||
        !std::isfinite(constant.getValueAsDouble()))
      return failure();
    rewriter.modifyOpInPlace(op, [&] {
      op.setScaleAttr(rewriter.getF64FloatAttr(constant.getValueAsDouble()));
      op.getDynamicScaleMutable().clear();
    });
    return success();
  }
};

/// A missing scale becomes 1/sqrt(D) once the depth is known.
struct MaterializeDefaultScale : OpRewritePattern<AttentionOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(AttentionOp op, PatternRewriter &rewriter) const override {
    int64_t depth = op.getQueryType().getDimSize(3);
    if (op.getScaleAttr() || op.getDynamicScale() || ShapedType::isDynamic(depth))
      return failure();
    rewriter.modifyOpInPlace(
        op, [&] { op.setScaleAttr(rewriter.getF64FloatAttr(1.0 / std::sqrt(static_cast<double>(depth)))); });
    return success();
  }
};

/// Masks listed twice, masks that hide nothing and an empty list disappear.
struct SimplifyMasks : OpRewritePattern<AttentionOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(AttentionOp op, PatternRewriter &rewriter) const override {
    ArrayAttr masks = op.getMasksAttr();
    if (!masks)
      return failure();
    SmallVector<Attribute> kept;
    for (Attribute mask : masks) {
      auto window = dyn_cast<WindowAttr>(mask);
      bool hidesNothing = window && !window.getLeft() && !window.getRight();
      if (!hidesNothing && !llvm::is_contained(kept, mask))
        kept.push_back(mask);
    }
    if (kept.size() == masks.size() && !kept.empty())
      return failure();
    rewriter.modifyOpInPlace(op, [&] { op.setMasksAttr(kept.empty() ? ArrayAttr() : rewriter.getArrayAttr(kept)); });
    return success();
  }
};

/// A score region that returns its argument and a mask region that is always true disappear.
struct DropTrivialRegions : OpRewritePattern<AttentionOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(AttentionOp op, PatternRewriter &rewriter) const override {
    auto yielded = [](Region &region) {
      return region.empty() ? Value() : cast<YieldOp>(region.front().getTerminator()).getValue();
    };
    bool changed = false;
    auto drop = [&](Region &region) {
      rewriter.modifyOpInPlace(op, [&] { rewriter.eraseBlock(&region.front()); });
      changed = true;
    };
    if (Value score = yielded(op.getScore()); score && score == op.getScore().getArgument(0))
      drop(op.getScore());
    if (Value keep = yielded(op.getMask()); keep && matchPattern(keep, m_One()))
      drop(op.getMask());
    return success(changed);
  }
};
} // namespace

void AttentionOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<FoldConstantScale, MaterializeDefaultScale, SimplifyMasks, DropTrivialRegions>(context);
}
