// Numbers and tables the way people read them, the same in every tool.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fa {

/// "640 B", "1.5 KiB", "24 MiB": three significant digits, binary units.
std::string formatBytes(uint64_t bytes);
/// Seconds as "850 ns", "12.3 us", "4.56 ms", "1.20 s", "3 min 05 s".
std::string formatDuration(double seconds);
/// 1,234,567.
std::string formatCount(int64_t count);
/// Shortest text of at most `digits` significant digits: "1.25e-07", "0.5", "-inf", "nan".
std::string formatNumber(double value, int digits = 6);
/// "2x32x4096x128"; an empty shape is "scalar".
std::string formatShape(const std::vector<int64_t> &sizes);
/// Splits at a separator; empty pieces are kept.
std::vector<std::string> split(std::string_view text, char separator);

/// A table of text. Columns whose cells (below the header) are all numbers are aligned to the right.
class Table {
public:
  explicit Table(std::vector<std::string> header) : header(std::move(header)) {}
  /// Missing cells are empty; cells beyond the header are dropped.
  void add(std::vector<std::string> row);
  /// One line per row, two spaces between columns, a rule under the header; ends with a newline.
  std::string print() const;

private:
  std::vector<std::string> header;
  std::vector<std::vector<std::string>> rows;
};

} // namespace fa
