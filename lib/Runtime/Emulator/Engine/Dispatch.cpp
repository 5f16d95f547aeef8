// Chooses the widest vector kernels that the machine supports.
#include "Kernels.h"
#include "fa/Runtime/Emulator/Engine/TensorCore.h"
#include <atomic>
#include <string>

namespace fa::runtime::emulator {
namespace {

bool isSupported(const detail::Kernels &kernels) {
  if (&kernels == &detail::kernelsAvx512)
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("fma");
  if (&kernels == &detail::kernelsAvx2)
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  return true;
}

constexpr const detail::Kernels *all[] = {&detail::kernelsAvx512, &detail::kernelsAvx2, &detail::kernelsSse2};

const detail::Kernels *widest() {
  for (const detail::Kernels *kernels : all)
    if (isSupported(*kernels))
      return kernels;
  return &detail::kernelsSse2;
}

std::atomic<const detail::Kernels *> &selected() {
  static std::atomic<const detail::Kernels *> kernels = widest();
  return kernels;
}

} // namespace

const detail::Kernels &detail::kernels() { return *selected().load(std::memory_order_relaxed); }

const char *tensorCoreIsa() { return detail::kernels().name; }

Status selectTensorCoreIsa(const char *name) {
  for (const detail::Kernels *kernels : all) {
    if (std::string(name) != kernels->name)
      continue;
    if (!isSupported(*kernels))
      return makeError(std::string("expected an instruction set of this machine, but it lacks ") + name);
    selected().store(kernels);
    return Status::success();
  }
  return makeError(std::string("expected avx512, avx2 or sse2, but got ") + name);
}

} // namespace fa::runtime::emulator
