// What one launch did, for people and for programs.
#pragma once
#include "Expectation.h"

namespace fa::runtime::launcher {

struct LaunchReport {
  std::string package, device, form;
  std::vector<std::string> kernels;
  std::vector<std::pair<std::string, std::vector<int64_t>>> shapes;
  double loadSeconds = 0;      ///< reading the package and loading its code
  std::vector<double> seconds; ///< of each timed run, on the device's clock
  std::vector<Comparison> comparisons;

  double median() const;
  bool passed() const;
};

/// A few aligned lines; ends with a newline.
std::string toTable(const LaunchReport &report);
/// One JSON object; times in seconds; ends with a newline.
std::string toJson(const LaunchReport &report);

} // namespace fa::runtime::launcher
