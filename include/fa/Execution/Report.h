// What one experiment did, for people and for programs.
#pragma once
#include "fa/Execution/Compile.h"
#include "fa/Execution/Run.h"
#include <string>

namespace fa::execution {

/// Everything about one experiment.
struct Experiment {
  std::string problem; ///< file and entry, or the flags in words
  CompileReport compiled;
  RunReport ran;
  std::map<std::string, std::string> ir; ///< dumped stages (JSON only: a table is printed after the dumps)
};

/// A few aligned lines; ends with a newline.
std::string toTable(const Experiment &experiment);
/// One JSON object; times in seconds, errors as numbers (null where not finite); ends with a newline.
std::string toJson(const Experiment &experiment);

} // namespace fa::execution
