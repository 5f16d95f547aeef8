// Binds the driver API's entry points.
#include "CudaApi.h"
#include <dlfcn.h>
#include <optional>

namespace fa::runtime::cuda {
namespace {

Expected<Api> bind() {
  void *library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return makeError(std::string("cannot load the CUDA driver: ") + ::dlerror() +
                     "; install an NVIDIA driver, or use the emulator");
  Api api;
  const char *missing = nullptr;
#define FA_BIND_OPTIONAL(name, ...) api.name = reinterpret_cast<decltype(api.name)>(::dlsym(library, #name));
#define FA_BIND(name, ...)                                                                                             \
  FA_BIND_OPTIONAL(name)                                                                                               \
  if (!api.name && !missing)                                                                                           \
    missing = #name;
  FA_CUDA_FUNCTIONS(FA_BIND, FA_BIND_OPTIONAL)
#undef FA_BIND
#undef FA_BIND_OPTIONAL
  if (!api.cuEventElapsedTime && !api.cuEventElapsedTime_v2)
    missing = "cuEventElapsedTime";
  if (missing)
    return makeError(std::string("expected a CUDA driver of version 12.0 or newer, but libcuda.so.1 has no ") +
                     missing);
  return api;
}

} // namespace

Expected<const Api *> Api::load() {
  static const Expected<Api> api = bind();
  if (!api)
    return api.error();
  return &*api;
}

Status Api::check(Result result, const char *call) const {
  if (result == 0)
    return Status::success();
  const char *name = nullptr, *meaning = nullptr;
  if (cuGetErrorName(result, &name) != 0 || !name)
    name = "unknown error";
  if (cuGetErrorString(result, &meaning) != 0 || !meaning)
    meaning = "no description";
  return makeError(std::string(call) + " failed: " + name + " (" + std::to_string(result) + "): " + meaning, result);
}

} // namespace fa::runtime::cuda
