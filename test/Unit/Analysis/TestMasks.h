// The masks that every test of the analysis runs over, as formulas.
#pragma once
#include "fa/Analysis/TileProblem.h"
#include <string>
#include <vector>

namespace fa::test {
using mlir::AffineExpr;
using Mask = mlir::fa::MaskPredicate;

struct TestMask {
  std::string name;
  Mask mask;
  /// Values of the operands s2, s3 to try; one empty list for a mask without operands.
  std::vector<std::vector<int64_t>> operands = {{}};
  /// What the interval bounds are expected to claim.
  bool visibleExact = true, fullExact = true;
  /// Facts about the operands, each >= 0.
  llvm::SmallVector<AffineExpr> facts = {};

  unsigned numOperands() const { return operands.front().size(); }
};

/// The variables of a mask formula.
struct MaskVariables {
  AffineExpr i, j, sq, sk, p, q;
  explicit MaskVariables(mlir::MLIRContext *context) {
    mlir::bindDims(context, i, j);
    mlir::bindSymbols(context, sq, sk, p, q);
  }
};

inline std::vector<TestMask> testMasks(mlir::MLIRContext *context) {
  MaskVariables v(context);
  auto [i, j, sq, sk, p, q] = v;
  auto constant = [&](int64_t value) { return mlir::getAffineConstantExpr(value, context); };
  auto ge = [](AffineExpr a, AffineExpr b) { return Mask::nonNegative(a - b); };
  Mask topLeft = ge(i, j), bottomRight = ge(i + sk - sq, j), unknown = Mask::unknown();
  auto window = [&](AffineExpr left, AffineExpr right, AffineExpr row) {
    return ge(j, row - left) & ge(row + right, j);
  };
  auto chunk = [&](int64_t size) { return Mask::zero(i.floorDiv(size) - j.floorDiv(size)); };
  auto dilated = [&](int64_t step) { return Mask::zero((i - j) % step); };
  Mask window53 = window(constant(5), constant(3), i);
  Mask prefix = topLeft | ge(p - 1, j);
  Mask padding = ge(p - 1, i) & ge(p - 1, j);
  Mask xorMask = (topLeft & !chunk(4)) | (!topLeft & chunk(4));
  return {
      {"all", Mask::constant(true)},
      {"none", ge(j, i + 1) & ge(i, j + 1)},
      {"single-pair", Mask::zero(i - 5) & Mask::zero(j - 9)},
      {"causal-top-left", topLeft},
      {"causal-bottom-right", bottomRight},
      {"window-5-3", window53},
      {"window-5-3-bottom-right", window(constant(5), constant(3), i + sk - sq)},
      {"window-symbolic", window(p, q, i + sk - sq), {{0, 0}, {5, 3}, {9, 0}, {0, 7}}, true, true, {p, q}},
      {"causal-and-window-7", bottomRight & ge(j, i + sk - sq - 7)},
      {"prefix-lm", prefix, {{1}, {5}, {8}, {30}}, true, true, {p - 1}},
      {"prefix-lm-both-ways", topLeft | padding, {{1}, {5}, {8}, {30}}, true, true, {p - 1}},
      {"chunk-8", chunk(8)},
      {"chunk-6", chunk(6)},
      {"causal-and-chunk-6", topLeft & chunk(6)},
      {"chunk-5-or-sink-2", chunk(5) | ge(constant(1), j)},
      {"dilated-3", dilated(3), {{}}, false, false},
      {"causal-and-dilated-3", topLeft & dilated(3), {{}}, false, false},
      {"dilated-13", dilated(13), {{}}, false, false},
      {"sink-3-or-causal-window-6", bottomRight & (ge(constant(2), j) | ge(j, i + sk - sq - 6))},
      {"not-window-5-3", !window53},
      {"not-diagonal", !Mask::zero(i - j)},
      {"causal-with-hole", topLeft & !(ge(j, constant(4)) & ge(p - 1, j)), {{4}, {9}, {20}}},
      {"padding", padding, {{1}, {5}, {17}}, true, true, {p - 1}},
      {"kv-cache-offset", ge(i + p, j), {{0}, {3}, {19}}},
      {"xor-causal-chunk-4", xorMask, {{}}, false, true},
      {"causal-and-documents", bottomRight & unknown, {{}}, false, false},
      {"window-or-documents", window53 | unknown, {{}}, false, false},
  };
}
} // namespace fa::test
