// The part of the CUDA driver API that the project calls: own declarations, bound to libcuda.so.1 at run time.
// Source: CUDA Driver API reference; the versioned names are the ones cuda.h maps to.
#pragma once
#include "fa/Support/Expected.h"
#include <cstddef>
#include <cstdint>
#include <string>

namespace fa::runtime::cuda {

using Result = int;
using Device = int;
using DevicePointer = uint64_t;
struct ContextOpaque;
struct ModuleOpaque;
struct FunctionOpaque;
struct EventOpaque;
struct StreamOpaque;
using Context = ContextOpaque *;
using ModuleHandle = ModuleOpaque *;
using Function = FunctionOpaque *;
using Event = EventOpaque *;
using Stream = StreamOpaque *;

struct alignas(128) TensorMap {
  uint64_t opaque[16];
};

struct LaunchAttribute {
  unsigned id; ///< 4: cluster dimension
  unsigned padding;
  union {
    char bytes[64];
    struct {
      unsigned x, y, z;
    } cluster;
  };
};
static_assert(sizeof(LaunchAttribute) == 72);

struct LaunchConfig {
  unsigned grid[3];
  unsigned block[3];
  unsigned sharedBytes;
  Stream stream;
  LaunchAttribute *attributes;
  unsigned attributeCount;
};
static_assert(sizeof(LaunchConfig) == 56);

// CUdevice_attribute, CUfunction_attribute, CUjit_option, CUlaunchAttributeID.
enum : int {
  attributeMultiprocessors = 16,
  attributeMajor = 75,
  attributeMinor = 76,
  attributeSharedPerBlockOptin = 97
};
enum : int { functionMaxDynamicShared = 8 };
enum : int { jitErrorLog = 5, jitErrorLogSize = 6 };
enum : unsigned { launchClusterDimension = 4 };

/// name(type of the function). FA_OPTIONAL ones may be null in old drivers.
#define FA_CUDA_FUNCTIONS(FA_REQUIRED, FA_OPTIONAL)                                                                    \
  FA_REQUIRED(cuInit, Result (*)(unsigned))                                                                            \
  FA_REQUIRED(cuDriverGetVersion, Result (*)(int *))                                                                   \
  FA_REQUIRED(cuDeviceGetCount, Result (*)(int *))                                                                     \
  FA_REQUIRED(cuDeviceGet, Result (*)(Device *, int))                                                                  \
  FA_REQUIRED(cuDeviceGetName, Result (*)(char *, int, Device))                                                        \
  FA_REQUIRED(cuDeviceGetAttribute, Result (*)(int *, int, Device))                                                    \
  FA_REQUIRED(cuDevicePrimaryCtxRetain, Result (*)(Context *, Device))                                                 \
  FA_REQUIRED(cuDevicePrimaryCtxRelease_v2, Result (*)(Device))                                                        \
  FA_REQUIRED(cuCtxSetCurrent, Result (*)(Context))                                                                    \
  FA_REQUIRED(cuCtxSynchronize, Result (*)())                                                                          \
  FA_REQUIRED(cuMemAlloc_v2, Result (*)(DevicePointer *, size_t))                                                      \
  FA_REQUIRED(cuMemFree_v2, Result (*)(DevicePointer))                                                                 \
  FA_REQUIRED(cuMemcpyHtoD_v2, Result (*)(DevicePointer, const void *, size_t))                                        \
  FA_REQUIRED(cuMemcpyDtoH_v2, Result (*)(void *, DevicePointer, size_t))                                              \
  FA_REQUIRED(cuModuleLoadDataEx, Result (*)(ModuleHandle *, const void *, unsigned, int *, void **))                  \
  FA_REQUIRED(cuModuleUnload, Result (*)(ModuleHandle))                                                                \
  FA_REQUIRED(cuModuleGetFunction, Result (*)(Function *, ModuleHandle, const char *))                                 \
  FA_REQUIRED(cuFuncSetAttribute, Result (*)(Function, int, int))                                                      \
  FA_REQUIRED(cuLaunchKernelEx, Result (*)(const LaunchConfig *, Function, void **, void **))                          \
  FA_REQUIRED(cuEventCreate, Result (*)(Event *, unsigned))                                                            \
  FA_REQUIRED(cuEventDestroy_v2, Result (*)(Event))                                                                    \
  FA_REQUIRED(cuEventRecord, Result (*)(Event, Stream))                                                                \
  FA_REQUIRED(cuEventSynchronize, Result (*)(Event))                                                                   \
  FA_REQUIRED(cuTensorMapEncodeTiled,                                                                                  \
              Result (*)(TensorMap *, int, uint32_t, void *, const uint64_t *, const uint64_t *, const uint32_t *,     \
                         const uint32_t *, int, int, int, int))                                                        \
  FA_REQUIRED(cuGetErrorName, Result (*)(Result, const char **))                                                       \
  FA_REQUIRED(cuGetErrorString, Result (*)(Result, const char **))                                                     \
  FA_OPTIONAL(cuEventElapsedTime, Result (*)(float *, Event, Event))                                                   \
  FA_OPTIONAL(cuEventElapsedTime_v2, Result (*)(float *, Event, Event))                                                \
  FA_OPTIONAL(cuFuncGetParamInfo, Result (*)(Function, size_t, size_t *, size_t *))

struct Api {
  template <typename T> using Type = T;
#define FA_DECLARE(name, ...) Type<__VA_ARGS__> name = nullptr;
  FA_CUDA_FUNCTIONS(FA_DECLARE, FA_DECLARE)
#undef FA_DECLARE

  /// The library is loaded once and stays loaded.
  static Expected<const Api *> load();

  /// Success for 0; else `cuMemAlloc_v2 failed: CUDA_ERROR_OUT_OF_MEMORY (2): out of memory`.
  Status check(Result result, const char *call) const;
};

} // namespace fa::runtime::cuda
