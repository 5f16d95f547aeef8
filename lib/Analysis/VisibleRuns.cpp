// Visible key tiles: one span per disjunct, grouped so that no group has a gap, groups in ascending order.
#include "BoundFormula.h"
#include "MaskBoundsParts.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::fa;

namespace {
using Group = SmallVector<KeySpan, 2>;

class RunBuilder {
public:
  RunBuilder(TileSystem &system, MaskBounds &bounds) : system(system), bounds(bounds) {}

  void run() {
    std::vector<Group> groups = sortGroups(groupWithoutGaps(computeSpans()));
    for (const Group &group : groups)
      bounds.runs.push_back(makeRun(group, groups.size() > 1));
  }

private:
  TileSystem &system;
  MaskBounds &bounds;

  void loseExactness(const char *note) {
    bounds.visibleExact = false;
    if (!llvm::is_contained(bounds.notes, note))
      bounds.notes.push_back(note);
  }

  Group computeSpans() {
    MaskPredicate::NormalForm form = system.lift(system.problem.mask.mayHold()).normalForm();
    if (!form.exact)
      loseExactness(kNormalFormNote);
    Group spans;
    for (const MaskPredicate::Conjunction &conjunction : form.disjuncts) {
      KeySpan span = computeKeySpan(system, conjunction);
      if (span.neverHolds())
        continue;
      if (!span.exact)
        loseExactness(kEliminationNote);
      spans.push_back(std::move(span));
    }
    return spans;
  }

  /// A group is a clique of "no gap between": the relation is not transitive, for the span in the middle may
  /// be empty.
  std::vector<Group> groupWithoutGaps(const Group &spans) {
    std::vector<Group> groups;
    for (const KeySpan &span : spans) {
      auto joins = [&](const Group &group) {
        return llvm::all_of(group, [&](const KeySpan &member) {
          return !mayLeaveGap(system, member, span) && !mayLeaveGap(system, span, member);
        });
      };
      auto it = llvm::find_if(groups, joins);
      if (it == groups.end())
        groups.push_back({span});
      else
        it->push_back(span);
    }
    return groups;
  }

  bool mayStartBelowGroup(const Group &a, const Group &b) {
    return llvm::any_of(a, [&](const KeySpan &x) {
      return llvm::any_of(b, [&](const KeySpan &y) { return mayStartBelow(system, x, y); });
    });
  }

  /// Ascending by first tile. Where that order depends on the sizes, the rest becomes one group, gaps kept.
  std::vector<Group> sortGroups(std::vector<Group> groups) {
    std::vector<Group> sorted;
    while (!groups.empty()) {
      auto isFirst = [&](const Group &group) {
        return llvm::none_of(groups,
                             [&](const Group &other) { return &other != &group && mayStartBelowGroup(other, group); });
      };
      auto first = llvm::find_if(groups, isFirst);
      if (first == groups.end()) {
        loseExactness("the order of the visible key ranges depends on the sizes: the tiles between them are kept");
        Group hull;
        for (Group &group : groups)
          hull.append(group.begin(), group.end());
        sorted.push_back(std::move(hull));
        break;
      }
      sorted.push_back(std::move(*first));
      groups.erase(first);
    }
    return sorted;
  }

  TileRun makeRun(const Group &group, bool severalRuns) {
    int64_t tile = system.keyTile();
    TileBound none = TileBound::affine(system.constant(0));
    TileBound numTiles = TileBound::affine((system.sk + (tile - 1)).floorDiv(tile));
    // An empty span must not move the hull of its group; it cannot when all spans share one end.
    bool single = group.size() == 1;
    auto shared = [&](auto end) {
      return llvm::all_of(group, [&](const KeySpan &span) { return span.*end == group.front().*end; });
    };
    bool guardEmpty = !single && !shared(&KeySpan::lower) && !shared(&KeySpan::upper);
    std::vector<TileBound> lower, upper, cover;
    for (const KeySpan &span : group) {
      SmallVector<AffineExpr> guards = allGuards(system, span, guardEmpty);
      lower.push_back(single ? span.firstTile(tile) : TileBound::guarded(guards, span.firstTile(tile), numTiles));
      upper.push_back(TileBound::guarded(guards, span.endTile(tile), none));
      if (severalRuns)
        cover.push_back(TileBound::guarded(allGuards(system, span, true), span.endTile(tile), none));
    }
    TileRun run;
    run.lower = simplify(system, TileBound::min(std::move(lower)));
    if (!alwaysAtLeast(system, run.lower, none)) // may be negative where the run is empty
      run.lower = TileBound::max({none, run.lower});
    run.upper = simplify(system, TileBound::max(std::move(upper)));
    run.cover = severalRuns ? TileBound::max(std::move(cover)) : run.upper;
    run.startsAfterCover = !bounds.runs.empty();
    return run;
  }
};
} // namespace

void fa::computeVisibleRuns(TileSystem &system, MaskBounds &bounds) { RunBuilder(system, bounds).run(); }
