// Pictures of tile maps: characters for a terminal, SVG for everything else.
#include "fa/Analysis/TileMap.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mlir::fa;

namespace {
struct Look {
  TileUse use;
  char character;
  const char *fill, *name;
};
constexpr Look kLooks[] = {{TileUse::Full, '#', "#2b6cb0", "full: no mask"},
                           {TileUse::Partial, '+', "#f6ad55", "partial: masked"},
                           {TileUse::Skipped, '.', "#edf2f7", "skipped"}};
constexpr double kGridSize = 480, kMargin = 56, kLegendWidth = 250;

const Look &lookOf(TileUse use) {
  for (const Look &look : kLooks)
    if (look.use == use)
      return look;
  return kLooks[2];
}
} // namespace

static std::string escape(const std::string &text) {
  std::string result;
  for (char c : text) {
    if (c == '&')
      result += "&amp;";
    else if (c == '<')
      result += "&lt;";
    else if (c == '>')
      result += "&gt;";
    else
      result += c;
  }
  return result;
}

std::string TileMap::toText(int64_t maxWidth) const {
  int64_t scale = std::max<int64_t>(1, (grid.columns() + maxWidth - 1) / maxWidth);
  std::string text;
  for (int64_t row = 0; row < grid.rows(); row += scale) {
    for (int64_t column = 0; column < grid.columns(); column += scale) {
      TileUse most = TileUse::Skipped;
      bool allFull = true;
      for (int64_t r = row; r < std::min(row + scale, grid.rows()); ++r)
        for (int64_t c = column; c < std::min(column + scale, grid.columns()); ++c) {
          most = std::max(most, at(r, c));
          allFull &= at(r, c) == TileUse::Full;
        }
      text += lookOf(most == TileUse::Full && !allFull ? TileUse::Partial : most).character;
    }
    text += '\n';
  }
  std::string unit = scale == 1 ? "a tile" : llvm::formatv("{0} x {0} tiles", scale).str();
  return text + llvm::formatv("# full, + partial, . skipped; a character is {0} of {1} queries x {2} keys\n", unit,
                              grid.queryTile, grid.keyTile)
                    .str();
}

/// Tick labels at about eight places along an axis of `length` positions.
static void drawAxis(raw_ostream &os, int64_t length, bool horizontal, double extent, double originX, double originY) {
  if (length < 1)
    return;
  int64_t step = 1;
  while (step * 8 < length)
    step *= 2;
  for (int64_t position = 0; position <= length; position += step) {
    double at = extent * position / length;
    if (horizontal)
      os << llvm::formatv("<text x=\"{0:F1}\" y=\"{1:F1}\" text-anchor=\"middle\">{2}</text>\n", originX + at,
                          originY - 8, position);
    else
      os << llvm::formatv("<text x=\"{0:F1}\" y=\"{1:F1}\" text-anchor=\"end\">{2}</text>\n", originX - 8,
                          originY + at + 4, position);
  }
}

