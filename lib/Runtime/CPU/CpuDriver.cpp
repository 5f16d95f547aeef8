// The CPU as a device: allocations are plain memory, a module is a function, a launch is a loop over the grid.
#include "fa/Runtime/CPU/CpuDriver.h"
#include "Arguments.h"
#include "fa/Runtime/CPU/HostCpu.h"
#include "fa/Support/Text.h"
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>

namespace fa::runtime {
namespace {

constexpr size_t alignment = 64;

/// A shared object, or a function of this process.
class CpuModule : public Module {
public:
  explicit CpuModule(void *function) : function(function) {}
  CpuModule(void *library, std::string path) : library(library), path(std::move(path)) {}
  ~CpuModule() override {
    if (library)
      ::dlclose(library);
  }

  Expected<CpuKernel> kernel(const std::string &entry) const {
    void *address = library ? ::dlsym(library, entry.c_str()) : function;
    if (!address)
      return makeError(path + ": expected a kernel '" + entry + "', but the shared object has no such symbol");
    return reinterpret_cast<CpuKernel>(address);
  }

private:
  void *library = nullptr;
  void *function = nullptr;
  std::string path;
};

struct Launch {
  int64_t blocks = 0;
  int64_t scratchBytes = 0;
};

Expected<int64_t> evaluateSize(const LaunchDescriptor &descriptor, const std::string &what, const std::string &text,
                               const SymbolTable &symbols) {
  const Expected<int64_t> value = evaluateExpression(text, symbols);
  if (!value)
    return makeError("kernel '" + descriptor.entry + "', " + what + ": " + value.message());
  if (*value < 0)
    return makeError("kernel '" + descriptor.entry + "': expected a " + what + " of 0 or more, but got " +
                     std::to_string(*value) + " from `" + text + "`");
  return *value;
}

Expected<Launch> evaluateLaunch(const LaunchDescriptor &descriptor, const SymbolTable &symbols) {
  Launch launch{1, 0};
  for (const std::string &text : descriptor.grid) {
    const Expected<int64_t> size = evaluateSize(descriptor, "grid size", text, symbols);
    if (!size)
      return size.error();
    if (__builtin_mul_overflow(launch.blocks, *size, &launch.blocks))
      return makeError("kernel '" + descriptor.entry + "': expected a grid below 2^63 blocks, but its size overflows");
  }
  const Expected<int64_t> scratch = evaluateSize(descriptor, "scratch size", descriptor.scratchBytes, symbols);
  if (!scratch)
    return scratch.error();
  launch.scratchBytes = *scratch;
  return launch;
}

/// First and last element that a tensor can touch, in elements from its base; empty tensors touch none.
struct Extent {
  __int128 low = 0, high = -1;
};

Extent extentOf(const Tensor &tensor) {
  Extent extent{tensor.offset, tensor.offset};
  for (size_t d = 0; d < tensor.sizes.size(); ++d) {
    if (tensor.sizes[d] <= 0)
      return {};
    const __int128 reach = static_cast<__int128>(tensor.sizes[d] - 1) * tensor.strides[d];
    (reach < 0 ? extent.low : extent.high) += reach;
  }
  return extent;
}

} // namespace

CpuDriver::CpuDriver(unsigned threads) : pool(threads) {}

CpuDriver::~CpuDriver() {
  for (const auto &[address, size] : allocations)
    std::free(reinterpret_cast<void *>(address));
}

std::string CpuDriver::describe() const {
  return "CPU, " + std::to_string(threads()) + (threads() == 1 ? " thread" : " threads");
}

Expected<DeviceAddress> CpuDriver::allocate(size_t bytes) {
  Expected<AlignedMemory> memory = allocateAligned(bytes, alignment, "a tensor");
  if (!memory)
    return memory.error();
  const auto address = static_cast<DeviceAddress>(reinterpret_cast<uintptr_t>(memory->release()));
  std::lock_guard lock(mutex);
  allocations[address] = bytes;
  return address;
}

Status CpuDriver::release(DeviceAddress address) {
  std::lock_guard lock(mutex);
  if (!allocations.erase(address))
    return makeError("expected the address of an allocation, but got one that is not (or was released already)");
  std::free(reinterpret_cast<void *>(address));
  return Status::success();
}

Status CpuDriver::copyToDevice(DeviceAddress to, const void *from, size_t bytes) {
  if (bytes)
    std::memcpy(reinterpret_cast<void *>(to), from, bytes);
  return Status::success();
}

Status CpuDriver::copyToHost(void *to, DeviceAddress from, size_t bytes) {
  if (bytes)
    std::memcpy(to, reinterpret_cast<const void *>(from), bytes);
  return Status::success();
}

Status CpuDriver::accepts(const LaunchDescriptor &descriptor) const {
  if (Status status = Driver::accepts(descriptor); !status)
    return status;
  if (Status status = checkHostCpu(descriptor.cpu); !status)
    return makeError("kernel '" + descriptor.entry + "': " + status.message());
  return Status::success();
}

Expected<std::unique_ptr<Module>> CpuDriver::loadModule(const ModuleImage &image) {
  switch (image.kind) {
  case ModuleImage::Kind::Function:
    if (!image.function)
      return makeError("expected the address of a function, but got none");
    return std::unique_ptr<Module>(std::make_unique<CpuModule>(image.function));
  case ModuleImage::Kind::SharedObject: {
    // A bare name would be searched for in system folders.
    const std::string path = image.data.find('/') == std::string::npos ? "./" + image.data : image.data;
    void *library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library)
      return makeError(std::string("cannot load a shared object: ") + ::dlerror());
    return std::unique_ptr<Module>(std::make_unique<CpuModule>(library, image.data));
  }
  case ModuleImage::Kind::Ptx:
  case ModuleImage::Kind::Cubin:
    break;
  }
  return makeError("expected a shared object or a function for a CPU, but got GPU code");
}

