// Reads the mask region of an attention into a formula.
#pragma once
#include "fa/Analysis/MaskPredicate.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Region.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <string>

namespace mlir::fa {

/// Lengths are taken to be below this, and operands of 64 bits to lie within [-2^40, 2^40] (a position in
/// memory): within them no bound overflows. MaskAnalysis checks the operands when the kernel runs.
inline constexpr int64_t kMaxLength = (int64_t(1) << 31) - 1;
inline constexpr int64_t kMaxOperand = int64_t(1) << 40;

/// What is known about the two sequences of an attention.
struct MaskLengths {
  /// Static lengths, where they are.
  std::optional<int64_t> sq, sk;
  /// Buffers `B x H x S x D` whose dimension 2 is Sq or Sk: their memref.dim / tensor.dim are read as lengths.
  llvm::SmallVector<Value, 2> queryBuffers, keyBuffers;
};

struct MaskReading {
  MaskPredicate predicate = MaskPredicate::unknown();
  /// s2, s3, ...: integer or index values that depend on neither i nor j; block arguments of the region (b, h),
  /// values computed in it, or captures.
  llvm::SmallVector<Value> operands;
  /// Per operand: whether the region calculates with it, rather than only compare it. Such a sum may wrap when the
  /// operand is huge, where its reading does not.
  llvm::SmallVector<bool> calculatedWith;
  /// Expressions over the symbols that are >= 0 whatever the operands hold.
  llvm::SmallVector<AffineExpr> facts;
  /// What was not read, and why, in the order of the region.
  struct Unread {
    Operation *op;
    std::string reason;
  };
  llvm::SmallVector<Unread> unread;
};

/// Reads `region`: one block with the arguments (b, h, i, j), all of index type, whose terminator yields one
/// i1. Arithmetic is read exactly or not at all: truncating division, unsigned comparison, casts and overflow
/// included. Reports an error, and fails, for a region of another shape or with side effects.
FailureOr<MaskReading> readMaskRegion(Region &region, const MaskLengths &lengths,
                                      llvm::function_ref<InFlightDiagnostic()> emitError);

} // namespace mlir::fa
