// The two output formats of fa-launch.
#include "Report.h"
#include "fa/Support/Text.h"
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace fa::runtime::launcher {
namespace {
using Json = nlohmann::ordered_json;

std::string line(const std::string &key, const std::string &value) {
  return key + std::string(key.size() < 9 ? 9 - key.size() : 1, ' ') + value + "\n";
}

/// null where not finite.
Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

std::string describe(const Comparison &comparison) {
  const auto short3 = [](double value) { return formatNumber(value, 3); };
  std::string text = comparison.expectation.tensor + (comparison.passed() ? " passed" : " FAILED") + ": max error " +
                     short3(comparison.maxError) + " (bar " + short3(comparison.expectation.maxBar) + "), rms error " +
                     short3(comparison.rmsError) + " (bar " + short3(comparison.expectation.rmsBar) + ")";
  if (comparison.mismatches)
    text += ", " + formatCount(comparison.mismatches) + " elements are not of the expected kind";
  if (!comparison.passed())
    text += "; worst is element " + std::to_string(comparison.worst) + ": expected " +
            formatNumber(comparison.expected, 9) + ", but got " + formatNumber(comparison.actual, 9);
  return text;
}
} // namespace

double LaunchReport::median() const {
  std::vector<double> sorted = seconds;
  std::sort(sorted.begin(), sorted.end());
  return sorted.empty() ? 0 : (sorted[(sorted.size() - 1) / 2] + sorted[sorted.size() / 2]) / 2;
}

bool LaunchReport::passed() const {
  return std::all_of(comparisons.begin(), comparisons.end(), [](const Comparison &c) { return c.passed(); });
}

std::string toTable(const LaunchReport &report) {
  std::string kernels, tensors;
  for (const std::string &kernel : report.kernels)
    kernels += (kernels.empty() ? "" : ", ") + kernel;
  for (const auto &[name, sizes] : report.shapes)
    tensors += (tensors.empty() ? "" : ", ") + name + " " + formatShape(sizes);
  std::string text =
      line("package", report.package) + line("device", report.device) + line("tensors", tensors) +
      line("kernels", kernels + " (" + report.form + ", loaded in " + formatDuration(report.loadSeconds) + ")");
  std::string run = formatDuration(report.median());
  if (report.seconds.size() > 1)
    run += " (median of " + std::to_string(report.seconds.size()) + ", fastest " +
           formatDuration(*std::min_element(report.seconds.begin(), report.seconds.end())) + ")";
  text += line("run", run);
  for (const Comparison &comparison : report.comparisons)
    text += line("check", describe(comparison));
  if (report.comparisons.empty())
    text += line("check", "none asked for (--expect)");
  return text;
}

std::string toJson(const LaunchReport &report) {
  Json shapes = Json::object(), checks = Json::array();
  for (const auto &[name, sizes] : report.shapes)
    shapes[name] = sizes;
  for (const Comparison &c : report.comparisons)
    checks.push_back({{"tensor", c.expectation.tensor},
                      {"elements", c.elements},
                      {"max_error", number(c.maxError)},
                      {"max_bar", number(c.expectation.maxBar)},
                      {"rms_error", number(c.rmsError)},
                      {"rms_bar", number(c.expectation.rmsBar)},
                      {"mismatches", c.mismatches},
                      {"worst", c.worst},
                      {"expected", number(c.expected)},
                      {"actual", number(c.actual)},
                      {"passed", c.passed()}});
  const Json json{{"package", report.package}, {"device", report.device},   {"kernels", report.kernels},
                  {"form", report.form},       {"shapes", shapes},          {"load_seconds", report.loadSeconds},
                  {"seconds", report.seconds}, {"median", report.median()}, {"checks", checks},
                  {"passed", report.passed()}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

} // namespace fa::runtime::launcher
