// The command line of fa-run.
#pragma once
#include "fa/Execution/AttentionSpec.h"
#include "fa/Execution/Compile.h"
#include "fa/Execution/Run.h"
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace fa::run_tool {

struct Flags {
  std::string file, entry;                      ///< a .mlir file, or
  std::optional<execution::AttentionSpec> spec; ///< a problem from flags
  execution::CompileOptions compile;
  execution::RunOptions run;
  std::vector<std::string> dump;
  bool json = false, remarks = false;
  bool validate = false;              ///< compare visited tiles with the mask, pair by pair
  std::optional<std::string> tileMap; ///< file for the picture; empty: on the terminal
  bool lesson = false;                ///< no problem: the demonstrations instead
};

/// Flags, or the exit code after help or an error was printed (0 for --help, 2 for a usage error).
std::variant<Flags, int> parseFlags(int argc, char **argv);

} // namespace fa::run_tool
