// Visible runs cut at the full ranges; evaluation, emission and printing of the result.
#include "fa/Analysis/MaskBounds.h"
#include "BoundFormula.h"
#include "MaskBoundsParts.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mlir::fa;

/// Cuts a run at every full range that may meet it.
static void cutRun(TileSystem &system, const MaskBounds &bounds, TileRun &run) {
  run.kinds.push_back(TileKind::Partial);
  for (const auto &[begin, end] : bounds.fullRanges) {
    if (bounds.runs.size() > 1 && (alwaysAtLeast(system, begin, run.upper) || alwaysAtLeast(system, run.lower, end)))
      continue;
    if (run.cuts.empty() && !run.startsAfterCover && alwaysAtLeast(system, run.lower, begin)) {
      run.kinds.back() = TileKind::Full;
    } else {
      run.cuts.push_back({begin});
      run.kinds.push_back(TileKind::Full);
    }
    if (alwaysAtLeast(system, end, run.upper))
      break;
    run.cuts.push_back({end});
    run.kinds.push_back(TileKind::Partial);
  }
  for (auto [n, cut] : llvm::enumerate(run.cuts)) {
    // Clamped from below unless above everything that the previous cut may have been clamped to.
    auto atLeast = [&](const TileBound &bound) { return alwaysAtLeast(system, cut.raw, bound); };
    cut.clampBelow =
        run.startsAfterCover || !atLeast(run.lower) ||
        !llvm::all_of(ArrayRef(run.cuts).take_front(n), [&](const TileCut &earlier) { return atLeast(earlier.raw); });
    cut.clampAbove = !alwaysAtLeast(system, run.upper, cut.raw);
  }
}

MaskBounds fa::computeMaskBounds(const TileProblem &problem) {
  TileSystem system(problem);
  MaskBounds bounds;
  if (problem.mask.hasUnknown()) {
    bounds.visibleExact = bounds.fullExact = false;
    bounds.notes.push_back("a part of the mask is not affine in the positions");
  }
  computeVisibleRuns(system, bounds);
  if (!bounds.runs.empty())
    computeFullRanges(system, bounds);
  for (TileRun &run : bounds.runs)
    cutRun(system, bounds, run);
  bounds.numQueries = system.numQueries();
  return bounds;
}

MaskBounds MaskBounds::everyTile(const TileProblem &problem, std::string note) {
  TileSystem system(problem);
  int64_t tile = problem.keyTile;
  TileRun run;
  run.lower = TileBound::affine(system.constant(0));
  run.upper = run.cover = TileBound::affine((system.sk + (tile - 1)).floorDiv(tile));
  run.kinds = {TileKind::Partial};
  MaskBounds bounds;
  bounds.runs.push_back(std::move(run));
  bounds.visibleExact = bounds.fullExact = false;
  bounds.notes.push_back(std::move(note));
  return bounds;
}

std::vector<TileSegment<int64_t>> MaskBounds::evaluate(ArrayRef<int64_t> symbols) const {
  std::vector<TileSegment<int64_t>> segments;
  int64_t cover = 0;
  for (const TileRun &run : runs) {
    int64_t begin = run.lower.evaluate(symbols), upper = run.upper.evaluate(symbols);
    if (run.startsAfterCover)
      begin = std::max(begin, cover);
    for (auto [n, kind] : llvm::enumerate(run.kinds)) {
      int64_t end = upper;
      if (n < run.cuts.size()) {
        const TileCut &cut = run.cuts[n];
        end = cut.raw.evaluate(symbols);
        end = cut.clampBelow ? std::max(end, begin) : end;
        end = cut.clampAbove ? std::min(end, upper) : end;
      }
      segments.push_back({kind, begin, end});
      begin = end;
    }
    cover = std::max(cover, run.cover.evaluate(symbols));
  }
  return segments;
}

std::vector<TileSegment<Value>> MaskBounds::materialize(OpBuilder &builder, Location loc, ValueRange symbols) const {
  std::vector<TileSegment<Value>> segments;
  auto max = [&](Value x, Value y) { return arith::MaxSIOp::create(builder, loc, x, y).getResult(); };
  Value cover;
  for (const TileRun &run : runs) {
    Value begin = run.lower.materialize(builder, loc, symbols), upper = run.upper.materialize(builder, loc, symbols);
    if (run.startsAfterCover)
      begin = max(begin, cover);
    for (auto [n, kind] : llvm::enumerate(run.kinds)) {
      Value end = upper;
      if (n < run.cuts.size()) {
        const TileCut &cut = run.cuts[n];
        end = cut.raw.materialize(builder, loc, symbols);
        end = cut.clampBelow ? max(end, begin) : end;
        end = cut.clampAbove ? arith::MinSIOp::create(builder, loc, end, upper).getResult() : end;
      }
      segments.push_back({kind, begin, end});
      begin = end;
    }
    if (&run != &runs.back()) {
      Value end = run.cover.materialize(builder, loc, symbols);
      cover = cover ? max(cover, end) : end;
    }
  }
  return segments;
}

/// `, full below X` and its variants, from the cuts of one run.
static void printFull(raw_ostream &os, const TileRun &run, ArrayRef<std::string> names) {
  if (!llvm::is_contained(run.kinds, TileKind::Full)) {
    os << ", none full";
    return;
  }
  os << (run.cuts.empty() ? ", all full" : ", full ");
  bool first = true;
  for (auto [n, kind] : llvm::enumerate(run.kinds)) {
    if (kind != TileKind::Full || run.cuts.empty())
      continue;
    os << (first ? "" : " and ");
    first = false;
    if (n == 0) {
      os << "below ";
      run.cuts[0].raw.print(os, names);
    } else if (n == run.cuts.size()) {
      os << "from ";
      run.cuts[n - 1].raw.print(os, names);
    } else {
      os << "in [";
      run.cuts[n - 1].raw.print(os, names);
      os << ", ";
      run.cuts[n].raw.plus(-1).print(os, names);
      os << "]";
    }
  }
}

void MaskBounds::print(raw_ostream &os, ArrayRef<std::string> names) const {
  os << "key tiles ";
  if (runs.empty())
    os << "none";
  for (const TileRun &run : runs) {
    os << (&run == &runs.front() ? "[" : "; then [");
    run.lower.print(os, names);
    os << ", ";
    bool guarded = run.upper.kind() == TileBound::Kind::Guarded;
    const TileBound &upper = guarded ? run.upper.terms().front() : run.upper;
    upper.plus(-1).print(os, names);
    os << "]";
    for (AffineExpr guard : run.upper.guards()) {
      os << (guard == run.upper.guards().front() ? " if " : " and ");
      printAtLeastZero(os, guard, names);
    }
    printFull(os, run, names);
  }
}
