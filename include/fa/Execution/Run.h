// One whole experiment: tensors, reference, kernel, guards and verdict.
#pragma once
#include "fa/Analysis/TrafficModel.h"
#include "fa/Execution/Compile.h"
#include "fa/Reference/Verdict.h"
#include "fa/Runtime/Host/DeviceTensors.h"
#include "fa/Runtime/Host/Fill.h"
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace fa::execution {
using runtime::Fill;
using runtime::Tensors;

struct RunOptions {
  std::map<std::string, std::vector<int64_t>> shapes;        ///< of tensors whose types leave sizes open
  std::map<std::string, std::string> inputs;                 ///< tensor -> .npy file
  std::map<std::string, Fill> fills;                         ///< tensor -> contents
  std::vector<std::pair<std::string, std::string>> elements; ///< tensor -> `[0,0,1,*]=nan`, applied last, in order
  std::map<std::string, double> scalars;                     ///< scalar argument -> value
  std::map<std::string, std::string> outputs; ///< tensor -> .npy file, written if the check passed or was not asked for
  std::map<std::string, std::string>
      references; ///< tensor (O or LSE) -> .npy file for the reference's values, as f32 (f64 of f64)
  uint64_t seed = 1;
  int repeat = 1; ///< timed runs; the median is reported
  bool check = true;
  bool traffic = false;  ///< also the traffic tables
  int64_t checkRows = 0; ///< rows to check, chosen at random; 0: all
  unsigned threads = 0;  ///< of the reference
  std::function<void(const std::string &phase)> onPhase;
};

struct RunReport {
  std::vector<double> seconds; ///< of each timed run
  std::optional<int64_t> visiblePairs;
  std::optional<TileCounts> tiles;
  std::optional<analysis::Traffic> traffic, naiveTraffic;
  std::string trafficTables; ///< if asked for
  double flops = 0;          ///< 2 (D + Dv) per visible pair
  std::optional<reference::Verdict> verdict;
  double checkSeconds = 0;
  std::map<std::string, std::vector<int64_t>> shapes;

  double median() const;
  bool passed() const { return !verdict || verdict->passed(); }
};

/// Allocates and fills all arguments; outputs are left as NaN.
Expected<Tensors> prepareTensors(const Program &program, const RunOptions &options);
/// Host views of tensors, and the scalars; fails for a scalar argument without a value.
Expected<runtime::Bindings> bindArguments(const Program &program, const Tensors &tensors, const RunOptions &options);

/// Evaluates the reference first (so that a region that reads out of bounds is an error, not a crash), then runs the
/// kernel on the device, looks for writes outside of the outputs and for changed inputs, and compares.
Expected<RunReport> run(const Program &program, CompiledAttention &kernel, const RunOptions &options);

/// Launches on host tensors: copies to and from the device when it has memory of its own. Returns seconds per timed
/// run.
Expected<std::vector<double>> launch(CompiledAttention &kernel, const Program &program, Tensors &tensors,
                                     const runtime::Bindings &bindings, int repeat);

} // namespace fa::execution
