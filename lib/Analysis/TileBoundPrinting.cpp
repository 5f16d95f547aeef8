// Tile bounds in the form a person writes them, for remarks and documentation.
#include "fa/Analysis/TileBound.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mlir::fa;

namespace {
/// One term of a sum: factor * atom (no atom: the constant).
struct Term {
  int64_t factor;
  AffineExpr atom;
};
} // namespace

static void addTerm(SmallVectorImpl<Term> &terms, int64_t factor, AffineExpr atom) {
  auto same = llvm::find_if(terms, [&](const Term &term) { return term.atom == atom; });
  if (same == terms.end())
    terms.push_back({factor, atom});
  else
    same->factor += factor;
}

static void collectTerms(AffineExpr expr, int64_t factor, SmallVectorImpl<Term> &terms) {
  if (auto value = dyn_cast<AffineConstantExpr>(expr)) {
    addTerm(terms, factor * value.getValue(), {});
    return;
  }
  if (auto binary = dyn_cast<AffineBinaryOpExpr>(expr)) {
    if (expr.getKind() == AffineExprKind::Add) {
      collectTerms(binary.getLHS(), factor, terms);
      collectTerms(binary.getRHS(), factor, terms);
      return;
    }
    auto value = dyn_cast<AffineConstantExpr>(binary.getRHS());
    if (expr.getKind() == AffineExprKind::Mul && value) {
      collectTerms(binary.getLHS(), factor * value.getValue(), terms);
      return;
    }
  }
  addTerm(terms, factor, expr);
}

static void printAtom(raw_ostream &os, AffineExpr expr, ArrayRef<std::string> names) {
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr); symbol && symbol.getPosition() < names.size()) {
    os << names[symbol.getPosition()];
    return;
  }
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary) {
    os << expr;
    return;
  }
  auto printOperand = [&](AffineExpr operand) {
    bool simple = !isa<AffineBinaryOpExpr>(operand);
    os << (simple ? "" : "(");
    printAffine(os, operand, names);
    os << (simple ? "" : ")");
  };
  printOperand(binary.getLHS());
  switch (expr.getKind()) {
  case AffineExprKind::FloorDiv:
    os << " floordiv ";
    break;
  case AffineExprKind::CeilDiv:
    os << " ceildiv ";
    break;
  case AffineExprKind::Mod:
    os << " mod ";
    break;
  default:
    os << " * ";
    break;
  }
  printOperand(binary.getRHS());
}

static void printTerms(raw_ostream &os, ArrayRef<Term> terms, ArrayRef<std::string> names) {
  if (terms.empty())
    os << 0;
  bool first = true;
  for (const Term &term : terms) {
    bool negative = term.factor < 0;
    uint64_t factor = negative ? 0 - static_cast<uint64_t>(term.factor) : term.factor;
    os << (first ? (negative ? "-" : "") : (negative ? " - " : " + "));
    first = false;
    if (!term.atom) {
      os << factor;
      continue;
    }
    if (factor != 1)
      os << factor << " * ";
    bool parenthesize = isa<AffineBinaryOpExpr>(term.atom) && (factor != 1 || terms.size() > 1);
    os << (parenthesize ? "(" : "");
    printAtom(os, term.atom, names);
    os << (parenthesize ? ")" : "");
  }
}

/// A positive term first, the constant last.
static SmallVector<Term> sortedTerms(AffineExpr expr) {
  SmallVector<Term> terms;
  collectTerms(expr, 1, terms);
  llvm::stable_sort(terms, [](const Term &a, const Term &b) {
    auto rank = [](const Term &t) { return !t.atom ? 2 : t.factor < 0 ? 1 : 0; };
    return rank(a) < rank(b);
  });
  llvm::erase_if(terms, [](const Term &term) { return term.factor == 0; });
  return terms;
}

void fa::printAffine(raw_ostream &os, AffineExpr expr, ArrayRef<std::string> names) {
  printTerms(os, sortedTerms(expr), names);
}

void fa::printAtLeastZero(raw_ostream &os, AffineExpr expr, ArrayRef<std::string> names) {
  SmallVector<Term> positive, negative;
  int64_t constant = 0;
  for (Term term : sortedTerms(expr)) {
    if (!term.atom)
      constant = term.factor;
    else if (term.factor > 0)
      positive.push_back(term);
    else
      negative.push_back({-term.factor, term.atom});
  }
  if (positive.empty()) { // -x + c >= 0
    printTerms(os, negative, names);
    os << " <= " << constant;
    return;
  }
  bool strict = constant == -1 && !negative.empty();
  if (constant > 0)
    positive.push_back({constant, {}});
  else if (constant < 0 && !strict)
    negative.push_back({-constant, {}});
  printTerms(os, positive, names);
  os << (strict ? " > " : " >= ");
  printTerms(os, negative, names);
}

void TileBound::print(raw_ostream &os, ArrayRef<std::string> names) const {
  auto printTerm = [&](const TileBound &term) { term.print(os, names); };
  switch (boundKind) {
  case Kind::Affine:
    printAffine(os, affineExpr, names);
    return;
  case Kind::Min:
  case Kind::Max:
    os << (boundKind == Kind::Min ? "min(" : "max(");
    llvm::interleaveComma(boundTerms, os, printTerm);
    os << ")";
    return;
  case Kind::Guarded:
    break;
  }
  os << "(";
  auto printGuard = [&](AffineExpr guard) { printAtLeastZero(os, guard, names); };
  llvm::interleave(boundGuards, os, printGuard, " and ");
  os << " ? ";
  printTerm(boundTerms[0]);
  os << " : ";
  printTerm(boundTerms[1]);
  os << ")";
}
