// The grid of query and key tiles of one head: which are skipped, which run with their mask, which without. Drawn as
// text and as SVG, and compared pair by pair with what the mask says.
#pragma once
#include "fa/Analysis/TileTrace.h"
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace mlir::fa {

/// Sizes of an attention and its tiles.
struct TileGrid {
  int64_t batch = 0, heads = 0, sq = 0, sk = 0;
  int64_t queryTile = 0, keyTile = 0;

  int64_t rows() const { return (sq + queryTile - 1) / queryTile; }
  int64_t columns() const { return (sk + keyTile - 1) / keyTile; }
};

/// The grid of the first fa.step in `root`; nothing when there is none or a size is unknown.
std::optional<TileGrid> findTileGrid(Region &root, ScalarEvaluator &evaluator);

enum class TileUse : uint8_t { Skipped, Partial, Full };

struct TileCounts {
  int64_t skipped = 0, partial = 0, full = 0;
  /// Visited tiles that hold no visible pair; known after validateTiles.
  int64_t empty = 0;

  int64_t visited() const { return partial + full; }
  int64_t all() const { return skipped + visited(); }
  TileCounts &operator+=(const TileCounts &other);
  /// `528 of 1024 tiles visited, 32 of them masked, 48.4 % of the work saved`
  std::string describe() const;
};

/// One head.
class TileMap {
public:
  explicit TileMap(const TileGrid &grid) : grid(grid), uses(grid.rows() * grid.columns(), TileUse::Skipped) {}

  const TileGrid &getGrid() const { return grid; }
  TileUse at(int64_t row, int64_t column) const { return uses[row * grid.columns() + column]; }
  void set(int64_t row, int64_t column, TileUse use) { uses[row * grid.columns() + column] = use; }
  TileCounts count() const;

  /// One character per tile (`#` full, `+` partial, `.` skipped); several tiles per character beyond `maxWidth`
  /// columns, where a character shows the most work among them.
  std::string toText(int64_t maxWidth = 100) const;
  /// A self-contained picture with a legend, the counts and the share of work saved.
  std::string toSvg(const std::string &title) const;

private:
  TileGrid grid;
  std::vector<TileUse> uses;
};

/// The maps of all heads, [batch * heads + head], from a walk of the loops in `root`. Emits an error and fails where
/// a bound is unknown, a tile lies outside the grid, or a tile is visited twice.
FailureOr<std::vector<TileMap>> traceTileMaps(Region &root, const TileGrid &grid, ScalarEvaluator &evaluator);

/// Compares the maps with the mask, pair by pair: no skipped tile holds a visible pair; no full tile holds a hidden
/// one or reaches past the keys. Counts visited tiles without a visible pair. `visible(batch, head, i, j)`. Gives the
/// first fault, naming tile and pair, or nothing.
std::optional<std::string> validateTiles(const std::vector<TileMap> &maps,
                                         const std::function<bool(int64_t, int64_t, int64_t, int64_t)> &visible,
                                         TileCounts &counts);

} // namespace mlir::fa
