// Formatting for people: bytes, durations, counts, tables.
#include "fa/Support/Text.h"
#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdio>

namespace fa {
namespace {

std::string print(const char *format, double value, int precision) {
  char buffer[64];
  std::snprintf(buffer, sizeof buffer, format, precision, value);
  return buffer;
}

/// Three significant digits, no exponent: 1.23, 12.3, 123.
std::string threeDigits(double value) { return print("%.*f", value, value < 9.995 ? 2 : value < 99.95 ? 1 : 0); }

std::string dropTrailingZeros(std::string text) {
  if (text.find('.') == std::string::npos)
    return text;
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.')
    text.pop_back();
  return text;
}

/// Counts code points, so that UTF-8 cells line up.
size_t widthOf(const std::string &text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

bool looksNumeric(const std::string &cell) {
  if (cell.empty() || cell == "-" || cell == "inf" || cell == "-inf" || cell == "nan")
    return true;
  const char first = cell[0] == '-' && cell.size() > 1 ? cell[1] : cell[0];
  return std::isdigit(static_cast<unsigned char>(first)) && cell.find('x') == std::string::npos;
}

} // namespace

std::string formatBytes(uint64_t bytes) {
  static constexpr const char *units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024)
    return std::to_string(bytes) + " B";
  double value = static_cast<double>(bytes);
  size_t unit = 0;
  while (value >= 1023.5 && unit + 1 < std::size(units)) {
    value /= 1024;
    ++unit;
  }
  return dropTrailingZeros(threeDigits(value)) + " " + units[unit];
}

std::string formatDuration(double seconds) {
  if (!(seconds >= 0) || std::isinf(seconds))
    return print("%.*g s", seconds, 3);
  if (seconds < 999.5e-9)
    return threeDigits(seconds * 1e9) + " ns";
  if (seconds < 999.5e-6)
    return threeDigits(seconds * 1e6) + " us";
  if (seconds < 999.5e-3)
    return threeDigits(seconds * 1e3) + " ms";
  if (seconds < 119.5)
    return threeDigits(seconds) + " s";
  const long long whole = std::llround(seconds);
  char buffer[64];
  std::snprintf(buffer, sizeof buffer, "%lld min %02lld s", whole / 60, whole % 60);
  return buffer;
}

std::string formatCount(int64_t count) {
  std::string digits = std::to_string(count);
  const size_t sign = count < 0;
  for (size_t at = digits.size(); at > sign + 3;) {
    at -= 3;
    digits.insert(at, ",");
  }
  return digits;
}

std::string formatNumber(double value, int digits) {
  if (std::isnan(value))
    return "nan";
  return print("%.*g", value, digits);
}

std::string formatShape(const std::vector<int64_t> &sizes) {
  if (sizes.empty())
    return "scalar";
  std::string text;
  for (int64_t size : sizes)
    text += (text.empty() ? "" : "x") + std::to_string(size);
  return text;
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> pieces;
  for (;;) {
    const size_t at = text.find(separator);
    pieces.emplace_back(text.substr(0, at));
    if (at == std::string_view::npos)
      return pieces;
    text.remove_prefix(at + 1);
  }
}

void Table::add(std::vector<std::string> row) {
  row.resize(header.size());
  rows.push_back(std::move(row));
}

std::string Table::print() const {
  const size_t columns = header.size();
  std::vector<size_t> widths(columns);
  std::vector<char> right(columns, !rows.empty());
  for (size_t c = 0; c < columns; ++c) {
    widths[c] = widthOf(header[c]);
    for (const auto &row : rows) {
      widths[c] = std::max(widths[c], widthOf(row[c]));
      right[c] = right[c] && looksNumeric(row[c]);
    }
  }
  std::string text;
  const auto line = [&](const std::vector<std::string> &cells) {
    std::string result;
    for (size_t c = 0; c < columns; ++c) {
      const std::string padding(widths[c] - widthOf(cells[c]), ' ');
      result += (c ? "  " : "") + (right[c] ? padding + cells[c] : cells[c] + padding);
    }
    result.erase(result.find_last_not_of(' ') + 1);
    text += result + "\n";
  };
  line(header);
  std::vector<std::string> rule;
  for (size_t width : widths)
    rule.emplace_back(width, '-');
  line(rule);
  for (const auto &row : rows)
    line(row);
  return text;
}

} // namespace fa
