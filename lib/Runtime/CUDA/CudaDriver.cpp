// The CUDA driver as a device: one primary context, synchronous launches timed with events.
#include "fa/Runtime/CUDA/CudaDriver.h"
#include "CudaApi.h"
#include "fa/Runtime/PtxLaunch.h"
#include <algorithm>
#include <cstring>

namespace fa::runtime {
namespace {

using cuda::Api;

#define FA_CHECK(call, ...)                                                                                            \
  if (Status status = api.check(api.call(__VA_ARGS__), #call); !status)                                                \
  return status.error()

class CudaModule : public Module {
public:
  CudaModule(const Api &api, cuda::Context context, cuda::ModuleHandle handle)
      : api(api), context(context), handle(handle) {}
  ~CudaModule() override {
    (void)api.cuCtxSetCurrent(context);
    (void)api.cuModuleUnload(handle); // after a fatal error the context is lost anyway
  }

  Expected<cuda::Function> function(const std::string &entry) const {
    cuda::Function result = nullptr;
    if (Status status = api.check(api.cuModuleGetFunction(&result, handle, entry.c_str()), "cuModuleGetFunction");
        !status)
      return makeError("kernel '" + entry + "': " + status.message(), status.error().code);
    return result;
  }

private:
  const Api &api;
  cuda::Context context;
  cuda::ModuleHandle handle;
};

/// Destroys itself.
class EventPair {
public:
  explicit EventPair(const Api &api) : api(api) {}
  ~EventPair() {
    for (cuda::Event event : {begin, end})
      if (event)
        (void)api.cuEventDestroy_v2(event);
  }
  Status create() {
    FA_CHECK(cuEventCreate, &begin, 0);
    FA_CHECK(cuEventCreate, &end, 0);
    return Status::success();
  }
  Expected<double> seconds() {
    FA_CHECK(cuEventSynchronize, end);
    float milliseconds = 0;
    auto elapsed = api.cuEventElapsedTime_v2 ? api.cuEventElapsedTime_v2 : api.cuEventElapsedTime;
    if (Status status = api.check(elapsed(&milliseconds, begin, end), "cuEventElapsedTime"); !status)
      return status.error();
    return static_cast<double>(milliseconds) * 1e-3;
  }
  cuda::Event begin = nullptr, end = nullptr;

private:
  const Api &api;
};

class CudaDriver : public Driver {
public:
  CudaDriver(const Api &api, cuda::Device device, cuda::Context context, std::string description)
      : api(api), device(device), context(context), description(std::move(description)) {}
  ~CudaDriver() override {
    if (scratch) {
      (void)api.cuCtxSetCurrent(context);
      (void)api.cuMemFree_v2(scratch);
    }
    (void)api.cuDevicePrimaryCtxRelease_v2(device);
  }

  std::string describe() const override { return description; }
  std::string abi() const override { return "ptx"; }

  Expected<DeviceAddress> allocate(size_t bytes) override {
    FA_CHECK(cuCtxSetCurrent, context);
    cuda::DevicePointer address = 0;
    FA_CHECK(cuMemAlloc_v2, &address, std::max<size_t>(bytes, 1)); // the driver refuses 0
    return address;
  }
  Status release(DeviceAddress address) override {
    FA_CHECK(cuCtxSetCurrent, context);
    FA_CHECK(cuMemFree_v2, address);
    return Status::success();
  }
  Status copyToDevice(DeviceAddress to, const void *from, size_t bytes) override {
    FA_CHECK(cuCtxSetCurrent, context);
    if (bytes)
      FA_CHECK(cuMemcpyHtoD_v2, to, from, bytes);
    return Status::success();
  }
  Status copyToHost(void *to, DeviceAddress from, size_t bytes) override {
    FA_CHECK(cuCtxSetCurrent, context);
    if (bytes)
      FA_CHECK(cuMemcpyDtoH_v2, to, from, bytes);
    return Status::success();
  }

  Expected<std::unique_ptr<Module>> loadModule(const ModuleImage &image) override {
    if (image.kind != ModuleImage::Kind::Ptx && image.kind != ModuleImage::Kind::Cubin)
      return makeError("expected PTX or a cubin for a CUDA device, but got CPU code");
    FA_CHECK(cuCtxSetCurrent, context);
    // Text must end with a zero byte, which std::string provides.
    char log[8192] = {};
    int options[] = {cuda::jitErrorLog, cuda::jitErrorLogSize};
    void *values[] = {log, reinterpret_cast<void *>(sizeof log - 1)};
    cuda::ModuleHandle handle = nullptr;
    const cuda::Result result = api.cuModuleLoadDataEx(&handle, image.data.c_str(), 2, options, values);
    if (Status status = api.check(result, "cuModuleLoadDataEx"); !status)
      return makeError(status.message() + (log[0] ? "\n" + std::string(log) : ""), result);
    return std::unique_ptr<Module>(std::make_unique<CudaModule>(api, context, handle));
  }

  Expected<double> launch(Module &module, const LaunchDescriptor &descriptor, const Bindings &bindings) override {
    auto *loaded = dynamic_cast<CudaModule *>(&module);
    if (!loaded)
      return makeError("kernel '" + descriptor.entry + "': expected a module that this driver loaded");
    int multiprocessors = 0;
    FA_CHECK(cuDeviceGetAttribute, &multiprocessors, cuda::attributeMultiprocessors, device);
    Expected<PtxLaunch> launch = preparePtxLaunch(descriptor, bindings, multiprocessors);
    if (!launch)
      return launch.error();
    const Expected<cuda::Function> function = loaded->function(descriptor.entry);
    if (!function)
      return function.error();
    if (launch->empty())
      return 0.0;
    FA_CHECK(cuCtxSetCurrent, context);
    if (Status status = checkParameters(*function, descriptor, *launch); !status)
      return status.error();
    if (Status status = bindScratch(*launch); !status)
      return status.error();
    return launchAndTime(*function, descriptor, *launch);
  }

private:
  const Api &api;
  cuda::Device device;
  cuda::Context context;
  std::string description;
  cuda::DevicePointer scratch = 0;
  uint64_t scratchBytes = 0;

  /// A wrong parameter count or size would make the driver read past the array.
  Status checkParameters(cuda::Function function, const LaunchDescriptor &descriptor, const PtxLaunch &launch) const {
    if (!api.cuFuncGetParamInfo)
      return Status::success();
    size_t count = 0, offset = 0, size = 0;
    for (; api.cuFuncGetParamInfo(function, count, &offset, &size) == 0; ++count) {
      if (count >= launch.arguments.size())
        continue;
      const PtxArgument &argument = launch.arguments[count];
      const size_t given = argument.tensorMap ? sizeof(cuda::TensorMap) : argument.bytes.size();
      if (given != size)
        return makeError(argument.where + ": expected " + std::to_string(size) + " bytes, but got " +
                         std::to_string(given));
    }
    if (count != launch.arguments.size())
      return makeError("kernel '" + descriptor.entry + "': expected " + std::to_string(count) +
                       " arguments, but the descriptor has " + std::to_string(launch.arguments.size()));
    return Status::success();
  }

  Status bindScratch(PtxLaunch &launch) {
    if (launch.scratchBytes > scratchBytes) {
      if (scratch)
        FA_CHECK(cuMemFree_v2, scratch);
      scratch = scratchBytes = 0;
      FA_CHECK(cuMemAlloc_v2, &scratch, launch.scratchBytes);
      scratchBytes = launch.scratchBytes;
    }
    for (PtxArgument &argument : launch.arguments)
      if (argument.isScratch)
        std::memcpy(argument.bytes.data(), &scratch, sizeof scratch);
    return Status::success();
  }

  Status allowShared(cuda::Function function, const LaunchDescriptor &descriptor, uint64_t bytes) const {
    if (bytes <= 48 * 1024)
      return Status::success();
    const cuda::Result result =
        api.cuFuncSetAttribute(function, cuda::functionMaxDynamicShared, static_cast<int>(bytes));
    if (Status status = api.check(result, "cuFuncSetAttribute"); !status) {
      int limit = 0;
      (void)api.cuDeviceGetAttribute(&limit, cuda::attributeSharedPerBlockOptin, device);
      return makeError("kernel '" + descriptor.entry + "': expected at most " + std::to_string(limit) +
                           " bytes of shared memory, but got " + std::to_string(bytes) + ": " + status.message(),
                       result);
    }
    return Status::success();
  }

  Expected<double> launchAndTime(cuda::Function function, const LaunchDescriptor &descriptor, PtxLaunch &launch) const {
    std::vector<cuda::TensorMap> maps(launch.arguments.size());
    std::vector<void *> parameters;
    for (size_t i = 0; i < launch.arguments.size(); ++i) {
      PtxArgument &argument = launch.arguments[i];
      parameters.push_back(argument.tensorMap ? static_cast<void *>(&maps[i]) : argument.bytes.data());
      if (!argument.tensorMap)
        continue;
      const TensorMapSpec &spec = *argument.tensorMap;
      const cuda::Result result = api.cuTensorMapEncodeTiled(
          &maps[i], spec.type, spec.rank, reinterpret_cast<void *>(spec.base), spec.sizes, spec.strides, spec.box,
          spec.elementStrides, /*interleave=*/0, spec.swizzle, /*l2Promotion=*/2, /*fill=*/0);
      if (Status status = api.check(result, "cuTensorMapEncodeTiled"); !status)
        return makeError(argument.where + ": " + status.message(), result);
    }
    if (Status status = allowShared(function, descriptor, launch.sharedBytes); !status)
      return status.error();

    cuda::LaunchAttribute cluster{.id = cuda::launchClusterDimension, .padding = 0, .bytes = {}};
    cluster.cluster = {launch.cluster[0], launch.cluster[1], launch.cluster[2]};
    const bool clustered = launch.cluster[0] * launch.cluster[1] * launch.cluster[2] > 1;
    cuda::LaunchConfig config{};
    std::copy(launch.grid, launch.grid + 3, config.grid);
    std::copy(launch.block, launch.block + 3, config.block);
    config.sharedBytes = static_cast<unsigned>(launch.sharedBytes);
    config.attributes = &cluster;
    config.attributeCount = clustered;

    EventPair events(api);
    if (Status status = events.create(); !status)
      return status.error();
    FA_CHECK(cuEventRecord, events.begin, nullptr);
    FA_CHECK(cuLaunchKernelEx, &config, function, parameters.data(), nullptr);
    FA_CHECK(cuEventRecord, events.end, nullptr);
    FA_CHECK(cuCtxSynchronize);
    return events.seconds();
  }
};

} // namespace

Expected<std::unique_ptr<Driver>> createCudaDriver(int ordinal) {
  const Expected<const Api *> loaded = Api::load();
  if (!loaded)
    return loaded.error();
  const Api &api = **loaded;
  FA_CHECK(cuInit, 0);
  int count = 0, version = 0, major = 0, minor = 0;
  FA_CHECK(cuDriverGetVersion, &version);
  FA_CHECK(cuDeviceGetCount, &count);
  if (ordinal < 0 || ordinal >= count)
    return makeError("expected a CUDA device in 0.." + std::to_string(count - 1) + ", but got " +
                     std::to_string(ordinal) + " (the driver reports " + std::to_string(count) + " devices)");
  cuda::Device device = 0;
  cuda::Context context = nullptr;
  char name[256] = {};
  FA_CHECK(cuDeviceGet, &device, ordinal);
  FA_CHECK(cuDeviceGetName, name, sizeof name, device);
  FA_CHECK(cuDeviceGetAttribute, &major, cuda::attributeMajor, device);
  FA_CHECK(cuDeviceGetAttribute, &minor, cuda::attributeMinor, device);
  FA_CHECK(cuDevicePrimaryCtxRetain, &context, device);
  std::string description = "CUDA device " + std::to_string(ordinal) + ": " + name + ", sm_" + std::to_string(major) +
                            std::to_string(minor) + ", driver " + std::to_string(version / 1000) + "." +
                            std::to_string(version % 1000 / 10);
  return std::unique_ptr<Driver>(std::make_unique<CudaDriver>(api, device, context, std::move(description)));
}

} // namespace fa::runtime
