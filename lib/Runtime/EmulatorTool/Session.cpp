// Prepares buffers and parameters and runs the kernel.
#include "Session.h"
#include "fa/Runtime/Emulator/Engine/TensorMap.h"
#include "fa/Runtime/PtxLaunch.h"
#include "fa/Support/File.h"
#include "fa/Support/Npy.h"
#include "fa/Support/Text.h"
#include <charconv>
#include <cstdlib>
#include <cstring>

namespace fa::runtime::tool {
namespace {

using emulator::EntryInfo;

bool parseUnsigned(std::string_view text, uint64_t &value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return !text.empty() && error == std::errc() && end == text.data() + text.size();
}

/// "3" or "1..20".
Expected<std::vector<uint64_t>> parseSeeds(const std::string &text) {
  const size_t dots = text.find("..");
  uint64_t first = 0, last = 0;
  const bool good = dots == std::string::npos ? parseUnsigned(text, first) && parseUnsigned(text, last)
                                              : parseUnsigned(std::string_view(text).substr(0, dots), first) &&
                                                    parseUnsigned(std::string_view(text).substr(dots + 2), last);
  if (!good || last < first || last - first >= 100000)
    return makeError("expected a seed N or a range N..M of at most 100000 seeds, but got " + text);
  std::vector<uint64_t> seeds;
  for (uint64_t seed = first; seed <= last; ++seed)
    seeds.push_back(seed);
  return seeds;
}

Expected<std::vector<uint8_t>> encode(const TensorMapSpec &spec, const std::string &where) {
  const auto map = emulator::makeTensorMap({.type = spec.type,
                                            .rank = spec.rank,
                                            .base = spec.base,
                                            .sizes = spec.sizes,
                                            .strides = spec.strides,
                                            .box = spec.box,
                                            .elementStrides = spec.elementStrides,
                                            .interleave = 0,
                                            .swizzle = spec.swizzle,
                                            .l2Promotion = 0,
                                            .fill = 0});
  if (!map)
    return makeError(where + ": " + map.message());
  const emulator::EncodedTensorMap bytes = encodeTensorMap(*map);
  return std::vector<uint8_t>(bytes.begin(), bytes.end());
}

} // namespace

/// One emulated device with the buffers on it.
struct Session::Device {
  emulator::Emulator emulator;
  std::shared_ptr<emulator::Program> program;
  EntryInfo info;
  std::vector<std::pair<Buffer *, DeviceAddress>> placed;

  explicit Device(const emulator::Options &options) : emulator(options) {}

  Expected<DeviceAddress> place(Buffer &buffer) {
    Expected<DeviceAddress> address = emulator.allocate(buffer.bytes(), buffer.name);
    if (!address)
      return address;
    if (!buffer.data.empty())
      if (Status status = emulator.copyToDevice(*address, buffer.data.data(), buffer.data.size()); !status)
        return status.error();
    placed.push_back({&buffer, *address});
    return address;
  }

  /// Puts parameter `index` at its place; sizes must agree.
  Status setParameter(emulator::LaunchRequest &request, size_t index, const std::vector<uint8_t> &bytes) const {
    request.parameters.resize(info.parameterBytes);
    const auto &parameter = info.parameters[index];
    if (bytes.size() != parameter.size)
      return makeError("argument " + std::to_string(index) + ": expected " + std::to_string(parameter.size) +
                       " bytes (parameter " + parameter.name + "), but got " + std::to_string(bytes.size()));
    std::memcpy(request.parameters.data() + parameter.offset, bytes.data(), bytes.size());
    return Status::success();
  }

