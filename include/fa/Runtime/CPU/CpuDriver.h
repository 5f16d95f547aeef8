// Executes kernels of abi "so" in this process: a shared object or a JIT-compiled function, its grid walked by threads.
#pragma once
#include "fa/Runtime/CPU/ThreadPool.h"
#include "fa/Runtime/Driver.h"
#include <mutex>

namespace fa::runtime {

/// Device memory is host memory: a tensor's base may be any pointer of this process, allocated here or not. For memory
/// allocated here, `launch` also checks that every tensor lies inside its allocation.
///
/// Blocks are handed to threads one at a time (`order` heavy_first: the last block first). A kernel writes each result
/// from one block only, so results do not depend on the number of threads.
class CpuDriver : public Driver {
public:
  /// `threads` = 0: one for each core the process may use.
  explicit CpuDriver(unsigned threads = 0);
  ~CpuDriver() override;

  unsigned threads() const { return pool.threads(); }

  std::string describe() const override;
  std::string abi() const override { return "so"; }
  /// 64-byte aligned; refuses more than the machine's memory.
  Expected<DeviceAddress> allocate(size_t bytes) override;
  Status release(DeviceAddress address) override;
  Status copyToDevice(DeviceAddress to, const void *from, size_t bytes) override;
  Status copyToHost(void *to, DeviceAddress from, size_t bytes) override;
  /// Also checks that this CPU has what the code may use.
  Status accepts(const LaunchDescriptor &descriptor) const override;
  /// Kinds SharedObject and Function. A shared object stays loaded as long as its module.
  Expected<std::unique_ptr<Module>> loadModule(const ModuleImage &image) override;
  /// Wall-clock seconds of the grid walk alone.
  Expected<double> launch(Module &module, const LaunchDescriptor &descriptor, const Bindings &bindings) override;

private:
  ThreadPool pool;
  mutable std::mutex mutex; ///< guards `allocations`
  std::map<DeviceAddress, size_t> allocations;

  Status checkInside(const std::string &name, const Tensor &tensor) const;
};

} // namespace fa::runtime
