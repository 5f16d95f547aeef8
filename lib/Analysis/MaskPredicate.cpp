// Construction, substitution, evaluation and normal form of mask formulas.
#include "fa/Analysis/MaskPredicate.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>

using namespace mlir;
using namespace mlir::fa;

double fa::affineMagnitude(AffineExpr expr) {
  switch (expr.getKind()) {
  case AffineExprKind::Constant:
    return std::abs(static_cast<double>(cast<AffineConstantExpr>(expr).getValue()));
  case AffineExprKind::DimId:
  case AffineExprKind::SymbolId:
    return 0x1p31;
  default:
    break;
  }
  auto binary = cast<AffineBinaryOpExpr>(expr);
  double lhs = affineMagnitude(binary.getLHS()), rhs = affineMagnitude(binary.getRHS());
  switch (expr.getKind()) {
  case AffineExprKind::Add:
    return lhs + rhs;
  case AffineExprKind::Mul:
    return lhs * rhs;
  default: // a division also multiplies its quotient by the divisor in the rows it adds
    return std::max(lhs, rhs) + rhs;
  }
}

int64_t fa::evaluateAffine(AffineExpr expr, ArrayRef<int64_t> dims, ArrayRef<int64_t> symbols) {
  switch (expr.getKind()) {
  case AffineExprKind::Constant:
    return cast<AffineConstantExpr>(expr).getValue();
  case AffineExprKind::DimId:
    return dims[cast<AffineDimExpr>(expr).getPosition()];
  case AffineExprKind::SymbolId:
    return symbols[cast<AffineSymbolExpr>(expr).getPosition()];
  default:
    break;
  }
  auto binary = cast<AffineBinaryOpExpr>(expr);
  int64_t lhs = evaluateAffine(binary.getLHS(), dims, symbols);
  int64_t rhs = evaluateAffine(binary.getRHS(), dims, symbols);
  switch (expr.getKind()) {
  case AffineExprKind::Add:
    return lhs + rhs;
  case AffineExprKind::Mul:
    return lhs * rhs;
  case AffineExprKind::FloorDiv:
    return llvm::divideFloorSigned(lhs, rhs);
  case AffineExprKind::CeilDiv:
    return llvm::divideCeilSigned(lhs, rhs);
  default:
    return llvm::mod(lhs, rhs);
  }
}

MaskPredicate MaskPredicate::make(Kind kind, AffineExpr expr, std::vector<MaskPredicate> operands) {
  unsigned size = 1;
  for (const MaskPredicate &operand : operands)
    size += operand.size();
  if (size > kMaxPredicateSize)
    return unknown();
  return MaskPredicate(std::make_shared<Node>(Node{kind, expr, std::move(operands), size}));
}

MaskPredicate MaskPredicate::constant(bool value) { return make(value ? Kind::True : Kind::False); }
MaskPredicate MaskPredicate::unknown() { return make(Kind::Unknown); }

MaskPredicate MaskPredicate::nonNegative(AffineExpr expr) {
  if (auto value = dyn_cast<AffineConstantExpr>(expr))
    return constant(value.getValue() >= 0);
  return affineMagnitude(expr) > kMaxAffineMagnitude ? unknown() : make(Kind::NonNegative, expr);
}

MaskPredicate MaskPredicate::zero(AffineExpr expr) {
  if (auto value = dyn_cast<AffineConstantExpr>(expr))
    return constant(value.getValue() == 0);
  return affineMagnitude(expr) > kMaxAffineMagnitude ? unknown() : make(Kind::Zero, expr);
}

/// Flattens nested nodes of the same kind and folds the neutral and the absorbing constant.
MaskPredicate MaskPredicate::join(Kind kind, const MaskPredicate &a, const MaskPredicate &b) {
  Kind neutral = kind == Kind::And ? Kind::True : Kind::False;
  Kind absorbing = kind == Kind::And ? Kind::False : Kind::True;
  if (a.kind() == absorbing || b.kind() == neutral)
    return a;
  if (b.kind() == absorbing || a.kind() == neutral)
    return b;
  std::vector<MaskPredicate> operands;
  for (const MaskPredicate *side : {&a, &b}) {
    if (side->kind() == kind)
      operands.insert(operands.end(), side->operands().begin(), side->operands().end());
    else
      operands.push_back(*side);
  }
  return make(kind, {}, std::move(operands));
}

MaskPredicate MaskPredicate::operator!() const {
  switch (kind()) {
  case Kind::True:
    return constant(false);
  case Kind::False:
    return constant(true);
  case Kind::Unknown:
    return *this;
  case Kind::NonNegative:
    return nonNegative(-expr() - 1);
  case Kind::Zero:
    return nonNegative(expr() - 1) | nonNegative(-expr() - 1);
  case Kind::And:
  case Kind::Or:
    break;
  }
  MaskPredicate result = constant(kind() == Kind::Or);
  for (const MaskPredicate &operand : operands())
    result = kind() == Kind::And ? result | !operand : result & !operand;
  return result;
}

MaskPredicate MaskPredicate::replaceUnknown(bool value) const {
  if (kind() == Kind::Unknown)
    return constant(value);
  if (operands().empty())
    return *this;
  MaskPredicate result = constant(kind() == Kind::And);
  for (const MaskPredicate &operand : operands())
    result = join(kind(), result, operand.replaceUnknown(value));
  return result;
}

bool MaskPredicate::hasUnknown() const {
  return kind() == Kind::Unknown ||
         llvm::any_of(operands(), [](const MaskPredicate &operand) { return operand.hasUnknown(); });
}

