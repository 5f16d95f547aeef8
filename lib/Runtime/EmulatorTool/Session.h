// One emulation: buffers and arguments from either kind of description, run once per seed on a fresh device.
#pragma once
#include "Arguments.h"
#include "fa/Runtime/Emulator/Emulator.h"
#include "fa/Runtime/EmulatorTool/EmulatorTool.h"
#include <map>

namespace fa::runtime::tool {

/// A failure and the exit code it means.
struct Failure {
  std::string message;
  int exitCode = exitBadInput;
};

struct SeedResult {
  uint64_t seed = 0;
  emulator::LaunchResult launch;
};

class Session {
public:
  /// Reads all files; nothing runs yet. Returns the failure, if any.
  std::optional<Failure> prepare(const EmulatorToolOptions &options);
  /// Parses the PTX and gives its kernels.
  std::optional<Failure> listEntries(std::vector<emulator::EntryInfo> &entries) const;
  /// Runs one seed on a fresh device; `mutant` replaces the PTX text.
  std::optional<Failure> run(uint64_t seed, bool timeline, SeedResult &result, const std::string *mutant = nullptr);
  /// Writes the outputs of the last run.
  std::optional<Failure> writeOutputs() const;

  const std::vector<uint64_t> &seeds() const { return seedList; }
  const std::string &kernel() const { return entry; }
  const std::string &text() const { return ptx; }
  void setBudget(uint64_t warpInstructions) { emulatorOptions.instructionBudget = warpInstructions; }
  /// The PTX line, trimmed; empty when out of range.
  std::string sourceLine(int line) const;
  /// Whether any output differed between two seeds so far.
  bool outputsDiffer() const { return differ; }

private:
  EmulatorToolOptions options;
  emulator::Options emulatorOptions;
  std::string ptx;
  std::vector<size_t> lineStarts;
  std::string entry;
  std::optional<LaunchDescriptor> descriptor;
  std::vector<Argument> arguments;
  std::map<std::string, Buffer> buffers; ///< by tensor name, with a descriptor
  std::map<std::string, double> scalars;
  std::vector<uint64_t> seedList;
  std::vector<std::pair<Buffer *, std::vector<std::byte>>> outputs;
  bool differ = false;
  bool hasRun = false;

  struct Device;
  Status prepareDescriptor();
  Status prepareArguments();
  Expected<emulator::LaunchRequest> requestFromDescriptor(Device &device);
  Expected<emulator::LaunchRequest> requestFromArguments(Device &device);
  Status collectOutputs(Device &device);
};

} // namespace fa::runtime::tool
