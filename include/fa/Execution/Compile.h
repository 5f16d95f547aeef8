// From a program to code that runs: pipelines chosen by device and lowering, timed and printable stage by stage.
#pragma once
#include "fa/Execution/Program.h"
#include "fa/Runtime/Driver.h"
#include "fa/Support/Expected.h"
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace fa::execution {

struct CompileOptions {
  std::string device = "auto";   ///< auto, cpu, cuda or emulator
  bool autoMayUseGpu = false;    ///< auto takes a CUDA device when there is one; else always the CPU (host pointers)
  std::string lowering = "auto"; ///< auto, loops, vector or naive (CPUs only)
  std::string schedule;          ///< a whole #fa.schedule<...>; empty: machine model
  int64_t tileQ = 0, tileKv = 0; ///< single fields of it; 0: machine model
  bool splitKeys = true;         ///< the machine model may split keys; then the function is no list of launches
  std::string order;             ///< query_outer or key_outer; empty: query_outer
  unsigned threads = 0;          ///< 0: one for each core
  std::string cpu; ///< code for this CPU, as LLVM names it (this machine must have its features); empty: this machine's
  bool census = false;        ///< also compile what countTiles needs
  std::string cacheDirectory; ///< of compiled kernels (KernelCache.h); empty: none. Not used when stages are dumped
  std::set<std::string> dump; ///< names of stages whose IR `onStage` gets
  std::function<void(const std::string &stage, const std::string &ir)> onDump;
  std::function<void(const std::string &stage)> onStage; ///< called when a stage begins
};

/// A stage of compilation, as --dump-ir names it.
struct StageInfo {
  std::string name, what;
};
/// All stages of all pipelines, in order.
std::vector<StageInfo> allStages();

struct StageTime {
  std::string name;
  double seconds = 0;
};

/// What was compiled, and how long it took.
struct CompileReport {
  std::string device;       ///< the driver's own words
  std::string target;       ///< cpu or sm_90a
  std::string lowering;     ///< loops, vector, naive or hopper
  std::string choice;       ///< why `auto` chose the lowering; empty when nothing was left to choose
  std::string deviceChoice; ///< the same of the device
  std::string schedule;     ///< as an attribute; empty for naive
  int64_t tileQ = 0, tileKv = 0;
  std::string order;
  std::string cache; ///< hit, miss, or why the kernel cache was not used
  std::vector<std::string> kernels;
  std::vector<StageTime> stages;
  std::vector<std::string> remarks;

  double seconds() const;
};

/// (query tile, key tile) pairs over all batches and heads.
struct TileCounts {
  int64_t full = 0;    ///< visited without masking
  int64_t masked = 0;  ///< visited with masking
  int64_t skipped = 0; ///< never visited
  int64_t all() const { return full + masked + skipped; }
};

class TileCensus;

/// Ready to run any number of times, on any data and on any lengths that its types leave open. Needs no MLIR any more.
class CompiledAttention {
public:
  CompiledAttention();
  virtual ~CompiledAttention();
  const CompileReport &report() const { return compileReport; }
  virtual runtime::Driver &driver() = 0;
  /// Tensors live in memory of driver(). Returns the execution time in seconds.
  virtual Expected<double> run(const runtime::Bindings &bindings) = 0;
  /// Counts what the loops of the kernel visit, by running them without their work on host tensors (values that bounds
  /// depend on, such as lengths, are read). Nothing unless compiled with `census`.
  Expected<std::optional<TileCounts>> countTiles(const runtime::Bindings &hostBindings);
  /// Says in the report why `auto` chose this.
  void noteChoice(std::string reason) { compileReport.choice = std::move(reason); }
  void noteDeviceChoice(std::string reason) { compileReport.deviceChoice = std::move(reason); }

protected:
  CompileReport compileReport;
  std::unique_ptr<TileCensus> census;
  /// `kernels`: the module after the stage of that name.
  Status takeCensus(mlir::ModuleOp kernels, const Program &program, const CompileOptions &options);
};

/// Leaves the program as it is. Errors name the stage and the place in the source.
Expected<std::unique_ptr<CompiledAttention>> compile(const Program &program, const CompileOptions &options);

} // namespace fa::execution
