// The bound of a key-tile loop as an expression: min / max / guarded choice over affine leaves. It can be
// evaluated, printed for people, and materialised as affine and arith operations.
#pragma once
#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/Builders.h"
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace mlir::fa {

/// The symbols of every tile-level expression, as AffineSymbolExpr:
///   s0 = i, the query tile                     s2 = Sq, s3 = Sk, the lengths
///   s1 = qLast = min(i Bq + Bq, Sq) - 1        s4.. = the operands of the mask
/// qLast is a symbol of its own, so that bounds stay plain max / min of affine expressions.
enum TileSymbol : unsigned { kQueryTile = 0, kQueryLast = 1, kTileSq = 2, kTileSk = 3, kFirstTileOperand = 4 };

class TileBound {
public:
  enum class Kind { Affine, Min, Max, Guarded };

  static TileBound affine(AffineExpr expr);
  /// Flattened, deduplicated, constants folded. `terms` must not be empty.
  static TileBound min(std::vector<TileBound> terms) { return extremum(Kind::Min, std::move(terms)); }
  static TileBound max(std::vector<TileBound> terms) { return extremum(Kind::Max, std::move(terms)); }
  /// `then` where every guard is >= 0, else `otherwise`.
  static TileBound guarded(llvm::ArrayRef<AffineExpr> guards, TileBound then, TileBound otherwise);

  Kind kind() const { return boundKind; }
  AffineExpr expr() const { return affineExpr; }
  llvm::ArrayRef<TileBound> terms() const { return boundTerms; }
  llvm::ArrayRef<AffineExpr> guards() const { return boundGuards; }

  std::optional<int64_t> constant() const;
  int64_t evaluate(llvm::ArrayRef<int64_t> symbols) const;
  /// The bound plus a constant, added at the leaves.
  TileBound plus(int64_t value) const;
  /// Number of operations that materialise() emits before folding.
  unsigned size() const;
  bool operator==(const TileBound &) const;

  /// Emits the bound with the given symbols, all of index type, at the builder's position.
  Value materialize(OpBuilder &builder, Location loc, ValueRange symbols) const;
  /// `names` are the symbols as the reader should see them.
  void print(llvm::raw_ostream &os, llvm::ArrayRef<std::string> names) const;

private:
  Kind boundKind = Kind::Affine;
  AffineExpr affineExpr;
  std::vector<TileBound> boundTerms;
  llvm::SmallVector<AffineExpr, 2> boundGuards;

  static TileBound extremum(Kind kind, std::vector<TileBound> terms);
  /// True for a leaf, and for a min or max of leaves: one affine operation.
  bool isSingleMap() const;
};

/// Prints an affine expression with names for its symbols (dims print as d0, d1), sums as a reader writes
/// them: `64 * i - Sq + Sk`, `(j + 1) floordiv 8`.
void printAffine(llvm::raw_ostream &os, AffineExpr expr, llvm::ArrayRef<std::string> names);
/// Prints `expr >= 0` as a comparison of its positive and its negative part: `P > 8 * i`.
void printAtLeastZero(llvm::raw_ostream &os, AffineExpr expr, llvm::ArrayRef<std::string> names);

} // namespace mlir::fa
