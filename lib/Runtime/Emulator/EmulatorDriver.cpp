// Launch descriptors on the emulator.
#include "fa/Runtime/Emulator/Emulator.h"
#include "fa/Runtime/Emulator/Engine/TensorMap.h"
#include "fa/Runtime/Emulator/Memory.h"
#include "fa/Runtime/PtxLaunch.h"
#include <cstring>

namespace fa::runtime::emulator {

namespace {
class EmulatorModule : public Module {
public:
  explicit EmulatorModule(std::shared_ptr<Program> program) : program(std::move(program)) {}
  std::shared_ptr<Program> program;
};

/// Releases scratch memory at the end of a launch.
class Scratch {
public:
  explicit Scratch(Emulator &device) : device(device) {}
  ~Scratch() {
    if (address)
      (void)device.release(address);
  }
  Scratch(const Scratch &) = delete;
  Scratch &operator=(const Scratch &) = delete;
  DeviceAddress address = 0;

private:
  Emulator &device;
};

Expected<std::vector<uint8_t>> encode(const PtxArgument &argument) {
  const TensorMapSpec &spec = *argument.tensorMap;
  TensorMapRequest request;
  request.type = spec.type;
  request.rank = spec.rank;
  request.base = spec.base;
  request.sizes = spec.sizes;
  request.strides = spec.strides;
  request.box = spec.box;
  request.elementStrides = spec.elementStrides;
  request.swizzle = spec.swizzle;
  auto map = makeTensorMap(request);
  if (!map)
    return makeError(argument.where + ": " + map.message(), map.error().code);
  EncodedTensorMap bytes = encodeTensorMap(*map);
  return std::vector<uint8_t>(bytes.begin(), bytes.end());
}
} // namespace

EmulatorDriver::EmulatorDriver(Options options) : device(std::make_unique<Emulator>(options)) {}
EmulatorDriver::~EmulatorDriver() = default;

std::string EmulatorDriver::describe() const {
  const Options &options = device->options();
  std::string checks;
  auto add = [&](bool on, const char *name) {
    if (on)
      checks += (checks.empty() ? "" : ", ") + std::string(name);
  };
  add(options.checkRaces, "races");
  add(options.checkMemory, "memory");
  add(options.checkRegisters, "registers");
  add(options.checkProtocol, "protocol");
  return "PTX emulator (sm_90a, checks: " + (checks.empty() ? "none" : checks) +
         (options.seed ? ", seed " + std::to_string(options.seed) : "") + ")";
}

Expected<DeviceAddress> EmulatorDriver::allocate(size_t bytes) { return device->allocate(bytes); }
Status EmulatorDriver::release(DeviceAddress address) { return device->release(address); }
Status EmulatorDriver::copyToDevice(DeviceAddress to, const void *from, size_t bytes) {
  return device->copyToDevice(to, from, bytes);
}
Status EmulatorDriver::copyToHost(void *to, DeviceAddress from, size_t bytes) {
  return device->copyToHost(to, from, bytes);
}

Expected<std::unique_ptr<Module>> EmulatorDriver::loadModule(const ModuleImage &image) {
  if (image.kind != ModuleImage::Kind::Ptx)
    return makeError("expected PTX text for the emulator, but got another kind of module", 209);
  auto program = device->load(image.data);
  if (!program)
    return program.error();
  return std::unique_ptr<Module>(new EmulatorModule(*program));
}

Expected<double> EmulatorDriver::launch(Module &module, const LaunchDescriptor &descriptor, const Bindings &bindings) {
  auto *loaded = dynamic_cast<EmulatorModule *>(&module);
  if (!loaded)
    return makeError("expected a module loaded by the emulator, but got one of another driver", InvalidValue);
  auto prepared = preparePtxLaunch(descriptor, bindings);
  if (!prepared)
    return prepared.error();
  if (prepared->empty())
    return 0.0;
  // Reports and counters name allocations as the descriptor does.
  for (const auto &[name, tensor] : bindings.tensors)
    if (Allocation *allocation = device->memory().find(tensor.base, 0))
      allocation->name = name;
  const EntryInfo *info = nullptr;
  auto entries = device->entries(*loaded->program);
  for (const EntryInfo &entry : entries)
    if (entry.name == descriptor.entry)
      info = &entry;
  if (!info)
    return makeError("expected an entry of the module, but got `" + descriptor.entry + "`", NotFound);
  if (info->parameters.size() != prepared->arguments.size())
    return makeError("expected " + std::to_string(info->parameters.size()) + " arguments for `" + descriptor.entry +
                         "`, but got " + std::to_string(prepared->arguments.size()) + " in the descriptor",
                     InvalidValue);

  Scratch scratch(*device);
  LaunchRequest request;
  request.entry = descriptor.entry;
  std::copy(prepared->grid, prepared->grid + 3, request.grid);
  std::copy(prepared->block, prepared->block + 3, request.block);
  std::copy(prepared->cluster, prepared->cluster + 3, request.cluster);
  request.dynamicSharedBytes = prepared->sharedBytes;
  request.parameters.assign(info->parameterBytes, 0);
  for (size_t i = 0; i < prepared->arguments.size(); ++i) {
    PtxArgument &argument = prepared->arguments[i];
    if (argument.tensorMap) {
      auto bytes = encode(argument);
      if (!bytes)
        return bytes.error();
      argument.bytes = std::move(*bytes);
    }
    if (argument.isScratch) {
      if (!scratch.address) {
        auto address = device->allocate(prepared->scratchBytes, "scratch");
        if (!address)
          return address.error();
        scratch.address = *address;
      }
      argument.bytes.resize(sizeof scratch.address);
      std::memcpy(argument.bytes.data(), &scratch.address, sizeof scratch.address);
    }
    const ParameterInfo &parameter = info->parameters[i];
    if (parameter.size != argument.bytes.size())
      return makeError(argument.where + ": expected " + std::to_string(parameter.size) +
                           " bytes, as the kernel declares, but got " + std::to_string(argument.bytes.size()),
                       InvalidValue);
    std::memcpy(request.parameters.data() + parameter.offset, argument.bytes.data(), parameter.size);
  }
  auto result = device->launch(*loaded->program, request);
  if (!result)
    return result.error();
  last = std::move(*result);
  if (last.status)
    return last.seconds;
  std::string text = "emulator: " + std::to_string(last.reports.size()) + " findings in `" + descriptor.entry + "`";
  for (const Report &report : last.reports)
    text += "\n  " + toString(report);
  return makeError(text, last.status.error().code);
}

} // namespace fa::runtime::emulator
