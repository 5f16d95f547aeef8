// A mask as a formula: and / or of affine comparisons over one (query, key) pair, in negation normal
// form and three-valued, so that a mask read only in part still bounds the tiles that must be visited.
#pragma once
#include "mlir/IR/AffineExpr.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace mlir::fa {

/// The variables of a mask formula.
///   d0 = i, the query position in [0, Sq)        s0 = Sq, s1 = Sk, the lengths
///   d1 = j, the key position in [0, Sk)          s2.. = operands: values independent of i and j
enum MaskSymbol : unsigned { kMaskSq = 0, kMaskSk = 1, kFirstMaskOperand = 2 };

/// Largest magnitude an affine expression may reach with every variable below 2^31; a larger one is not
/// read as affine (the integer programs behind the analysis work on 64-bit rows).
inline constexpr double kMaxAffineMagnitude = 0x1p50;

/// A formula of more nodes than this is not built: it becomes unknown (chains of xor double at every link).
inline constexpr unsigned kMaxPredicateSize = 1024;

/// An upper bound of |expr| with every dim and symbol in [-2^31, 2^31].
double affineMagnitude(AffineExpr expr);

/// The value of an affine expression; floor semantics for floordiv and mod. Divisors must be positive.
int64_t evaluateAffine(AffineExpr expr, llvm::ArrayRef<int64_t> dims, llvm::ArrayRef<int64_t> symbols);

enum class Truth { False, True, Unknown };

/// Immutable; copies share their nodes. `unknown` stands for what is not affine in i and j, for example
/// doc[i] == doc[j]: it may hold anywhere and is certain nowhere.
class MaskPredicate {
public:
  enum class Kind { True, False, Unknown, NonNegative, Zero, And, Or };

  static MaskPredicate constant(bool value);
  static MaskPredicate unknown();
  /// expr >= 0. Folds constants; unknown when affineMagnitude(expr) exceeds kMaxAffineMagnitude.
  static MaskPredicate nonNegative(AffineExpr expr);
  /// expr == 0, with the same folding.
  static MaskPredicate zero(AffineExpr expr);

  MaskPredicate operator&(const MaskPredicate &other) const { return join(Kind::And, *this, other); }
  MaskPredicate operator|(const MaskPredicate &other) const { return join(Kind::Or, *this, other); }
  /// Exact: the negation is pushed down to the comparisons. The negation of unknown is unknown.
  MaskPredicate operator!() const;

  /// A superset of the pairs (unknown becomes true): what may be visible.
  MaskPredicate mayHold() const { return replaceUnknown(true); }
  /// A subset of the pairs (unknown becomes false): what is visible for certain.
  MaskPredicate mustHold() const { return replaceUnknown(false); }
  bool hasUnknown() const;

  /// Substitutes dims (when `dims` is not empty) and symbols in every comparison.
  MaskPredicate replace(llvm::ArrayRef<AffineExpr> dims, llvm::ArrayRef<AffineExpr> symbols) const;

  /// The truth at one pair; `symbols` = {Sq, Sk, operands...}.
  Truth evaluate(int64_t i, int64_t j, llvm::ArrayRef<int64_t> symbols) const;

  /// One conjunction: every `nonNegative` is >= 0 and every `zero` is 0.
  struct Conjunction {
    llvm::SmallVector<AffineExpr, 4> nonNegative, zero;
    bool operator==(const Conjunction &) const = default;
  };
  struct NormalForm {
    std::vector<Conjunction> disjuncts;
    bool exact = true;
  };
  /// The disjunctive normal form of mayHold(). Beyond `maxDisjuncts` it gives a superset with `exact`
  /// unset: conjuncts are left out rather than multiplied. Never fails.
  NormalForm normalForm(unsigned maxDisjuncts = 64) const;

  Kind kind() const { return node->kind; }
  /// The expression of a NonNegative or Zero.
  AffineExpr expr() const { return node->expr; }
  llvm::ArrayRef<MaskPredicate> operands() const { return node->operands; }
  /// Number of nodes, shared ones counted at each use.
  unsigned size() const { return node->size; }
  void print(llvm::raw_ostream &os) const;

private:
  struct Node {
    Kind kind;
    AffineExpr expr;
    std::vector<MaskPredicate> operands;
    unsigned size = 1;
  };
  std::shared_ptr<const Node> node;

  explicit MaskPredicate(std::shared_ptr<const Node> node) : node(std::move(node)) {}
  static MaskPredicate make(Kind kind, AffineExpr expr = {}, std::vector<MaskPredicate> operands = {});
  static MaskPredicate join(Kind kind, const MaskPredicate &a, const MaskPredicate &b);
  MaskPredicate replaceUnknown(bool value) const;
};

} // namespace mlir::fa
