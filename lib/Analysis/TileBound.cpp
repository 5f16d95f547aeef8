// Folding, evaluation and emission of tile bounds.
#include "fa/Analysis/TileBound.h"
#include "fa/Analysis/MaskPredicate.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::fa;

TileBound TileBound::affine(AffineExpr expr) {
  TileBound bound;
  bound.affineExpr = expr;
  return bound;
}

TileBound TileBound::extremum(Kind kind, std::vector<TileBound> terms) {
  TileBound result;
  result.boundKind = kind;
  std::optional<int64_t> constant;
  MLIRContext *context = nullptr;
  auto add = [&](const TileBound &term) {
    if (std::optional<int64_t> value = term.constant()) {
      context = term.affineExpr.getContext();
      constant = !constant ? *value : kind == Kind::Min ? std::min(*constant, *value) : std::max(*constant, *value);
    } else if (!llvm::is_contained(result.boundTerms, term)) {
      result.boundTerms.push_back(term);
    }
  };
  for (const TileBound &term : terms) {
    if (term.boundKind == kind)
      llvm::for_each(term.boundTerms, add);
    else
      add(term);
  }
  if (constant)
    result.boundTerms.insert(result.boundTerms.begin(), affine(getAffineConstantExpr(*constant, context)));
  return result.boundTerms.size() == 1 ? result.boundTerms.front() : result;
}

TileBound TileBound::guarded(ArrayRef<AffineExpr> guards, TileBound then, TileBound otherwise) {
  if (guards.empty() || then == otherwise)
    return then;
  TileBound result;
  result.boundKind = Kind::Guarded;
  result.boundGuards.assign(guards.begin(), guards.end());
  result.boundTerms = {std::move(then), std::move(otherwise)};
  return result;
}

bool TileBound::operator==(const TileBound &other) const {
  return boundKind == other.boundKind && affineExpr == other.affineExpr && boundGuards == other.boundGuards &&
         boundTerms == other.boundTerms;
}

std::optional<int64_t> TileBound::constant() const {
  if (boundKind == Kind::Affine)
    if (auto value = dyn_cast<AffineConstantExpr>(affineExpr))
      return value.getValue();
  return std::nullopt;
}

bool TileBound::isSingleMap() const {
  if (boundKind == Kind::Guarded)
    return false;
  return llvm::all_of(boundTerms, [](const TileBound &term) { return term.boundKind == Kind::Affine; });
}

unsigned TileBound::size() const {
  if (isSingleMap())
    return 1;
  unsigned count = 1 + boundGuards.size();
  for (const TileBound &term : boundTerms)
    count += term.size();
  return count;
}

int64_t TileBound::evaluate(ArrayRef<int64_t> symbols) const {
  switch (boundKind) {
  case Kind::Affine:
    return evaluateAffine(affineExpr, {}, symbols);
  case Kind::Guarded: {
    bool holds = llvm::all_of(boundGuards, [&](AffineExpr g) { return evaluateAffine(g, {}, symbols) >= 0; });
    return boundTerms[holds ? 0 : 1].evaluate(symbols);
  }
  case Kind::Min:
  case Kind::Max:
    break;
  }
  int64_t result = boundTerms.front().evaluate(symbols);
  for (const TileBound &term : llvm::drop_begin(boundTerms)) {
    int64_t value = term.evaluate(symbols);
    result = boundKind == Kind::Min ? std::min(result, value) : std::max(result, value);
  }
  return result;
}

TileBound TileBound::plus(int64_t value) const {
  TileBound result = *this;
  if (boundKind == Kind::Affine) {
    auto division = dyn_cast<AffineBinaryOpExpr>(affineExpr);
    auto divisor = division ? dyn_cast<AffineConstantExpr>(division.getRHS()) : AffineConstantExpr();
    bool floors = divisor && affineExpr.getKind() == AffineExprKind::FloorDiv; // (x + v c) floordiv c is shorter
    result.affineExpr =
        floors ? (division.getLHS() + value * divisor.getValue()).floorDiv(divisor) : affineExpr + value;
  }
  for (TileBound &term : result.boundTerms)
    term = term.plus(value);
  return result;
}

/// One affine.apply, affine.min or affine.max over the leaves, folded with what defines the symbols.
static Value materializeMap(OpBuilder &builder, Location loc, TileBound::Kind kind, ArrayRef<AffineExpr> leaves,
                            ValueRange symbols) {
  AffineMap map = AffineMap::get(0, symbols.size(), leaves, builder.getContext());
  SmallVector<OpFoldResult> operands(symbols.begin(), symbols.end());
  OpFoldResult result = leaves.size() == 1 ? affine::makeComposedFoldedAffineApply(builder, loc, map, operands)
                        : kind == TileBound::Kind::Min
                            ? affine::makeComposedFoldedAffineMin(builder, loc, map, operands)
                            : affine::makeComposedFoldedAffineMax(builder, loc, map, operands);
  return getValueOrCreateConstantIndexOp(builder, loc, result);
}

Value TileBound::materialize(OpBuilder &builder, Location loc, ValueRange symbols) const {
  if (boundKind == Kind::Affine)
    return materializeMap(builder, loc, boundKind, {affineExpr}, symbols);
  if (boundKind == Kind::Guarded) {
    Value zero = arith::ConstantIndexOp::create(builder, loc, 0), condition;
    for (AffineExpr guard : boundGuards) {
      Value value = materializeMap(builder, loc, Kind::Affine, {guard}, symbols);
      Value holds = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sge, value, zero);
      condition = condition ? arith::AndIOp::create(builder, loc, condition, holds).getResult() : holds;
    }
    Value then = boundTerms[0].materialize(builder, loc, symbols);
    Value otherwise = boundTerms[1].materialize(builder, loc, symbols);
    return arith::SelectOp::create(builder, loc, condition, then, otherwise);
  }
  SmallVector<AffineExpr> leaves;
  SmallVector<Value> values;
  for (const TileBound &term : boundTerms)
    if (term.boundKind == Kind::Affine)
      leaves.push_back(term.affineExpr);
  if (!leaves.empty())
    values.push_back(materializeMap(builder, loc, boundKind, leaves, symbols));
  for (const TileBound &term : boundTerms)
    if (term.boundKind != Kind::Affine)
      values.push_back(term.materialize(builder, loc, symbols));
  Value result = values.front();
  for (Value value : ArrayRef(values).drop_front())
    result = boundKind == Kind::Min ? arith::MinSIOp::create(builder, loc, result, value).getResult()
                                    : arith::MaxSIOp::create(builder, loc, result, value).getResult();
  return result;
}