Status CpuDriver::checkInside(const std::string &name, const Tensor &tensor) const {
  if (tensor.sizes.size() != tensor.strides.size())
    return makeError("expected as many strides as sizes for tensor '" + name + "', but got " +
                     std::to_string(tensor.strides.size()) + " and " + std::to_string(tensor.sizes.size()));
  for (int64_t size : tensor.sizes)
    if (size < 0)
      return makeError("expected sizes of 0 or more for tensor '" + name + "', but got " + formatShape(tensor.sizes));
  const Extent extent = extentOf(tensor);
  if (extent.high < extent.low)
    return Status::success();
  if (tensor.base == 0)
    return makeError("expected memory for tensor '" + name + "', but its address is null");
  std::lock_guard lock(mutex);
  const auto found = allocations.find(tensor.base);
  if (found == allocations.end())
    return Status::success();
  const __int128 bytes = (extent.high + 1) * static_cast<__int128>(sizeOf(tensor.type));
  if (extent.low >= 0 && bytes <= static_cast<__int128>(found->second))
    return Status::success();
  return makeError("expected tensor '" + name + "' (" + formatShape(tensor.sizes) + ") to lie inside its " +
                   std::to_string(found->second) + " bytes, but its strides reach outside");
}

Expected<double> CpuDriver::launch(Module &module, const LaunchDescriptor &descriptor, const Bindings &bindings) {
  if (Status status = accepts(descriptor); !status)
    return status.error();
  auto *loaded = dynamic_cast<CpuModule *>(&module);
  if (!loaded)
    return makeError("kernel '" + descriptor.entry + "': expected a module that this driver loaded");
  for (const auto &[name, tensor] : bindings.tensors)
    if (Status status = checkInside(name, tensor); !status)
      return status.error();
  if (!descriptor.views.empty()) {
    const Expected<Bindings> whole = bindViews(descriptor, bindings);
    if (!whole)
      return whole.error();
    LaunchDescriptor bound = descriptor;
    bound.views.clear();
    return launch(module, bound, *whole);
  }
  if (Status status = checkGuards(descriptor, bindings); !status)
    return status.error();
  const Expected<Launch> sizes = evaluateLaunch(descriptor, symbolsOf(descriptor, bindings));
  if (!sizes)
    return sizes.error();
  const Expected<CpuKernel> kernel = loaded->kernel(descriptor.entry);
  if (!kernel)
    return kernel.error();
  const Expected<CpuArguments> arguments = CpuArguments::build(descriptor, bindings);
  if (!arguments)
    return arguments.error();
  if (sizes->blocks == 0)
    return 0.0;

  const int64_t blocks = sizes->blocks;
  const bool reversed = descriptor.order == "heavy_first";
  std::chrono::steady_clock::time_point start;
  // An argument array for each thread: they differ in the scratch arena.
  std::vector<CpuArguments> copies(threads(), *arguments);
  std::vector<std::vector<void *>> pointers(threads());
  const auto prepare = [&](const std::vector<ScratchArena> &arenas) {
    for (unsigned worker = 0; worker < threads(); ++worker)
      pointers[worker] = copies[worker].pointers(arenas[worker].data(), sizes->scratchBytes);
    start = std::chrono::steady_clock::now();
  };
  const auto body = [&](int64_t index, unsigned worker) {
    (*kernel)(reversed ? blocks - 1 - index : index, pointers[worker].data());
  };
  if (Status status = pool.run(blocks, static_cast<uint64_t>(sizes->scratchBytes), prepare, body); !status)
    return status.error();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

} // namespace fa::runtime