MaskPredicate MaskPredicate::replace(ArrayRef<AffineExpr> dims, ArrayRef<AffineExpr> symbols) const {
  if (kind() == Kind::NonNegative || kind() == Kind::Zero) {
    AffineExpr e = dims.empty() ? expr().replaceSymbols(symbols) : expr().replaceDimsAndSymbols(dims, symbols);
    return kind() == Kind::Zero ? zero(e) : nonNegative(e);
  }
  if (operands().empty())
    return *this;
  MaskPredicate result = constant(kind() == Kind::And);
  for (const MaskPredicate &operand : operands())
    result = join(kind(), result, operand.replace(dims, symbols));
  return result;
}

Truth MaskPredicate::evaluate(int64_t i, int64_t j, ArrayRef<int64_t> symbols) const {
  auto truth = [](bool value) { return value ? Truth::True : Truth::False; };
  switch (kind()) {
  case Kind::True:
    return Truth::True;
  case Kind::False:
    return Truth::False;
  case Kind::Unknown:
    return Truth::Unknown;
  case Kind::NonNegative:
    return truth(evaluateAffine(expr(), {i, j}, symbols) >= 0);
  case Kind::Zero:
    return truth(evaluateAffine(expr(), {i, j}, symbols) == 0);
  case Kind::And:
  case Kind::Or:
    break;
  }
  Truth neutral = truth(kind() == Kind::And), result = neutral;
  for (const MaskPredicate &operand : operands()) {
    Truth value = operand.evaluate(i, j, symbols);
    if (value == Truth::Unknown)
      result = Truth::Unknown;
    else if (value != neutral)
      return value;
  }
  return result;
}

namespace {
using Conjunction = MaskPredicate::Conjunction;
using NormalForm = MaskPredicate::NormalForm;

bool contains(const Conjunction &big, const Conjunction &small) {
  auto all = [](auto &part, auto &whole) {
    return llvm::all_of(part, [&](AffineExpr e) { return llvm::is_contained(whole, e); });
  };
  return all(small.nonNegative, big.nonNegative) && all(small.zero, big.zero);
}

/// Adds a disjunct unless a weaker one is there; drops the stronger ones it absorbs.
void addDisjunct(std::vector<Conjunction> &disjuncts, Conjunction conjunction) {
  if (llvm::any_of(disjuncts, [&](const Conjunction &d) { return contains(conjunction, d); }))
    return;
  llvm::erase_if(disjuncts, [&](const Conjunction &d) { return contains(d, conjunction); });
  disjuncts.push_back(std::move(conjunction));
}

Conjunction conjoin(const Conjunction &a, const Conjunction &b) {
  Conjunction result = a;
  for (AffineExpr e : b.nonNegative)
    if (!llvm::is_contained(result.nonNegative, e))
      result.nonNegative.push_back(e);
  for (AffineExpr e : b.zero)
    if (!llvm::is_contained(result.zero, e))
      result.zero.push_back(e);
  return result;
}
} // namespace

NormalForm MaskPredicate::normalForm(unsigned maxDisjuncts) const {
  switch (kind()) {
  case Kind::False:
    return {};
  case Kind::True:
    return {{Conjunction{}}, true};
  case Kind::Unknown:
    return {{Conjunction{}}, false};
  case Kind::NonNegative:
    return {{Conjunction{{expr()}, {}}}, true};
  case Kind::Zero:
    return {{Conjunction{{}, {expr()}}}, true};
  case Kind::Or: {
    NormalForm result;
    for (const MaskPredicate &operand : operands()) {
      NormalForm part = operand.normalForm(maxDisjuncts);
      result.exact &= part.exact;
      for (Conjunction &c : part.disjuncts)
        addDisjunct(result.disjuncts, std::move(c));
    }
    return result.disjuncts.size() > maxDisjuncts ? NormalForm{{Conjunction{}}, false} : result;
  }
  case Kind::And:
    break;
  }
  std::vector<NormalForm> parts;
  for (const MaskPredicate &operand : operands())
    parts.push_back(operand.normalForm(maxDisjuncts));
  // Small factors first: what no longer fits under the limit is then the widest union.
  llvm::stable_sort(parts, [](auto &x, auto &y) { return x.disjuncts.size() < y.disjuncts.size(); });
  NormalForm result{{Conjunction{}}, true};
  for (NormalForm &part : parts) {
    result.exact &= part.exact;
    std::vector<Conjunction> product;
    if (result.disjuncts.size() * part.disjuncts.size() > 4 * size_t(maxDisjuncts)) {
      result.exact = false;
      continue;
    }
    for (const Conjunction &x : result.disjuncts)
      for (const Conjunction &y : part.disjuncts)
        addDisjunct(product, conjoin(x, y));
    if (product.size() > maxDisjuncts)
      result.exact = false;
    else
      result.disjuncts = std::move(product);
  }
  return result;
}

void MaskPredicate::print(raw_ostream &os) const {
  switch (kind()) {
  case Kind::True:
    os << "true";
    return;
  case Kind::False:
    os << "false";
    return;
  case Kind::Unknown:
    os << "?";
    return;
  case Kind::NonNegative:
    os << expr() << " >= 0";
    return;
  case Kind::Zero:
    os << expr() << " == 0";
    return;
  case Kind::And:
  case Kind::Or:
    break;
  }
  os << "(";
  llvm::interleave(
      operands(), os, [&](const MaskPredicate &operand) { operand.print(os); }, kind() == Kind::And ? " and " : " or ");
  os << ")";
}