std::string TileMap::toSvg(const std::string &title) const {
  std::string text;
  llvm::raw_string_ostream os(text);
  // Cells are true to scale: the longer sequence spans the grid, an edge tile is as thin as it is short.
  double longer = std::max<int64_t>({grid.sq, grid.sk, 1}), unit = kGridSize / longer;
  double width = std::max(grid.sk * unit, 1.0), height = std::max(grid.sq * unit, 1.0), left = kMargin + 20,
         top = kMargin + 34;
  double legend = left + width + 28, total = legend + kLegendWidth;
  os << llvm::formatv(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:F0}\" height=\"{1:F0}\" viewBox=\"0 0 {0:F0} {1:F0}\" "
      "font-family=\"Helvetica, Arial, sans-serif\" font-size=\"11\" fill=\"#2d3748\">\n",
      total, top + std::max(height, 150.0) + 24);
  os << "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n";
  os << llvm::formatv("<text x=\"16\" y=\"24\" font-size=\"15\" font-weight=\"bold\">{0}</text>\n", escape(title));
  os << llvm::formatv("<text x=\"{0:F1}\" y=\"{1:F1}\" text-anchor=\"middle\">key</text>\n", left + width / 2,
                      top - 24);
  os << llvm::formatv("<text transform=\"translate({0:F1} {1:F1}) rotate(-90)\" text-anchor=\"middle\">query</text>\n",
                      left - 46, top + height / 2);
  drawAxis(os, grid.sk, true, width, left, top);
  drawAxis(os, grid.sq, false, height, left, top);
  // Neighbours in a row that look alike are one rectangle; lines between tiles only while they can be told apart.
  for (int64_t row = 0; row < grid.rows(); ++row)
    for (int64_t column = 0; column < grid.columns();) {
      int64_t end = column + 1;
      while (end < grid.columns() && at(row, end) == at(row, column))
        ++end;
      double x0 = column * grid.keyTile * unit, x1 = std::min(end * grid.keyTile, grid.sk) * unit;
      double y0 = row * grid.queryTile * unit, y1 = std::min((row + 1) * grid.queryTile, grid.sq) * unit;
      os << llvm::formatv("<rect x=\"{0:F2}\" y=\"{1:F2}\" width=\"{2:F2}\" height=\"{3:F2}\" fill=\"{4}\"/>\n",
                          left + x0, top + y0, x1 - x0, y1 - y0, lookOf(at(row, column)).fill);
      column = end;
    }
  os << "<g stroke=\"white\" stroke-width=\"1\">\n";
  if (grid.keyTile * unit >= 5)
    for (int64_t column = 1; column < grid.columns(); ++column)
      os << llvm::formatv("<line x1=\"{0:F2}\" y1=\"{1:F2}\" x2=\"{0:F2}\" y2=\"{2:F2}\"/>\n",
                          left + column * grid.keyTile * unit, top, top + height);
  if (grid.queryTile * unit >= 5)
    for (int64_t row = 1; row < grid.rows(); ++row)
      os << llvm::formatv("<line x1=\"{0:F2}\" y1=\"{1:F2}\" x2=\"{2:F2}\" y2=\"{1:F2}\"/>\n", left,
                          top + row * grid.queryTile * unit, left + width);
  os << "</g>\n";
  os << llvm::formatv(
      "<rect x=\"{0:F2}\" y=\"{1:F2}\" width=\"{2:F2}\" height=\"{3:F2}\" fill=\"none\" stroke=\"#718096\"/>\n", left,
      top, width, height);
  TileCounts counts = count();
  int64_t numbers[] = {counts.full, counts.partial, counts.skipped};
  double y = top + 10;
  for (auto [look, number] : llvm::zip_equal(kLooks, numbers)) {
    os << llvm::formatv("<rect x=\"{0:F1}\" y=\"{1:F1}\" width=\"14\" height=\"14\" fill=\"{2}\" stroke=\"#a0aec0\" "
                        "stroke-width=\"0.5\"/>\n",
                        legend, y - 11, look.fill);
    os << llvm::formatv("<text x=\"{0:F1}\" y=\"{1:F1}\">{2} ({3})</text>\n", legend + 22, y, look.name, number);
    y += 22;
  }
  double share = counts.all() ? 100.0 * counts.skipped / counts.all() : 0;
  std::string lines[] = {llvm::formatv("{0} of {1} tiles visited", counts.visited(), counts.all()),
                         llvm::formatv("{0:F1} % of the work saved", share),
                         llvm::formatv("tiles of {0} queries x {1} keys", grid.queryTile, grid.keyTile)};
  y += 8;
  for (const std::string &line : lines) {
    os << llvm::formatv("<text x=\"{0:F1}\" y=\"{1:F1}\">{2}</text>\n", legend, y, line);
    y += 18;
  }
  os << "</svg>\n";
  return text;
}
