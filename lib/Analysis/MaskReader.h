// The reader of a mask region: booleans become formulas, integers become guarded affine pieces. Private to
// the analysis.
#pragma once
#include "fa/Analysis/MaskRegion.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace mlir::fa {

class MaskReader {
public:
  MaskReader(Region &region, const MaskLengths &lengths);
  MaskReading read(Value yielded);

private:
  /// The value is `value` where `where` holds; the guards of one value's pieces exclude each other and one of
  /// them holds.
  struct Piece {
    MaskPredicate where;
    AffineExpr value;
  };
  using Pieces = SmallVector<Piece, 2>;
  struct Interval {
    __int128 lower, upper;
  };

  MLIRContext *context;
  const MaskLengths &lengths;
  MaskReading reading;
  llvm::DenseSet<Value> varying; // depends on i or j
  llvm::DenseMap<Value, std::optional<Pieces>> integers;
  llvm::DenseMap<Value, MaskPredicate> booleans;
  llvm::SmallVector<Interval> symbolRanges;
  llvm::DenseSet<unsigned> calculatedWith; // symbols
  unsigned depth = 0;

  void findVarying(Block &block);
  void giveUp(Operation *op, std::string reason);
  void dropUnusedOperands();

  MaskPredicate readBoolean(Value value);
  MaskPredicate readBooleanUncached(Value value);
  MaskPredicate readComparison(Operation *op);
  std::optional<MaskPredicate> readRemainderIsZero(Operation *op);

  std::optional<Pieces> readInteger(Value value);
  std::optional<Pieces> readAffine(Value value);
  std::optional<Pieces> readOperation(Operation *op);
  std::optional<Pieces> readDivision(Operation *op);
  std::optional<Pieces> readBitOperation(Operation *op);
  std::optional<Pieces> readExtremum(Operation *op, bool isMax, bool isUnsigned);
  std::optional<Pieces> readSelect(Operation *op);
  std::optional<Pieces> readAffineApply(Operation *op);
  std::optional<Pieces> readNonNegative(Value value);
  using Combine = llvm::function_ref<AffineExpr(AffineExpr, AffineExpr)>;
  std::optional<Pieces> combine(Operation *op, Combine function);
  AffineExpr symbolFor(Value value, Interval range);
  std::optional<AffineExpr> lengthFor(Value value);

  void noteCalculation(Operation *op, const Pieces &pieces);
  Interval rangeOf(AffineExpr expr);
  static Interval rangeOf(Type type);
  bool isNonNegative(AffineExpr expr);
  bool fits(const Pieces &pieces, Type type);
};

} // namespace mlir::fa
