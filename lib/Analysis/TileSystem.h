// The facts that hold for one query tile, and the question asked of them again and again: can these affine
// constraints hold together? Private to the analysis.
#pragma once
#include "fa/Analysis/TileBound.h"
#include "fa/Analysis/TileProblem.h"

namespace mlir::fa {

class TileSystem {
public:
  /// Rational: emptiness of the rational relaxation and the GCD test, microseconds, misses a few proofs (a
  /// missed proof costs a clamp or a guard, never soundness). Integer: exact, for the final proofs.
  enum class Effort { Rational, Integer };

  explicit TileSystem(const TileProblem &problem, Effort effort = Effort::Rational);

  const TileProblem &problem;
  MLIRContext *context;
  /// Tile symbols by TileSymbol; known values are constants.
  llvm::SmallVector<AffineExpr> symbols;
  /// Expressions that are >= 0 for every query tile.
  llvm::SmallVector<AffineExpr> facts;
  AffineExpr queryFirst, queryLast, sk;

  AffineExpr constant(int64_t value) const { return getAffineConstantExpr(value, context); }
  AffineExpr dim(unsigned position) const { return getAffineDimExpr(position, context); }
  /// The key tile of a per-tile test, one symbol after those of the tile.
  AffineExpr keyTileSymbol() const { return getAffineSymbolExpr(symbols.size(), context); }
  int64_t keyTile() const { return problem.keyTile; }

  /// The mask over tile symbols instead of mask symbols.
  MaskPredicate lift(const MaskPredicate &mask) const;

  /// True if no integer point satisfies every constraint (each >= 0; the facts are not added). Dims are
  /// existential. False may also mean "not known".
  bool infeasible(llvm::ArrayRef<AffineExpr> constraints, unsigned numDims) {
    return infeasible(constraints, numDims, effort);
  }
  bool infeasible(llvm::ArrayRef<AffineExpr> constraints, unsigned numDims, Effort effort);
  /// True if the facts and `given` imply expr >= 0.
  bool implied(llvm::ArrayRef<AffineExpr> given, AffineExpr expr);

  unsigned numQueries() const { return queries; }
  /// True once a limit was met: answers after it are "not known".
  bool exhausted() const { return limitMet; }

private:
  Effort effort;
  unsigned queries = 0;
  uint64_t integerWork = 0;
  bool limitMet = false;
};

} // namespace mlir::fa
