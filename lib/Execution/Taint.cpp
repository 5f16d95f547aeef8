// Visited tiles (from the kernel's own loops) times columns of value tiles that hold something infinite or NaN.
#include "Taint.h"
#include "fa/Execution/Tiles.h"
#include <cmath>

namespace fa::execution {
namespace {

/// Flags by a three-dimensional index.
struct Flags {
  int64_t rows = 0, columns = 0;
  std::vector<uint8_t> bits;

  Flags(int64_t planes, int64_t rows, int64_t columns)
      : rows(rows), columns(columns), bits(static_cast<size_t>(planes * rows * columns)) {}
  uint8_t &at(int64_t plane, int64_t row, int64_t column) {
    return bits[static_cast<size_t>((plane * rows + row) * columns + column)];
  }
};

bool holdsNonFinite(const reference::Problem &problem) {
  for (int64_t b = 0; b < problem.batch(); ++b)
    for (int64_t h = 0; h < problem.kvHeads(); ++h)
      for (int64_t j = 0; j < problem.keys(); ++j)
        for (int64_t d = 0; d < problem.depthV(); ++d)
          if (!std::isfinite(problem.value.at({b, h, j, d})))
            return true;
  return false;
}

/// [batch * kv head, key tile, column].
Flags badTiles(const reference::Problem &problem, const mlir::fa::TileGrid &grid) {
  Flags bad(problem.batch() * problem.kvHeads(), grid.columns(), problem.depthV());
  for (int64_t head = 0; head < problem.batch() * problem.kvHeads(); ++head)
    for (int64_t j = 0; j < problem.keys(); ++j)
      for (int64_t d = 0; d < problem.depthV(); ++d)
        bad.at(head, j / grid.keyTile, d) |=
            !std::isfinite(problem.value.at({head / problem.kvHeads(), head % problem.kvHeads(), j, d}));
  return bad;
}

/// [batch * head, query tile, column].
Flags taintedTiles(const reference::Problem &problem, const TracedTiles &traced) {
  const mlir::fa::TileGrid &grid = traced.grid;
  Flags bad = badTiles(problem, grid), tainted(problem.batch() * problem.heads(), grid.rows(), problem.depthV());
  const int64_t group = problem.heads() / problem.kvHeads();
  for (int64_t head = 0; head < problem.batch() * problem.heads(); ++head)
    for (int64_t row = 0; row < grid.rows(); ++row)
      for (int64_t column = 0; column < grid.columns(); ++column) {
        if (traced.maps[static_cast<size_t>(head)].at(row, column) == mlir::fa::TileUse::Skipped)
          continue;
        for (int64_t d = 0; d < problem.depthV(); ++d)
          tainted.at(head, row, d) |= bad.at(head / group, column, d);
      }
  return tainted;
}
} // namespace

Expected<reference::TaintFunction> taintOf(const Program &program, const AttentionProblem &attention,
                                           const CompileReport &report, const runtime::Bindings &bindings) {
  const reference::Problem &problem = attention.problem();
  if (report.target != "sm_90a" || !holdsNonFinite(problem))
    return reference::TaintFunction();
  CompileOptions options;
  options.schedule = report.schedule;
  Expected<TracedTiles> traced = traceTiles(program, options, report.target, bindings);
  if (!traced)
    return traced.error();
  return reference::TaintFunction([tainted = std::make_shared<Flags>(taintedTiles(problem, *traced)),
                                   heads = problem.heads(),
                                   tile = traced->grid.queryTile](int64_t b, int64_t h, int64_t i, int64_t d) {
    return tainted->at(b * heads + h, i / tile, d) != 0;
  });
}

} // namespace fa::execution
