// Emission of a mask's bounds: operands cloned out of the region, lengths, segments per run.
#include "fa/Analysis/MaskAnalysis.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::fa;

/// The operations of the region that compute `values`, in order.
static SmallVector<Operation *> sliceOf(Region &region, ArrayRef<Value> values) {
  llvm::DenseSet<Value> needed(values.begin(), values.end());
  SmallVector<Operation *> slice;
  for (Operation &op : llvm::reverse(region.front())) {
    if (llvm::none_of(op.getResults(), [&](Value result) { return needed.contains(result); }))
      continue;
    slice.push_back(&op);
    op.walk([&](Operation *nested) { needed.insert(nested->operand_begin(), nested->operand_end()); });
  }
  std::reverse(slice.begin(), slice.end());
  return slice;
}

static Value toIndex(OpBuilder &builder, Location loc, Value value) {
  Type index = builder.getIndexType();
  if (value.getType().isIndex())
    return value;
  if (value.getType().isInteger(1)) // booleans count as 0 and 1
    return arith::IndexCastUIOp::create(builder, loc, index, value);
  return arith::IndexCastOp::create(builder, loc, index, value);
}

MaskAnalysis::Symbols MaskAnalysis::materializeSymbols(OpBuilder &builder, Location loc, const Context &context) const {
  Symbols symbols;
  Value outerLength = options.keyOuter ? context.sk : context.sq,
        innerLength = options.keyOuter ? context.sq : context.sk;
  AffineExpr tile = builder.getAffineSymbolExpr(0), length = builder.getAffineSymbolExpr(1);
  AffineMap last =
      AffineMap::get(0, 2, {tile * problem.queryTile + (problem.queryTile - 1), length - 1}, builder.getContext());
  OpFoldResult outerLast = affine::makeComposedFoldedAffineMin(builder, loc, last, {context.outerTile, outerLength});
  symbols.values = {context.outerTile, getValueOrCreateConstantIndexOp(builder, loc, outerLast), outerLength,
                    innerLength};
  if (reading.operands.empty())
    return symbols;
  IRMapping mapping;
  mapping.map(region->getArgument(0), context.batch);
  mapping.map(region->getArgument(1), context.head);
  for (Operation *op : sliceOf(*region, reading.operands))
    builder.clone(*op, mapping);
  for (auto [operand, kind] : llvm::zip_equal(reading.operands, safety)) {
    Value value = toIndex(builder, loc, mapping.lookupOrDefault(operand));
    if (kind != Safety::Narrow) {
      Value low = arith::ConstantIndexOp::create(builder, loc, -kMaxOperand),
            high = arith::ConstantIndexOp::create(builder, loc, kMaxOperand);
      Value clamped = arith::MinSIOp::create(builder, loc, arith::MaxSIOp::create(builder, loc, value, low), high);
      if (kind == Safety::Check) {
        Value same = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, value, clamped);
        symbols.inRange =
            symbols.inRange ? arith::AndIOp::create(builder, loc, symbols.inRange, same).getResult() : same;
      }
      value = clamped;
    }
    symbols.values.push_back(value);
  }
  return symbols;
}

std::vector<std::vector<TileSegment<Value>>> MaskAnalysis::materializeRuns(OpBuilder &builder, Location loc,
                                                                           const Symbols &symbols) const {
  std::vector<TileSegment<Value>> segments = bounds.materialize(builder, loc, symbols.values);
  std::vector<std::vector<TileSegment<Value>>> runs;
  auto next = segments.begin();
  for (const TileRun &run : bounds.runs) {
    runs.emplace_back(next, next + run.kinds.size());
    next += run.kinds.size();
  }
  if (!symbols.inRange)
    return runs;
  // An operand beyond its limit: the first partial segment takes every tile, the others none.
  AffineExpr length = builder.getAffineSymbolExpr(0);
  OpFoldResult tiles = affine::makeComposedFoldedAffineApply(
      builder, loc, AffineMap::get(0, 1, length.ceilDiv(problem.keyTile)), {symbols.values[kTileSk]});
  Value numTiles = getValueOrCreateConstantIndexOp(builder, loc, tiles),
        zero = arith::ConstantIndexOp::create(builder, loc, 0);
  if (llvm::none_of(segments, [](auto &segment) { return segment.kind == TileKind::Partial; }))
    runs.push_back({{TileKind::Partial, zero, zero}});
  bool taken = false;
  for (auto &run : runs)
    for (TileSegment<Value> &segment : run) {
      bool takes = !taken && segment.kind == TileKind::Partial;
      taken |= takes;
      segment.lower = arith::SelectOp::create(builder, loc, symbols.inRange, segment.lower, zero);
      segment.upper = arith::SelectOp::create(builder, loc, symbols.inRange, segment.upper, takes ? numTiles : zero);
    }
  return runs;
}

Value MaskAnalysis::materializeTest(OpBuilder &builder, Location loc, const Symbols &symbols, Value tile) const {
  SmallVector<Value> values(symbols.values);
  values.push_back(tile);
  Value visible = test.materializeVisible(builder, loc, values);
  if (!symbols.inRange)
    return visible;
  Value yes = arith::ConstantIntOp::create(builder, loc, 1, 1);
  return arith::SelectOp::create(builder, loc, symbols.inRange, visible, yes);
}