  Status checkCount(size_t given) const {
    if (given == info.parameters.size())
      return Status::success();
    return makeError("expected " + std::to_string(info.parameters.size()) + " arguments for kernel '" + info.name +
                     "', but got " + std::to_string(given));
  }
};

std::optional<Failure> Session::prepare(const EmulatorToolOptions &given) {
  options = given;
  Expected<std::string> text = readFile(options.ptx);
  if (!text)
    return Failure{text.message()};
  ptx = std::move(*text);
  lineStarts = {0};
  for (size_t i = 0; i < ptx.size(); ++i)
    if (ptx[i] == '\n')
      lineStarts.push_back(i + 1);
  Expected<std::vector<uint64_t>> seeds = parseSeeds(options.seeds);
  if (!seeds)
    return Failure{seeds.message()};
  seedList = *seeds;
  if (Status status = emulator::selectChecks(options.checks, ',', emulatorOptions); !status)
    return Failure{status.message()};
  if (options.arithmetic != "fast" && options.arithmetic != "h100")
    return Failure{"expected arithmetic fast or h100, but got " + options.arithmetic};
  if (options.format != "text" && options.format != "json")
    return Failure{"expected format text or json, but got " + options.format};
  emulatorOptions.h100Arithmetic = options.arithmetic == "h100";
  emulatorOptions.countOpcodes = emulatorOptions.countConflicts = options.stats;
  emulatorOptions.threads = options.threads;
  if (options.budget)
    emulatorOptions.instructionBudget = options.budget;
  if (Status status = options.descriptor.empty() ? prepareArguments() : prepareDescriptor(); !status)
    return Failure{status.message()};
  return std::nullopt;
}

Status Session::prepareDescriptor() {
  if (!options.arguments.empty())
    return makeError("expected --bind with a descriptor, but got --arg");
  const Expected<std::string> text = readFile(options.descriptor);
  if (!text)
    return text.error();
  Expected<LaunchDescriptor> parsed = LaunchDescriptor::fromJson(*text);
  if (!parsed)
    return makeError(options.descriptor + ": " + parsed.message());
  descriptor = std::move(*parsed);
  for (const std::string &binding : options.bindings) {
    const size_t equals = binding.find('=');
    if (equals == std::string::npos || equals == 0)
      return makeError("expected --bind NAME=BUFFER or NAME=NUMBER, but got " + binding);
    const std::string name = binding.substr(0, equals), value = binding.substr(equals + 1);
    char *end = nullptr;
    const double number = std::strtod(value.c_str(), &end);
    if (!value.empty() && !*end) {
      scalars[name] = number;
      continue;
    }
    Expected<Buffer> buffer = parseBuffer(value, name);
    if (!buffer)
      return makeError("binding '" + name + "': " + buffer.message());
    buffers[name] = std::move(*buffer);
  }
  return Status::success();
}

Status Session::prepareArguments() {
  if (!options.bindings.empty())
    return makeError("expected --arg without a descriptor, but got --bind");
  for (const std::string &text : options.arguments) {
    Expected<Argument> argument = parseArgument(text, arguments.size());
    if (!argument)
      return makeError("argument " + std::to_string(arguments.size()) + ": " + argument.message());
    if (argument->kind == Argument::Kind::TensorMap && arguments[argument->mapOf].kind != Argument::Kind::Buffer)
      return makeError("argument " + std::to_string(arguments.size()) + ": expected argument " +
                       std::to_string(argument->mapOf) + " to be a buffer");
    arguments.push_back(std::move(*argument));
  }
  return Status::success();
}

Expected<emulator::LaunchRequest> Session::requestFromDescriptor(Device &device) {
  Bindings bindings;
  bindings.scalars = scalars;
  for (auto &[name, buffer] : buffers) {
    const Expected<DeviceAddress> address = device.place(buffer);
    if (!address)
      return address.error();
    bindings.tensors[name] = {buffer.type, *address, 0, buffer.sizes, buffer.strides()};
  }
  Expected<PtxLaunch> launch = preparePtxLaunch(*descriptor, bindings);
  if (!launch)
    return launch.error();
  emulator::LaunchRequest request;
  std::copy(launch->grid, launch->grid + 3, request.grid);
  std::copy(launch->block, launch->block + 3, request.block);
  std::copy(launch->cluster, launch->cluster + 3, request.cluster);
  request.dynamicSharedBytes = launch->sharedBytes;
  if (Status status = device.checkCount(launch->arguments.size()); !status)
    return status.error();
  for (size_t i = 0; i < launch->arguments.size(); ++i) {
    PtxArgument &argument = launch->arguments[i];
    if (argument.isScratch) {
      const Expected<DeviceAddress> scratch = device.emulator.allocate(launch->scratchBytes, "scratch");
      if (!scratch)
        return scratch.error();
      std::memcpy(argument.bytes.data(), &*scratch, sizeof *scratch);
    }
    if (argument.tensorMap) {
      Expected<std::vector<uint8_t>> bytes = encode(*argument.tensorMap, argument.where);
      if (!bytes)
        return bytes.error();
      argument.bytes = *bytes;
    }
    if (Status status = device.setParameter(request, i, argument.bytes); !status)
      return status.error();
  }
  return request;
}

Expected<emulator::LaunchRequest> Session::requestFromArguments(Device &device) {
  emulator::LaunchRequest request;
  if (Status status = parseTriple(options.grid, "--grid", request.grid); !status)
    return status.error();
  if (Status status = parseTriple(options.block, "--block", request.block); !status)
    return status.error();
  if (Status status = parseTriple(options.cluster, "--cluster", request.cluster); !status)
    return status.error();
  request.dynamicSharedBytes = options.sharedBytes;
  if (Status status = device.checkCount(arguments.size()); !status)
    return status.error();
  std::vector<DeviceAddress> addresses(arguments.size());
  for (size_t i = 0; i < arguments.size(); ++i) {
    Argument &argument = arguments[i];
    Expected<std::vector<uint8_t>> bytes = argument.scalar;
    if (argument.kind == Argument::Kind::Buffer || argument.kind == Argument::Kind::Scratch) {
      const Expected<DeviceAddress> address = argument.kind == Argument::Kind::Buffer
                                                  ? device.place(argument.buffer)
                                                  : device.emulator.allocate(argument.scratchBytes, "scratch");
      if (!address)
        return address.error();
      addresses[i] = *address;
      bytes->resize(8);
      std::memcpy(bytes->data(), &*address, 8);
    } else if (argument.kind == Argument::Kind::TensorMap) {
      const Buffer &buffer = arguments[argument.mapOf].buffer;
      // The same rules as for descriptors: a descriptor with one argument.
      LaunchDescriptor single;
      single.entry = entry;
      single.abi = "ptx";
      single.arguments.emplace_back();
      single.arguments[0].kind = KernelArgument::Kind::TensorMap;
      single.arguments[0].tensor = buffer.name;
      single.arguments[0].box = argument.box;
      single.arguments[0].swizzle = argument.swizzle;
      Bindings bindings;
      bindings.tensors[buffer.name] = {buffer.type, addresses[argument.mapOf], 0, buffer.sizes, buffer.strides()};
      const Expected<PtxLaunch> launch = preparePtxLaunch(single, bindings);
      if (!launch)
        return launch.error();
      bytes = encode(*launch->arguments[0].tensorMap, "argument " + std::to_string(i));
      if (!bytes)
        return bytes.error();
    }
    if (Status status = device.setParameter(request, i, *bytes); !status)
      return status.error();
  }
  return request;
}

std::optional<Failure> Session::listEntries(std::vector<EntryInfo> &entries) const {
  emulator::Emulator device;
  auto program = device.load(ptx);
  if (!program)
    return Failure{options.ptx + ": " + program.message(), exitBadPtx};
  entries = device.entries(**program);
  return std::nullopt;
}

std::optional<Failure> Session::run(uint64_t seed, bool timeline, SeedResult &result, const std::string *mutant) {
  emulatorOptions.seed = seed;
  emulatorOptions.timeline = timeline;
  Device device(emulatorOptions);
  auto program = device.emulator.load(mutant ? *mutant : ptx);
  if (!program)
    return Failure{options.ptx + ": " + program.message(), exitBadPtx};
  device.program = *program;
  entry = !options.entry.empty() ? options.entry : descriptor ? descriptor->entry : "";
  std::string names;
  bool found = false;
  const std::vector<EntryInfo> entries = device.emulator.entries(**program);
  for (const EntryInfo &info : entries) {
    names += (names.empty() ? "" : ", ") + info.name;
    if (info.name != entry && !(entry.empty() && entries.size() == 1))
      continue;
    device.info = info;
    found = true;
  }
  if (!found)
    return Failure{"expected a kernel " + (entry.empty() ? "named with --entry" : "'" + entry + "'") + ", but " +
                   options.ptx + " has: " + (names.empty() ? "none" : names)};
  entry = device.info.name;
  Expected<emulator::LaunchRequest> request = descriptor ? requestFromDescriptor(device) : requestFromArguments(device);
  if (!request)
    return Failure{request.message()};
  request->entry = entry;
  result.seed = seed;
  if (request->grid[0] && request->grid[1] && request->grid[2]) {
    Expected<emulator::LaunchResult> launch = device.emulator.launch(*device.program, *request);
    if (!launch)
      return Failure{launch.message(), exitCannotLaunch};
    result.launch = std::move(*launch);
  }
  device.emulator.resetError(); // a fatal finding is in the result; the outputs are still worth looking at
  if (Status status = collectOutputs(device); !status)
    return Failure{status.message()};
  return std::nullopt;
}

Status Session::collectOutputs(Device &device) {
  std::vector<std::pair<Buffer *, std::vector<std::byte>>> collected;
  for (auto &[buffer, address] : device.placed) {
    if (buffer->outputPath.empty())
      continue;
    std::vector<std::byte> bytes(buffer->bytes());
    if (Status status = device.emulator.copyToHost(bytes.data(), address, bytes.size()); !status)
      return status;
    collected.push_back({buffer, std::move(bytes)});
  }
  differ = differ || (hasRun && collected != outputs);
  hasRun = true;
  outputs = std::move(collected);
  return Status::success();
}

std::optional<Failure> Session::writeOutputs() const {
  for (const auto &[buffer, bytes] : outputs)
    if (Status status = writeNpy(buffer->outputPath, buffer->type, buffer->sizes, bytes.data()); !status)
      return Failure{status.message()};
  return std::nullopt;
}

std::string Session::sourceLine(int line) const {
  if (line < 1 || static_cast<size_t>(line) > lineStarts.size())
    return {};
  const size_t begin = ptx.find_first_not_of(" \t\r\n", lineStarts[static_cast<size_t>(line) - 1]);
  const size_t end = begin == std::string::npos ? begin : ptx.find_first_of("\r\n", begin);
  return begin == std::string::npos ? "" : ptx.substr(begin, end - begin);
}

} // namespace fa::runtime::tool
