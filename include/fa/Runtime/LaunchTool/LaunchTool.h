// What the tool fa-launch does, without its command line: execute a package on a device, compare with expected results,
// time it, write outputs. No LLVM: it runs where nothing but the package and a driver is.
#pragma once
#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

namespace fa::runtime {

struct LaunchToolOptions {
  std::string package;               ///< folder
  std::string device = "cuda";       ///< cuda, emulator or cpu
  std::string form = "auto";         ///< auto, cubin, ptx or so
  std::vector<std::string> inputs;   ///< NAME=FILE.npy
  std::vector<std::string> fills;    ///< NAME=KIND (Fill.h)
  std::vector<std::string> elements; ///< NAME[I,J,*]=X
  std::vector<std::string> shapes;   ///< NAME=AxBxCxD
  std::vector<std::string> scalars;  ///< NAME=VALUE
  std::vector<std::string> outputs;  ///< NAME=FILE.npy
  std::vector<std::string> expected; ///< NAME=FILE.npy,max=X,rms=Y
  uint64_t seed = 1;
  int repeat = 1;               ///< timed runs
  int warmUp = 0;               ///< runs before them
  unsigned threads = 0;         ///< of the emulator and the CPU; 0: all cores
  bool checkedEmulation = true; ///< the emulator's checks of races, memory, registers and protocols
  std::string format = "table"; ///< table or json
};

/// The tool's exit codes.
enum LaunchToolExit : int {
  launchPassed = 0, ///< executed; all expectations hold
  launchFailed = 1, ///< an error, or a result that is wrong
  launchUsage = 2   ///< a wrong command line
};

/// Returns a LaunchToolExit. Results go to `out`, errors to `err`.
int runLaunchTool(const LaunchToolOptions &options, std::ostream &out, std::ostream &err);

} // namespace fa::runtime
