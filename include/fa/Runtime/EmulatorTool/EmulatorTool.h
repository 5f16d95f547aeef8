// What the tool fa-emulate does, without its command line: run one kernel of a PTX file under the emulator's checks for
// one or more seeds, print findings and counters, write outputs and a trace.
#pragma once
#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

namespace fa::runtime {

struct EmulatorToolOptions {
  std::string ptx;                                    ///< path
  std::string entry;                                  ///< empty: the only entry
  std::string descriptor;                             ///< path of a launch descriptor; empty: the fields below
  std::string grid = "1", block = "1", cluster = "1"; ///< X, X,Y or X,Y,Z
  uint64_t sharedBytes = 0;                           ///< dynamic
  std::vector<std::string> arguments;                 ///< see Arguments.h; in parameter order
  std::vector<std::string> bindings;                  ///< NAME=BUFFER or NAME=NUMBER, with a descriptor
  std::string checks = "all";                         ///< races,memory,registers,protocol | all | none
  std::string seeds = "0";                            ///< N or N..M
  std::string arithmetic = "fast";                    ///< fast | h100
  std::string format = "text";                        ///< text | json
  std::string trace;                                  ///< path of a Chrome trace; empty: none
  bool stats = false;
  bool mutate = false;  ///< run every mutant (Mutants.h) until a seed reports it
  bool list = false;    ///< print the kernels and their parameters instead of running one
  uint64_t budget = 0;  ///< warp instructions; 0: the emulator's default
  unsigned threads = 0; ///< host threads; 0: all cores
};

/// The tool's exit codes; the highest that applies wins.
enum EmulatorToolExit : int {
  exitClean = 0,        ///< ran, nothing found
  exitBadInput = 1,     ///< flags, files, arguments or descriptor
  exitBadPtx = 2,       ///< the PTX does not parse or uses an unknown instruction
  exitCannotLaunch = 3, ///< sizes, shared memory or parameters the device refuses
  exitFindings = 4,     ///< a checker found a race, an uninitialised read, a protocol error
  exitIllegal = 5,      ///< out-of-bounds or misaligned access, illegal instruction
  exitHang = 6          ///< deadlock, or the instruction budget ran out
};

/// Returns an EmulatorToolExit. Results go to `out`, errors of input to `err`.
int runEmulatorTool(const EmulatorToolOptions &options, std::ostream &out, std::ostream &err);

} // namespace fa::runtime
