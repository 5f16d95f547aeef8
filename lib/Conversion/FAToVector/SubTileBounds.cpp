// Bounds of sub-tiles from MaskAnalysis.
#include "SubTileBounds.h"

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fa::cpu;

/// Else sub-tiles have, and their vectors share them.
static bool haveVectorsBounds(const KernelShape &shape) { return shape.tileQ % shape.table.subTile() == 0; }

FailureOr<std::optional<SubTileBounds>> SubTileBounds::compute(Region &mask, const KernelShape &shape, Value query,
                                                               Value key, Value value, Location loc) {
  const int64_t rows = shape.table.subTile();
  if (shape.numSubTiles() > 1 && shape.tileQ % rows != 0)
    return std::optional<SubTileBounds>();
  auto lengthOf = [](Value tensor) -> std::optional<int64_t> {
    int64_t length = cast<MemRefType>(tensor.getType()).getDimSize(2);
    return ShapedType::isDynamic(length) ? std::nullopt : std::optional(length);
  };
  MaskLengths lengths{lengthOf(query), lengthOf(key), {query}, {key, value}};
  MaskAnalysis::Options options;
  options.queryTile = haveVectorsBounds(shape) ? shape.table.lanes : std::min(rows, shape.tileQ);
  options.keyTile = shape.table.keys;
  FailureOr<MaskAnalysis> analysis = MaskAnalysis::compute(mask, lengths, options, [&] { return emitError(loc); });
  if (failed(analysis))
    return failure();
  return std::optional(SubTileBounds(std::move(*analysis), shape));
}

namespace {

/// [lower, upper) of the segments that hold anything.
std::pair<Value, Value> hull(Emitter &e, ArrayRef<TileSegment<Value>> segments) {
  if (segments.size() == 1)
    return {segments[0].lower, segments[0].upper};
  Value lower = e.index(std::numeric_limits<int64_t>::max() / 2), upper = e.index(0);
  for (const TileSegment<Value> &segment : segments) {
    Value occupied = e.compare(arith::CmpIPredicate::slt, segment.lower, segment.upper);
    lower = e.select(occupied, e.min(lower, segment.lower), lower);
    upper = e.select(occupied, e.max(upper, segment.upper), upper);
  }
  return {lower, upper};
}

/// The longest of the full segments.
std::pair<Value, Value> longestFull(Emitter &e, ArrayRef<TileSegment<Value>> segments) {
  Value lower = e.index(0), upper = e.index(0);
  for (const TileSegment<Value> &segment : segments) {
    if (segment.kind != TileKind::Full)
      continue;
    Value longer = e.compare(arith::CmpIPredicate::sgt, e.sub(segment.upper, segment.lower), e.sub(upper, lower));
    lower = e.select(longer, segment.lower, lower);
    upper = e.select(longer, segment.upper, upper);
  }
  return {lower, upper};
}

} // namespace

SmallVector<KeyRange> SubTileBounds::emit(Emitter &e, const Position &position, Value seqQ, Value seqKv) const {
  const int64_t vectors = shape->table.queryVectors;
  Value subTile = e.add(e.mul(position.queryTile, shape->numSubTiles()), position.subTile);
  if (!haveVectorsBounds(*shape))
    return SmallVector<KeyRange>(vectors, emitRows(e, position, subTile, seqQ, seqKv));
  Value first = e.mul(subTile, vectors);
  SmallVector<KeyRange> ranges;
  for (int64_t i = 0; i < vectors; ++i)
    ranges.push_back(emitRows(e, position, e.add(first, i), seqQ, seqKv));
  return ranges;
}

KeyRange SubTileBounds::emitRows(Emitter &e, const Position &position, Value rows, Value seqQ, Value seqKv) const {
  Value zero = e.index(0);
  MaskAnalysis::Context context{position.batch, position.head, rows, seqQ, seqKv};
  MaskAnalysis::Symbols symbols = analysis.materializeSymbols(e.builder, e.loc, context);
  SmallVector<TileSegment<Value>> segments;
  for (const std::vector<TileSegment<Value>> &run : analysis.materializeRuns(e.builder, e.loc, symbols))
    segments.append(run.begin(), run.end());
  if (segments.empty())
    return {zero, zero, zero, zero};
  // A run without a gap starts at its first segment and ends with its last; its own bounds hold even where segments are
  // empty.
  auto [lower, upper] = hull(e, segments);
  auto [fullLower, fullUpper] = longestFull(e, segments);
  auto relative = [&](Value block) { return e.sub(e.mul(block, shape->table.keys), position.firstKey); };
  KeyRange range{e.max(relative(lower), zero), e.min(relative(upper), position.numKeys), relative(fullLower),
                 relative(fullUpper)};
  range.upper = e.max(range.upper, range.lower); // unrolled loops need a length that is not negative
  if (symbols.inRange) {
    range.lower = e.select(symbols.inRange, range.lower, zero);
    range.upper = e.select(symbols.inRange, range.upper, position.numKeys);
    range.fullUpper = e.select(symbols.inRange, range.fullUpper, range.fullLower);
  }
  return range;
}
