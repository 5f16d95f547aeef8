// Affine expressions with divisors that are powers of two, and block numbers taken apart.
#include "ScalarExpansion.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/IR/AffineExprVisitor.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace {
class Expander : public AffineExprVisitor<Expander, Value> {
public:
  Expander(ImplicitLocOpBuilder &b, AffineMap map, ValueRange operands) : b(b), map(map), operands(operands) {}

  Value visitConstantExpr(AffineConstantExpr expr) { return constant(expr.getValue()); }
  Value visitDimExpr(AffineDimExpr expr) { return operands[expr.getPosition()]; }
  Value visitSymbolExpr(AffineSymbolExpr expr) { return operands[map.getNumDims() + expr.getPosition()]; }

  Value visitAddExpr(AffineBinaryOpExpr expr) {
    if (std::optional<AffineExpr> subtrahend = negated(expr.getRHS()))
      return arith::SubIOp::create(b, visit(expr.getLHS()), visit(*subtrahend));
    if (std::optional<AffineExpr> subtrahend = negated(expr.getLHS()))
      return arith::SubIOp::create(b, visit(expr.getRHS()), visit(*subtrahend));
    return arith::AddIOp::create(b, visit(expr.getLHS()), visit(expr.getRHS()));
  }
  Value visitMulExpr(AffineBinaryOpExpr expr) {
    return arith::MulIOp::create(b, visit(expr.getLHS()), visit(expr.getRHS()));
  }
  // An arithmetic shift rounds towards minus infinity, as floordiv does.
  Value visitFloorDivExpr(AffineBinaryOpExpr expr) {
    std::optional<int64_t> bits = shiftOf(expr.getRHS());
    return bits ? arith::ShRSIOp::create(b, visit(expr.getLHS()), constant(*bits)).getResult() : unexpanded(expr);
  }
  Value visitCeilDivExpr(AffineBinaryOpExpr expr) {
    std::optional<int64_t> bits = shiftOf(expr.getRHS());
    if (!bits)
      return unexpanded(expr);
    Value raised = arith::AddIOp::create(b, visit(expr.getLHS()), constant((int64_t(1) << *bits) - 1));
    return arith::ShRSIOp::create(b, raised, constant(*bits));
  }
  Value visitModExpr(AffineBinaryOpExpr expr) {
    std::optional<int64_t> bits = shiftOf(expr.getRHS());
    return bits ? arith::AndIOp::create(b, visit(expr.getLHS()), constant((int64_t(1) << *bits) - 1)).getResult()
                : unexpanded(expr);
  }

private:
  Value constant(int64_t value) { return arith::ConstantIndexOp::create(b, value); }
  Value unexpanded(AffineExpr expr) {
    return affine::AffineApplyOp::create(b, AffineMap::get(map.getNumDims(), map.getNumSymbols(), expr), operands);
  }
  /// x of an expression -1 * x.
  static std::optional<AffineExpr> negated(AffineExpr expr) {
    auto product = dyn_cast<AffineBinaryOpExpr>(expr);
    if (!product || product.getKind() != AffineExprKind::Mul)
      return std::nullopt;
    auto factor = dyn_cast<AffineConstantExpr>(product.getRHS());
    return factor && factor.getValue() == -1 ? std::optional(product.getLHS()) : std::nullopt;
  }
  static std::optional<int64_t> shiftOf(AffineExpr divisor) {
    auto value = dyn_cast<AffineConstantExpr>(divisor);
    return value && value.getValue() > 0 && llvm::isPowerOf2_64(value.getValue())
               ? std::optional<int64_t>(llvm::Log2_64(value.getValue()))
               : std::nullopt;
  }

  ImplicitLocOpBuilder &b;
  AffineMap map;
  ValueRange operands;
};
} // namespace

/// Least or greatest of the map's results.
template <typename CombineOp> static Value expandMap(ImplicitLocOpBuilder &b, AffineMap map, ValueRange operands) {
  Value result;
  for (AffineExpr expr : map.getResults()) {
    Value value = Expander(b, map, operands).visit(expr);
    result = result ? CombineOp::create(b, result, value).getResult() : value;
  }
  return result;
}

/// One division for each size: what is left over is the remainder.
static SmallVector<Value> takeApart(ImplicitLocOpBuilder &b, affine::AffineDelinearizeIndexOp op, IRMapping &mapping) {
  SmallVector<Value> parts;
  Value rest = mapping.lookupOrDefault(op.getLinearIndex());
  SmallVector<OpFoldResult> basis = op.getEffectiveBasis(); // a temporary would not outlive the start of the loop
  for (OpFoldResult size : llvm::reverse(basis)) {
    Value divisor = isa<Value>(size) ? mapping.lookupOrDefault(cast<Value>(size))
                                     : getValueOrCreateConstantIndexOp(b, b.getLoc(), size);
    Value quotient = arith::DivUIOp::create(b, rest, divisor);
    parts.push_back(arith::SubIOp::create(b, rest, arith::MulIOp::create(b, quotient, divisor)));
    rest = quotient;
  }
  parts.push_back(rest);
  std::reverse(parts.begin(), parts.end());
  return parts;
}

SmallVector<Value> fa::expandScalar(ImplicitLocOpBuilder &b, Operation *op, IRMapping &mapping) {
  SmallVector<Value> operands;
  for (Value operand : op->getOperands())
    operands.push_back(mapping.lookupOrDefault(operand));
  return llvm::TypeSwitch<Operation *, SmallVector<Value>>(op)
      .Case([&](affine::AffineApplyOp apply) {
        return SmallVector<Value>{Expander(b, apply.getAffineMap(), operands).visit(apply.getAffineMap().getResult(0))};
      })
      .Case([&](affine::AffineMinOp min) {
        return SmallVector<Value>{expandMap<arith::MinSIOp>(b, min.getMap(), operands)};
      })
      .Case([&](affine::AffineMaxOp max) {
        return SmallVector<Value>{expandMap<arith::MaxSIOp>(b, max.getMap(), operands)};
      })
      .Case([&](affine::AffineDelinearizeIndexOp split) { return takeApart(b, split, mapping); })
      .Default(SmallVector<Value>{});
}
