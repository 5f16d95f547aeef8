// Tile maps: from a trace, and against the mask.
#include "fa/Analysis/TileMap.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace mlir::fa;

std::optional<TileGrid> fa::findTileGrid(Region &root, ScalarEvaluator &evaluator) {
  StepOp step;
  root.walk([&](StepOp op) {
    step = op;
    return WalkResult::interrupt();
  });
  if (!step)
    return std::nullopt;
  auto sizeOf = [&](Value buffer, int64_t dim) -> int64_t {
    auto type = cast<MemRefType>(buffer.getType());
    if (!type.isDynamicDim(dim))
      return type.getDimSize(dim);
    FailureOr<int64_t> size = evaluator.sizeOf ? evaluator.sizeOf(buffer, dim) : FailureOr<int64_t>(failure());
    return succeeded(size) ? *size : -1;
  };
  TileGrid grid{sizeOf(step.getQuery(), 0), sizeOf(step.getQuery(), 1),          sizeOf(step.getQuery(), 2),
                sizeOf(step.getKey(), 2),   step.getState().getType().getRows(), int64_t(step.getTileKv())};
  bool known = grid.batch >= 0 && grid.heads >= 0 && grid.sq >= 0 && grid.sk >= 0;
  return known ? std::optional(grid) : std::nullopt;
}

TileCounts &TileCounts::operator+=(const TileCounts &other) {
  skipped += other.skipped;
  partial += other.partial;
  full += other.full;
  empty += other.empty;
  return *this;
}

std::string TileCounts::describe() const {
  double saved = all() ? 100.0 * skipped / all() : 0;
  return llvm::formatv("{0} of {1} tiles visited, {2} of them masked, {3:F1} % of the work saved", visited(), all(),
                       partial, saved)
      .str();
}

TileCounts TileMap::count() const {
  TileCounts counts;
  for (TileUse use : uses)
    ++(use == TileUse::Full ? counts.full : use == TileUse::Partial ? counts.partial : counts.skipped);
  return counts;
}

FailureOr<std::vector<TileMap>> fa::traceTileMaps(Region &root, const TileGrid &grid, ScalarEvaluator &evaluator) {
  std::vector<TileMap> maps(grid.batch * grid.heads, TileMap(grid));
  LogicalResult result = traceTiles(root, evaluator, [&](const VisitedTile &tile) -> LogicalResult {
    StepOp step = tile.step;
    bool inside = tile.batch >= 0 && tile.batch < grid.batch && tile.head >= 0 && tile.head < grid.heads &&
                  tile.queryTile >= 0 && tile.queryTile < grid.rows() && tile.keyTile >= 0 &&
                  tile.keyTile < grid.columns();
    if (!inside)
      return step.emitError("expected a tile within the grid of ")
             << grid.rows() << " by " << grid.columns() << " tiles, but got query tile " << tile.queryTile
             << ", key tile " << tile.keyTile << " of batch " << tile.batch << ", head " << tile.head;
    TileMap &map = maps[tile.batch * grid.heads + tile.head];
    if (map.at(tile.queryTile, tile.keyTile) != TileUse::Skipped)
      return step.emitError("expected every tile to be visited once, but query tile ")
             << tile.queryTile << " visits key tile " << tile.keyTile << " of batch " << tile.batch << ", head "
             << tile.head << " again";
    map.set(tile.queryTile, tile.keyTile, step.getFull() ? TileUse::Full : TileUse::Partial);
    return success();
  });
  if (failed(result))
    return failure();
  return maps;
}

std::optional<std::string> fa::validateTiles(const std::vector<TileMap> &maps,
                                             const std::function<bool(int64_t, int64_t, int64_t, int64_t)> &visible,
                                             TileCounts &counts) {
  for (size_t n = 0; n < maps.size(); ++n) {
    const TileMap &map = maps[n];
    const TileGrid &grid = map.getGrid();
    int64_t batch = n / grid.heads, head = n % grid.heads;
    for (int64_t row = 0; row < grid.rows(); ++row)
      for (int64_t column = 0; column < grid.columns(); ++column) {
        TileUse use = map.at(row, column);
        std::string tile =
            llvm::formatv("query tile {0}, key tile {1} of batch {2}, head {3}", row, column, batch, head);
        if (use == TileUse::Full && (column + 1) * grid.keyTile > grid.sk)
          return tile + llvm::formatv(" runs without a mask, but reaches past the {0} keys", grid.sk).str();
        bool any = false;
        for (int64_t i = row * grid.queryTile; i < std::min(grid.sq, (row + 1) * grid.queryTile); ++i)
          for (int64_t j = column * grid.keyTile; j < std::min(grid.sk, (column + 1) * grid.keyTile); ++j) {
            bool sees = visible(batch, head, i, j);
            any |= sees;
            if (sees && use == TileUse::Skipped)
              return tile + llvm::formatv(" was removed, but query {0} sees key {1}", i, j).str();
            if (!sees && use == TileUse::Full)
              return tile + llvm::formatv(" runs without a mask, but query {0} must not see key {1}", i, j).str();
          }
        counts.empty += use != TileUse::Skipped && !any;
      }
    TileCounts uses = map.count();
    counts += uses;
  }
  return std::nullopt;
}
