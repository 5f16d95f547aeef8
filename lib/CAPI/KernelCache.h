// Kernels compiled by this process, by everything that decides their code.
#pragma once
#include "Request.h"
#include "fa/Execution/Compile.h"
#include <list>
#include <memory>
#include <mutex>

namespace fa::capi {

/// Keeps the most recently used kernels. Safe to use from several threads; one compilation at a time.
class KernelCache {
public:
  static KernelCache &instance();

  Expected<std::shared_ptr<execution::CompiledAttention>> get(const Request &request);
  uint64_t compileCount() const;

private:
  static constexpr size_t capacity = 64;
  struct Entry {
    std::string key;
    std::shared_ptr<execution::CompiledAttention> kernel;
  };
  mutable std::mutex mutex;
  std::list<Entry> entries; ///< most recently used first
  uint64_t compiled = 0;
};

} // namespace fa::capi
