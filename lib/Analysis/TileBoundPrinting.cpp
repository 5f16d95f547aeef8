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

void fa::printAffine(raw_ostream &os, AffineExpr expr, ArrayRef<std::string> names) {
  SmallVector<Term> terms;
  collectTerms(expr, 1, terms);
  // A positive term first, the constant last.
  llvm::stable_sort(terms, [](const Term &a, const Term &b) {
    auto rank = [](const Term &t) { return !t.atom ? 2 : t.factor < 0 ? 1 : 0; };
    return rank(a) < rank(b);
  });
  llvm::erase_if(terms, [](const Term &term) { return term.factor == 0; });
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
  auto printGuard = [&](AffineExpr guard) {
    printAffine(os, guard, names);
    os << " >= 0";
  };
  llvm::interleave(boundGuards, os, printGuard, " and ");
  os << " ? ";
  printTerm(boundTerms[0]);
  os << " : ";
  printTerm(boundTerms[1]);
  os << ")";
}
