// Fourier-Motzkin elimination over the integers that knows whether it was exact. (MLIR's reports exactness
// only where every lcm is 1.) Private to the analysis.
#pragma once
#include "mlir/IR/AffineExpr.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"
#include <vector>

namespace mlir::fa {

/// Rows are [variables | symbols | constant]; an inequality says row >= 0. Symbols are affine expressions in
/// parameters; elimination may add new ones (a floordiv of a symbolic bound), which keeps chunked masks exact.
class FourierMotzkin {
public:
  using Row = llvm::SmallVector<int64_t, 12>;

  /// `implied(e)`: do the facts known about the symbols imply e >= 0?
  FourierMotzkin(unsigned numVariables, llvm::SmallVector<AffineExpr> symbols,
                 llvm::function_ref<bool(AffineExpr)> implied)
      : numVariables(numVariables), symbols(std::move(symbols)), implied(implied) {}

  void addInequality(Row row) { inequalities.push_back(std::move(row)); }
  void addEquality(Row row) { equalities.push_back(std::move(row)); }

  void eliminate(unsigned variable);
  /// Eliminates every variable of [first, last), cheapest first.
  void eliminateRange(unsigned first, unsigned last);

  /// What is left, equalities as two inequalities, every row divided by its common factor.
  std::vector<Row> takeInequalities();
  /// factor * (symbols and constant of the row) + offset.
  AffineExpr symbolPart(llvm::ArrayRef<int64_t> row, int64_t factor = 1, int64_t offset = 0) const;

  /// False once the result may be larger than the true projection (it is never smaller).
  bool isExact() const { return exact; }

private:
  unsigned numVariables;
  llvm::SmallVector<AffineExpr> symbols;
  llvm::function_ref<bool(AffineExpr)> implied;
  std::vector<Row> inequalities, equalities;
  bool exact = true;
  unsigned roundings = 0;

  bool substituteEquality(unsigned variable);
  void splitEqualities(unsigned variable);
  void roundSymbolicBounds(unsigned variable);
  void combine(const Row &lower, const Row &upper, unsigned variable, std::vector<Row> &out);
  void limitRows();
  bool hasOnlySymbols(llvm::ArrayRef<int64_t> row, unsigned except) const;
  unsigned symbolColumn(AffineExpr expr);
  long cost(unsigned variable) const;
};

} // namespace mlir::fa
