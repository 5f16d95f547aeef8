// Which key tiles a query tile must visit and which of them are fully visible, as symbolic bounds. Derived
// by exact Fourier-Motzkin elimination from the mask's formula (docs/MaskAnalysis.md).
#pragma once
#include "fa/Analysis/TileBound.h"
#include "fa/Analysis/TileProblem.h"
#include <string>
#include <vector>

namespace mlir::fa {

/// Full: every pair (i < Sq) of the tile is visible and no key is past Sk. Partial: any other visited tile.
enum class TileKind { Full, Partial };

template <typename T> struct TileSegment {
  TileKind kind;
  T lower, upper; // key tiles [lower, upper); empty when upper <= lower
};

/// Where one segment of a run ends. Its value is min(max(raw, previous cut), end of the run), with the two
/// clamps only where they are needed.
struct TileCut {
  TileBound raw;
  bool clampBelow = true, clampAbove = true;
};

/// Key tiles [lower, upper) without a gap, empty when lower >= upper. kinds[0] holds up to cuts[0], kinds[1]
/// from there to cuts[1], ..., kinds.back() to the end.
struct TileRun {
  TileBound lower, upper;
  /// `upper`, or 0 when the run is empty: the next run starts no earlier.
  TileBound cover;
  bool startsAfterCover = false;
  std::vector<TileCut> cuts;
  llvm::SmallVector<TileKind, 4> kinds;
};

struct MaskBounds {
  /// In ascending order; no tile outside them holds a visible pair.
  std::vector<TileRun> runs;
  /// Every tile of [first, second) is fully visible.
  std::vector<std::pair<TileBound, TileBound>> fullRanges;
  /// Every tile of a run holds a visible pair.
  bool visibleExact = true;
  /// Every fully visible tile lies in a Full segment.
  bool fullExact = true;
  /// Why a flag is unset, one reason each, for remarks.
  llvm::SmallVector<std::string, 2> notes;
  /// Emptiness questions that were asked.
  unsigned numQueries = 0;

  /// The bounds that hold for every mask: all tiles, none of them full.
  static MaskBounds everyTile(const TileProblem &problem, std::string note);

  /// The segments for one query tile, in ascending order, empty ones included; symbols by TileSymbol.
  std::vector<TileSegment<int64_t>> evaluate(llvm::ArrayRef<int64_t> symbols) const;
  /// Emits the bounds at the builder's position; `symbols` by TileSymbol, all of index type.
  std::vector<TileSegment<Value>> materialize(OpBuilder &builder, Location loc, ValueRange symbols) const;

  /// `key tiles [max(0, i - 8), i], full in [i - 7, i - 1]`; `key tiles none`. `names` by TileSymbol.
  void print(llvm::raw_ostream &os, llvm::ArrayRef<std::string> names) const;
};

/// Never fails: what exceeds a limit becomes a superset, with a note. The tile sizes must be positive.
MaskBounds computeMaskBounds(const TileProblem &problem);

/// The outcome of an independent proof.
enum class ProofResult { Proved, Refuted, NotDecided };

/// RemovedTiles: no visible pair lies outside the runs. FullTiles: no hidden pair lies in a full range.
enum class ProofScope { Everything, RemovedTiles, FullTiles };

/// Proves, by integer emptiness of { (i, j, k) : mask(i, j), j in tile k, k outside the bounds }, that no
/// visible pair was removed; and that no hidden pair lies in a full range. Uses nothing of how the bounds
/// were found. Refuted names a fault of the analysis; NotDecided means that a limit was met.
ProofResult proveMaskBounds(const TileProblem &problem, const MaskBounds &bounds,
                            ProofScope scope = ProofScope::Everything);

} // namespace mlir::fa
