// The PTX emulator: device memory, modules made from PTX text, launches with checks. No CUDA, no LLVM.
// docs/Emulator.md describes the design; EmulatorDriver puts it behind Runtime::Driver.
#pragma once
#include "fa/Runtime/Driver.h"
#include "fa/Runtime/Emulator/Report.h"
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fa::runtime::emulator {

class Program; ///< a parsed and lowered PTX module (lib/Runtime/Emulator/Program.h)
class GlobalMemory;

/// CUDA driver error codes that the emulator uses in Error::code.
enum DriverCode : int {
  InvalidValue = 1,
  OutOfMemory = 2,
  InvalidPtx = 218,
  NotFound = 500,
  IllegalAddress = 700,
  LaunchOutOfResources = 701,
  LaunchTimeout = 702, ///< deadlock, or the instruction budget ran out
  IllegalInstructionCode = 715,
  MisalignedAddress = 716,
  LaunchFailed = 719 ///< race or protocol error
};

struct Options {
  bool checkRaces = true;
  bool checkMemory = true;                     ///< uninitialised reads and misalignment (bounds are always checked)
  bool checkRegisters = true;                  ///< registers of a wgmma in flight, registers never written
  bool checkProtocol = true;                   ///< lints of barriers, mbarriers, groups, descriptors
  bool h100Arithmetic = false;                 ///< exact truncation rule of the tensor cores instead of f32 FMA
  uint64_t seed = 0;                           ///< 0: plain round-robin; else adversarial scheduling, reproducible
  uint64_t instructionBudget = 20'000'000'000; ///< warp instructions per launch (a loop without effects ends sooner)
  unsigned threads = 0;                        ///< host threads; 0: all cores
  bool countOpcodes = false;
  bool countConflicts = false; ///< bank conflicts and sectors
  bool timeline = false;
  unsigned maxReports = 100; ///< distinct findings kept per launch
  uint64_t maxMemory = 0;    ///< bytes of device memory; 0: 80 GiB
};

/// Switches on exactly the checks that a list such as `races,memory` names: races, memory, registers, protocol; or
/// `all`, or `none`. Fails with the list of names.
Status selectChecks(std::string_view list, char separator, Options &options);

/// A launch in the driver API's terms.
struct LaunchRequest {
  std::string entry;
  uint32_t grid[3] = {1, 1, 1}, block[3] = {1, 1, 1}, cluster[3] = {1, 1, 1};
  uint64_t dynamicSharedBytes = 0;
  std::vector<uint8_t> parameters; ///< laid out as the PTX declaration says (see parameterLayout)
};

struct LaunchResult {
  double seconds = 0;
  Counters counters;
  std::vector<Report> reports; ///< empty: nothing found
  std::vector<TimelineEvent> timeline;
  /// Success when nothing fatal happened and nothing was reported; else the first finding with its driver code.
  Status status;
};

struct ParameterInfo {
  std::string name;
  size_t offset = 0, size = 0, align = 0;
};

/// Facts about an entry that hosts ask for (cuFuncGetAttribute, cuFuncGetParamInfo).
struct EntryInfo {
  std::string name;
  std::vector<ParameterInfo> parameters;
  size_t parameterBytes = 0;
  size_t staticSharedBytes = 0;
  uint32_t maxThreads = 1024;       ///< from .maxntid / .reqntid
  uint32_t requiredThreads[3] = {}; ///< from .reqntid; 0: none
  uint32_t requiredCluster[3] = {}; ///< from .reqnctapercluster; 0: none
  size_t instructions = 0;
};

/// Vector code of the core, chosen at run time: "avx512", "avx2" or "sse2".
const char *coreIsa();
/// Forces one for modules loaded from now on (tests, benchmarks); fails when the machine lacks it or the name is
/// unknown.
Status selectCoreIsa(const std::string &name);

/// One emulated device with its own memory. Not thread-safe, except that one launch uses several host threads itself.
/// After a fatal finding every later call fails with that finding, as on hardware, until resetError().
class Emulator {
public:
  explicit Emulator(Options options = {});
  ~Emulator();
  Emulator(const Emulator &) = delete;
  Emulator &operator=(const Emulator &) = delete;

  Options &options();

  /// 256-byte aligned, zero bytes allowed. `name` appears in reports and in Counters::buffers.
  Expected<DeviceAddress> allocate(size_t bytes, const std::string &name = "");
  Status release(DeviceAddress address);
  Status copyToDevice(DeviceAddress to, const void *from, size_t bytes);
  Status copyToHost(void *to, DeviceAddress from, size_t bytes);
  Status copyOnDevice(DeviceAddress to, DeviceAddress from, size_t bytes);
  /// Repeats `pattern` (1, 2 or 4 bytes wide) `count` times.
  Status fill(DeviceAddress to, uint32_t pattern, unsigned width, size_t count);
  /// Bytes in use.
  size_t bytesAllocated() const;

  /// Parses and lowers; module-scope .global and .const variables are allocated and initialised. Errors carry the PTX
  /// line.
  Expected<std::shared_ptr<Program>> load(const std::string &ptx);
  std::vector<EntryInfo> entries(const Program &program) const;
  /// Address and size of a module-scope variable.
  Expected<std::pair<DeviceAddress, size_t>> global(const Program &program, const std::string &name) const;

  /// Runs one kernel to its end. Fails only for a request that cannot start (unknown entry, sizes, shared memory over
  /// the limit, sticky error); findings are in the result.
  Expected<LaunchResult> launch(const Program &program, const LaunchRequest &request);

  /// The fatal finding that made this device unusable; success when there is none.
  const Status &stickyError() const;
  void resetError();

  GlobalMemory &memory();

private:
  struct State;
  std::unique_ptr<State> state;
};

/// The descriptor-level driver over an Emulator.
class EmulatorDriver : public Driver {
public:
  explicit EmulatorDriver(Options options = {});
  ~EmulatorDriver() override;
  std::string describe() const override;
  std::string abi() const override { return "ptx"; }
  Expected<DeviceAddress> allocate(size_t bytes) override;
  Status release(DeviceAddress address) override;
  Status copyToDevice(DeviceAddress to, const void *from, size_t bytes) override;
  Status copyToHost(void *to, DeviceAddress from, size_t bytes) override;
  Expected<std::unique_ptr<Module>> loadModule(const ModuleImage &image) override;
  /// Fails when any checker found something; the error holds the findings, one a line. Seconds are host time.
  Expected<double> launch(Module &module, const LaunchDescriptor &descriptor, const Bindings &bindings) override;

  Emulator &emulator() { return *device; }
  /// Of the most recent launch (counters, findings, timeline).
  const LaunchResult &lastResult() const { return last; }

private:
  std::unique_ptr<Emulator> device;
  LaunchResult last;
};

} // namespace fa::runtime::emulator
