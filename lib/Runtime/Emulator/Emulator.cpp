// The emulated device: memory, modules, launches on several host threads.
#include "fa/Runtime/Emulator/Emulator.h"
#include "Lowering.h"
#include "Scheduler.h"
#include "fa/Runtime/Emulator/PtxModule.h"
#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

namespace fa::runtime::emulator {

static constexpr uint64_t maxSharedBytes = 232448;
static constexpr uint64_t defaultMemory = uint64_t(80) << 30;

struct Emulator::State {
  explicit State(Options options) : options(options), memory(options.maxMemory ? options.maxMemory : defaultMemory) {}
  Options options;
  GlobalMemory memory;
  Status sticky;
};

Emulator::Emulator(Options options) : state(std::make_unique<State>(options)) {}
Emulator::~Emulator() = default;
Options &Emulator::options() { return state->options; }
GlobalMemory &Emulator::memory() { return state->memory; }
const Status &Emulator::stickyError() const { return state->sticky; }
void Emulator::resetError() { state->sticky = Status::success(); }
size_t Emulator::bytesAllocated() const { return state->memory.bytesInUse(); }

Expected<DeviceAddress> Emulator::allocate(size_t bytes, const std::string &name) {
  if (!state->sticky)
    return state->sticky.error();
  return state->memory.allocate(bytes, name);
}

Status Emulator::release(DeviceAddress address) { return state->memory.release(address); }

/// The allocation that holds a host copy's bytes, or an error that names the nearest one.
static Expected<Allocation *> locate(GlobalMemory &memory, DeviceAddress address, size_t bytes, const char *what) {
  if (Allocation *allocation = memory.find(address, bytes))
    return allocation;
  return makeError("expected " + std::to_string(bytes) + " bytes of device memory to " + what +
                       ", but got an address outside every allocation (" + memory.describeNearest(address) + ")",
                   InvalidValue);
}

Status Emulator::copyToDevice(DeviceAddress to, const void *from, size_t bytes) {
  if (!state->sticky || !bytes)
    return state->sticky;
  auto allocation = locate(state->memory, to, bytes, "copy to");
  if (!allocation)
    return allocation.error();
  std::memcpy(reinterpret_cast<void *>(to), from, bytes);
  state->memory.markInitialised(**allocation, to, bytes);
  return Status::success();
}

Status Emulator::copyToHost(void *to, DeviceAddress from, size_t bytes) {
  if (!state->sticky || !bytes)
    return state->sticky;
  auto allocation = locate(state->memory, from, bytes, "copy from");
  if (!allocation)
    return allocation.error();
  std::memcpy(to, reinterpret_cast<const void *>(from), bytes);
  return Status::success();
}

Status Emulator::copyOnDevice(DeviceAddress to, DeviceAddress from, size_t bytes) {
  if (!state->sticky || !bytes)
    return state->sticky;
  auto source = locate(state->memory, from, bytes, "copy from");
  if (!source)
    return source.error();
  auto target = locate(state->memory, to, bytes, "copy to");
  if (!target)
    return target.error();
  std::memmove(reinterpret_cast<void *>(to), reinterpret_cast<const void *>(from), bytes);
  state->memory.markInitialised(**target, to, bytes);
  return Status::success();
}

Status Emulator::fill(DeviceAddress to, uint32_t pattern, unsigned width, size_t count) {
  if (!state->sticky || !count)
    return state->sticky;
  if ((width != 1 && width != 2 && width != 4) || to % width)
    return makeError("expected a pattern of 1, 2 or 4 bytes at an aligned address, but got " + std::to_string(width) +
                         " bytes",
                     InvalidValue);
  if (count > ~size_t(0) / width)
    return makeError("expected a fill within device memory, but got " + std::to_string(count) + " elements",
                     InvalidValue);
  auto allocation = locate(state->memory, to, width * count, "fill");
  if (!allocation)
    return allocation.error();
  uint8_t *bytes = reinterpret_cast<uint8_t *>(to);
  for (size_t i = 0; i < count; ++i)
    std::memcpy(bytes + i * width, &pattern, width);
  state->memory.markInitialised(**allocation, to, width * count);
  return Status::success();
}

Expected<std::shared_ptr<Program>> Emulator::load(const std::string &text) {
  if (!state->sticky)
    return state->sticky.error();
  auto module = ptx::parse(text);
  if (!module)
    return module.error();
  auto program = std::make_shared<Program>();
  for (const ptx::Variable &variable : (*module)->variables) {
    if (variable.space != ptx::Variable::Space::Global && variable.space != ptx::Variable::Space::Const)
      continue;
    auto address = state->memory.allocate(variable.bytes, variable.name);
    if (!address)
      return address.error();
    // Variables without an initialiser are zero.
    std::memset(reinterpret_cast<void *>(*address), 0, variable.bytes);
    if (!variable.initialiser.empty())
      std::memcpy(reinterpret_cast<void *>(*address), variable.initialiser.data(), variable.initialiser.size());
    state->memory.markInitialised(*state->memory.find(*address, variable.bytes), *address, variable.bytes);
    program->globals.push_back({variable.name, *address, variable.bytes});
  }
  for (const ptx::Entry &entry : (*module)->entries) {
    auto kernel = Lowering(**module, entry, program->globals).run();
    if (!kernel)
      return kernel.error();
    program->kernels.push_back(std::move(*kernel));
  }
  return program;
}

std::vector<EntryInfo> Emulator::entries(const Program &program) const {
  std::vector<EntryInfo> result;
  for (const Kernel &kernel : program.kernels)
    result.push_back(kernel.info);
  return result;
}

Expected<std::pair<DeviceAddress, size_t>> Emulator::global(const Program &program, const std::string &name) const {
  for (const Program::Global &global : program.globals)
    if (global.name == name)
      return std::make_pair(global.address, global.bytes);
  return makeError("expected a variable of the module, but got `" + name + "`", NotFound);
}

namespace {

std::string triple(const uint32_t values[3]) {
  return "(" + std::to_string(values[0]) + "," + std::to_string(values[1]) + "," + std::to_string(values[2]) + ")";
}

Status checkRequest(const Kernel &kernel, LaunchRequest &request, Launch &launch) {
  const char *dimensions[] = {"x", "y", "z"};
  uint64_t threads = 1, ctas = 1;
  const uint32_t blockLimit[] = {1024, 1024, 64}, gridLimit[] = {0x7fffffff, 65535, 65535};
  for (int i = 0; i < 3; ++i) {
    if (kernel.info.requiredCluster[0] && request.cluster[0] * request.cluster[1] * request.cluster[2] == 1)
      std::copy(kernel.info.requiredCluster, kernel.info.requiredCluster + 3, request.cluster);
    if (request.block[i] == 0 || request.block[i] > blockLimit[i])
      return makeError(std::string("expected a block size of 1 to ") + std::to_string(blockLimit[i]) + " in " +
                           dimensions[i] + ", but got " + std::to_string(request.block[i]),
                       InvalidValue);
    if (request.grid[i] == 0 || request.grid[i] > gridLimit[i])
      return makeError(std::string("expected a grid size of 1 to ") + std::to_string(gridLimit[i]) + " in " +
                           dimensions[i] + ", but got " + std::to_string(request.grid[i]),
                       InvalidValue);
    if (request.cluster[i] == 0 || request.grid[i] % request.cluster[i])
      return makeError(std::string("expected a grid size that is a multiple of the cluster size in ") + dimensions[i] +
                           ", but got " + std::to_string(request.grid[i]) + " and " +
                           std::to_string(request.cluster[i]),
                       InvalidValue);
    threads *= request.block[i];
    ctas *= request.cluster[i];
    launch.clusterGrid[i] = request.grid[i] / request.cluster[i];
  }
  if (threads > kernel.info.maxThreads)
    return makeError("expected at most " + std::to_string(kernel.info.maxThreads) + " threads in a block of `" +
                         kernel.name + "`, but got " + std::to_string(threads),
                     LaunchOutOfResources);
  const uint32_t *required = kernel.info.requiredThreads;
  if (required[0] && !std::equal(required, required + 3, request.block))
    return makeError("expected the block " + triple(required) + " that `" + kernel.name +
                         "` requires (.reqntid), but got " + triple(request.block),
                     InvalidValue);
  if (kernel.info.requiredCluster[0] && !std::equal(request.cluster, request.cluster + 3, kernel.info.requiredCluster))
    return makeError("expected the cluster " + triple(kernel.info.requiredCluster) + " that `" + kernel.name +
                         "` requires, but got " + triple(request.cluster),
                     InvalidValue);
  if (ctas > 16)
    return makeError("expected at most 16 blocks in a cluster, but got " + std::to_string(ctas), InvalidValue);
  uint64_t align = kernel.dynamicSharedAlign;
  uint64_t end = (kernel.staticSharedEnd + align - 1) / align * align + request.dynamicSharedBytes;
  if (request.dynamicSharedBytes > maxSharedBytes ||
      kernel.info.staticSharedBytes + request.dynamicSharedBytes > maxSharedBytes)
    return makeError("expected at most " + std::to_string(maxSharedBytes) + " bytes of shared memory, but got " +
                         std::to_string(kernel.info.staticSharedBytes + request.dynamicSharedBytes),
                     InvalidValue);
  if (request.parameters.size() != kernel.info.parameterBytes)
    return makeError("expected " + std::to_string(kernel.info.parameterBytes) + " bytes of parameters for `" +
                         kernel.name + "`, but got " + std::to_string(request.parameters.size()),
                     InvalidValue);
  launch.threadsPerCta = static_cast<uint32_t>(threads);
  launch.warpsPerCta = static_cast<uint32_t>((threads + 31) / 32);
  launch.ctasPerCluster = static_cast<uint32_t>(ctas);
  launch.sharedEnd = static_cast<uint32_t>((end + 15) / 16 * 16);
  return Status::success();
}

void mergeCounters(const Kernel &kernel, LocalCounters &from, Counters &into,
                   std::vector<LocalCounters::Traffic> &traffic) {
  const Counters &t = from.total;
  into.warpInstructions += t.warpInstructions;
  into.threadInstructions += t.threadInstructions;
  into.wgmmaMacs += t.wgmmaMacs;
  into.mmaMacs += t.mmaMacs;
  into.wgmmaInstructions += t.wgmmaInstructions;
  into.tmaLoads += t.tmaLoads;
  into.tmaStores += t.tmaStores;
  into.sharedReadTransactions += t.sharedReadTransactions;
  into.sharedWriteTransactions += t.sharedWriteTransactions;
  into.sharedBankConflicts += t.sharedBankConflicts;
  into.globalSectors += t.globalSectors;
  into.barrierWaits += t.barrierWaits;
  into.failedTryWaits += t.failedTryWaits;
  for (size_t i = 0; i < from.executed.size(); ++i)
    if (from.executed[i])
      into.opcodes[kernel.opcodes[kernel.opcodeOf[i]]] += from.executed[i];
  if (traffic.size() < from.traffic.size())
    traffic.resize(from.traffic.size());
  for (size_t i = 0; i < from.traffic.size(); ++i) {
    traffic[i].read += from.traffic[i].read;
    traffic[i].written += from.traffic[i].written;
    traffic[i].tmaRead += from.traffic[i].tmaRead;
    traffic[i].tmaWritten += from.traffic[i].tmaWritten;
  }
}

int codeOf(ReportKind kind) {
  switch (kind) {
  case ReportKind::OutOfBounds:
    return IllegalAddress;
  case ReportKind::Misaligned:
    return MisalignedAddress;
  case ReportKind::Deadlock:
  case ReportKind::Budget:
    return LaunchTimeout;
  case ReportKind::IllegalInstruction:
    return IllegalInstructionCode;
  default:
    return LaunchFailed;
  }
}

Status statusOf(const std::vector<Report> &reports) {
  const Report *worst = nullptr;
  for (const Report &report : reports)
    if (!worst || (report.fatal && !worst->fatal))
      worst = &report;
  return worst ? Status(makeError(toString(*worst), codeOf(worst->kind))) : Status::success();
}

} // namespace

Expected<LaunchResult> Emulator::launch(const Program &program, const LaunchRequest &request) {
  if (!state->sticky)
    return state->sticky.error();
  const Kernel *kernel = program.find(request.entry);
  if (!kernel)
    return makeError("expected an entry of the module, but got `" + request.entry + "`", NotFound);
  Launch launch;
  launch.kernel = kernel;
  launch.options = &state->options;
  launch.memory = &state->memory;
  launch.request = request;
  if (Status status = checkRequest(*kernel, launch.request, launch); !status)
    return status.error();
  // Tensor maps among the parameters must lie at multiples of 64 bytes of the block, whose own address does not matter.
  launch.parameters = request.parameters;
  launch.parameters.resize(launch.parameters.size() + 16);
  launch.budget = static_cast<int64_t>(std::min<uint64_t>(state->options.instructionBudget, INT64_MAX));

  if (state->options.checkRaces)
    launch.globalShadows = std::vector<std::atomic<GlobalShadow *>>(state->memory.allocationsMade());

  auto begin = std::chrono::steady_clock::now();
  uint64_t clusters = uint64_t(launch.clusterGrid[0]) * launch.clusterGrid[1] * launch.clusterGrid[2];
  unsigned threads =
      state->options.threads ? state->options.threads : std::max(1u, std::thread::hardware_concurrency());
  threads = static_cast<unsigned>(std::min<uint64_t>(threads, clusters));
  std::vector<std::unique_ptr<ClusterRunner>> runners;
  for (unsigned i = 0; i < threads; ++i)
    runners.push_back(std::make_unique<ClusterRunner>(launch));
  auto work = [&](ClusterRunner &runner) {
    while (!launch.stop) {
      uint64_t index = launch.nextCluster.fetch_add(1);
      if (index >= clusters)
        return;
      runner.run(index);
    }
  };
  std::vector<std::thread> pool;
  for (unsigned i = 1; i < threads; ++i)
    pool.emplace_back([&, i] { work(*runners[i]); });
  work(*runners[0]);
  for (std::thread &thread : pool)
    thread.join();

  LaunchResult result;
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  std::vector<LocalCounters::Traffic> traffic;
  for (auto &runner : runners) {
    mergeCounters(*kernel, runner->counters, result.counters, traffic);
    auto events = runner->timeline();
    result.timeline.insert(result.timeline.end(), events.begin(), events.end());
  }
  for (const auto &[address, allocation] : state->memory.allocations())
    if (allocation->index < traffic.size()) {
      const LocalCounters::Traffic &t = traffic[allocation->index];
      if (t.read || t.written)
        result.counters.buffers.push_back({allocation->name, address, t.read, t.written, t.tmaRead, t.tmaWritten});
    }
  result.reports = std::move(launch.reports);
  // Host threads file findings in any order.
  std::stable_sort(result.reports.begin(), result.reports.end(), [](const Report &a, const Report &b) {
    return std::make_tuple(!a.fatal, a.ptxLine, a.otherLine) < std::make_tuple(!b.fatal, b.ptxLine, b.otherLine);
  });
  result.status = statusOf(result.reports);
  if (launch.anyFatal)
    state->sticky = result.status;
  return result;
}

} // namespace fa::runtime::emulator
