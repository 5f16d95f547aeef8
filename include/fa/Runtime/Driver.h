// One small interface for everything that can execute a kernel: CPU thread pool, CUDA driver, PTX emulator.
// No LLVM or MLIR header here: a kernel made ahead of time needs the runtime library alone.
#pragma once
#include "fa/Support/DType.h"
#include "fa/Support/Expected.h"
#include "fa/Support/LaunchDescriptor.h"
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace fa::runtime {

/// Address of device memory as a kernel sees it.
using DeviceAddress = uint64_t;

/// A strided tensor in device memory. Sizes and strides in elements, outermost dimension first.
struct Tensor {
  DType type = DType::F32;
  DeviceAddress base = 0; ///< start of the allocation
  int64_t offset = 0;     ///< of the first element, in elements
  std::vector<int64_t> sizes;
  std::vector<int64_t> strides;

  DeviceAddress address() const { return base + static_cast<uint64_t>(offset) * sizeOf(type); }
};

/// What the names in a launch descriptor stand for. Scalars are stored as float64 and converted to the argument's type
/// (integers up to 2^53 are exact).
struct Bindings {
  std::map<std::string, Tensor> tensors;
  std::map<std::string, double> scalars;
};

/// A loaded module; unloads itself.
class Module {
public:
  virtual ~Module() = default;
};

/// What a module is made from.
struct ModuleImage {
  enum class Kind {
    Ptx,          ///< text
    Cubin,        ///< ELF for a CUDA device
    SharedObject, ///< path of a shared library (abi so)
    Function      ///< address of a function already in this process (JIT)
  };
  Kind kind = Kind::Ptx;
  std::string data;         ///< Ptx, Cubin: contents; SharedObject: path
  void *function = nullptr; ///< Function
};

/// The kernel ABI of CPUs: one call per block; `arguments[i]` points at argument i (a memref descriptor or a scalar).
using CpuKernel = void (*)(int64_t block, void **arguments);

/// Every call reports failure with the name of what failed and a remedy.
class Driver {
public:
  virtual ~Driver() = default;
  /// One line for people: which device this is.
  virtual std::string describe() const = 0;
  /// The descriptor ABI this driver launches: "ptx" or "so".
  virtual std::string abi() const = 0;
  virtual Expected<DeviceAddress> allocate(size_t bytes) = 0;
  virtual Status release(DeviceAddress address) = 0;
  virtual Status copyToDevice(DeviceAddress to, const void *from, size_t bytes) = 0;
  virtual Status copyToHost(void *to, DeviceAddress from, size_t bytes) = 0;
  /// Fails when code with this descriptor cannot run here, whatever its arguments: another ABI, another CPU. Asked
  /// before code is loaded.
  virtual Status accepts(const LaunchDescriptor &descriptor) const;
  virtual Expected<std::unique_ptr<Module>> loadModule(const ModuleImage &image) = 0;
  /// Checks guards, evaluates sizes, encodes tensor maps, launches, waits. Returns the execution time in seconds
  /// (device time where the device has a clock of its own). An empty grid succeeds without a launch.
  virtual Expected<double> launch(Module &module, const LaunchDescriptor &descriptor, const Bindings &bindings) = 0;
};

/// Resolves `symbols`, `<tensor>.dim<N>`, `<tensor>.stride<N>` and named integer scalars of a descriptor.
/// Both must outlive the result. A name that a cycle of symbols defines is unknown.
SymbolTable symbolsOf(const LaunchDescriptor &descriptor, const Bindings &bindings);
/// The bindings with the descriptor's views among the tensors. Fails for a view that reaches outside of its tensor.
Expected<Bindings> bindViews(const LaunchDescriptor &descriptor, const Bindings &bindings);
/// Fails with the guard's text, the values of its names and its remedy.
Status checkGuards(const LaunchDescriptor &descriptor, const Bindings &bindings);

} // namespace fa::runtime
