// Fully visible key tiles: [0, Sk floordiv Bk) minus the tiles that each way of being hidden touches.
#include "BoundFormula.h"
#include "MaskBoundsParts.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::fa;

namespace {
class FullRangeBuilder {
public:
  FullRangeBuilder(TileSystem &system, MaskBounds &bounds)
      : system(system), bounds(bounds), tile(system.keyTile()), none(TileBound::affine(system.constant(0))),
        wholeTiles(TileBound::affine(system.sk.floorDiv(tile))), lower({none}), upper({wholeTiles}) {}

  void run() {
    MaskPredicate::NormalForm hidden = (!system.lift(system.problem.mask.mustHold())).normalForm();
    if (!hidden.exact)
      loseExactness(kNormalFormNote);
    for (const MaskPredicate::Conjunction &conjunction : hidden.disjuncts)
      if (!addHidden(computeKeySpan(system, conjunction)))
        return;
    if (!sortHoles()) {
      loseExactness("the order of the hidden key ranges depends on the sizes: no tile is known to be full");
      return;
    }
    cutHoles();
  }

private:
  TileSystem &system;
  MaskBounds &bounds;
  int64_t tile;
  TileBound none, wholeTiles;
  std::vector<TileBound> lower, upper; // of what no hidden span at either end touches
  std::vector<KeySpan> holes;          // hidden spans that touch neither end

  void loseExactness(const char *note) {
    bounds.fullExact = false;
    if (!llvm::is_contained(bounds.notes, note))
      bounds.notes.push_back(note);
  }

  /// False when the span hides a key of every tile.
  bool addHidden(KeySpan span) {
    if (span.neverHolds())
      return true;
    if (!span.exact)
      loseExactness("the hidden keys of a query tile are no interval");
    bool fromFirst = span.lower.size() == 1 && span.lower.front() == system.constant(0);
    bool toLast = span.upper.size() == 1 && span.upper.front() == system.sk - 1;
    if (fromFirst && toLast && span.guards.empty())
      return false;
    if (toLast)
      upper.push_back(TileBound::guarded(span.guards, span.firstTile(tile), wholeTiles));
    else if (fromFirst)
      lower.push_back(TileBound::guarded(span.guards, span.endTile(tile), none));
    else
      holes.push_back(std::move(span));
    return true;
  }

  /// Ascending by first tile; false where that order depends on the sizes.
  bool sortHoles() {
    std::vector<KeySpan> sorted;
    while (!holes.empty()) {
      auto isFirst = [&](const KeySpan &hole) {
        return llvm::none_of(
            holes, [&](const KeySpan &other) { return &other != &hole && mayStartBelow(system, other, hole); });
      };
      auto first = llvm::find_if(holes, isFirst);
      if (first == holes.end())
        return false;
      sorted.push_back(std::move(*first));
      holes.erase(first);
    }
    holes = std::move(sorted);
    return true;
  }

  void cutHoles() {
    TileBound begin = simplify(system, TileBound::max(lower)), end = simplify(system, TileBound::min(upper));
    // A range ends before the next hole and every later one: the next may be empty when a later one is not.
    std::vector<TileBound> ends(holes.size() + 1, end);
    for (size_t n = holes.size(); n-- > 0;) {
      const KeySpan &hole = holes[n];
      ends[n] = TileBound::min(
          {ends[n + 1], TileBound::guarded(allGuards(system, hole, false), hole.firstTile(tile), wholeTiles)});
    }
    for (auto [n, hole] : llvm::enumerate(holes)) {
      addRange(begin, ends[n]);
      begin = TileBound::max({begin, TileBound::guarded(allGuards(system, hole, true), hole.endTile(tile), none)});
    }
    addRange(begin, end);
  }

  void addRange(const TileBound &begin, const TileBound &end) {
    if (!alwaysAtLeast(system, begin, end))
      bounds.fullRanges.push_back({begin, end});
  }
};
} // namespace

void fa::computeFullRanges(TileSystem &system, MaskBounds &bounds) { FullRangeBuilder(system, bounds).run(); }
