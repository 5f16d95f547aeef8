// cuGetProcAddress: the newest version of each entry point under its plain name.
#include "Shim.h"
#include <algorithm>
#include <string_view>

// The types do not matter here: only addresses are handed out.
#define FA_SHIM_ENTRY_POINTS(F)                                                                                        \
  F(cuInit)                                                                                                            \
  F(cuDriverGetVersion)                                                                                                \
  F(cuDeviceGetCount) F(cuDeviceGet) F(cuDeviceGetName) F(cuDeviceGetAttribute) F(cuDeviceTotalMem_v2)                 \
      F(cuDeviceGetUuid) F(cuDeviceGetUuid_v2) F(cuGetErrorName) F(cuGetErrorString) F(cuGetProcAddress_v2)            \
          F(cuDevicePrimaryCtxRetain) F(cuDevicePrimaryCtxRelease_v2) F(cuCtxCreate_v2) F(cuCtxCreate_v4)              \
              F(cuCtxDestroy_v2) F(cuCtxSetCurrent) F(cuCtxGetCurrent) F(cuCtxPushCurrent_v2) F(cuCtxPopCurrent_v2)    \
                  F(cuCtxSynchronize) F(cuModuleLoadData) F(cuModuleLoadDataEx) F(cuModuleUnload)                      \
                      F(cuModuleGetFunction) F(cuModuleGetGlobal_v2) F(cuFuncSetAttribute) F(cuFuncGetAttribute)       \
                          F(cuFuncGetParamInfo) F(cuOccupancyMaxActiveBlocksPerMultiprocessor) F(cuLaunchKernel)       \
                              F(cuLaunchKernelEx) F(cuMemAlloc_v2) F(cuMemFree_v2) F(cuMemAllocAsync)                  \
                                  F(cuMemFreeAsync) F(cuMemGetInfo_v2) F(cuMemcpyHtoD_v2) F(cuMemcpyDtoH_v2)           \
                                      F(cuMemcpyDtoD_v2) F(cuMemcpyHtoDAsync_v2) F(cuMemcpyDtoHAsync_v2)               \
                                          F(cuMemcpyDtoDAsync_v2) F(cuMemsetD8_v2) F(cuMemsetD16_v2) F(cuMemsetD32_v2) \
                                              F(cuMemHostAlloc) F(cuMemFreeHost) F(cuStreamCreate)                     \
                                                  F(cuStreamDestroy_v2) F(cuStreamSynchronize) F(cuStreamWaitEvent)    \
                                                      F(cuEventCreate) F(cuEventDestroy_v2) F(cuEventRecord)           \
                                                          F(cuEventSynchronize) F(cuEventQuery) F(cuEventElapsedTime)  \
                                                              F(cuEventElapsedTime_v2) F(cuTensorMapEncodeTiled)       \
                                                                  F(cuTensorMapReplaceAddress)

#define FA_SHIM_DECLARE(name) void address_##name() asm(#name);
FA_SHIM_ENTRY_POINTS(FA_SHIM_DECLARE)

namespace {

struct EntryPoint {
  std::string_view name;
  void (*address)();
};
#define FA_SHIM_LIST(name) {#name, address_##name},
constexpr EntryPoint entryPoints[] = {FA_SHIM_ENTRY_POINTS(FA_SHIM_LIST)};

void (*find(std::string_view name))() {
  const auto *found = std::find_if(std::begin(entryPoints), std::end(entryPoints),
                                   [&](const EntryPoint &point) { return point.name == name; });
  return found == std::end(entryPoints) ? nullptr : found->address;
}

} // namespace

/// `status`: 0 found, 1 not found. Unversioned names give what cuda.h of version 12 and newer maps them to.
FA_SHIM_ENTRY int cuGetProcAddress_v2(const char *symbol, void **address, int, uint64_t, int *status) {
  using namespace fa::shim;
  if (!symbol || !address)
    return invalidValue;
  void (*found)() = nullptr;
  for (const char *suffix : {"_v4", "_v2", ""})
    if (!found)
      found = find(std::string(symbol) + suffix);
  *address = reinterpret_cast<void *>(found);
  if (status)
    *status = found ? 0 : 1;
  return found ? success : notFound;
}
FA_SHIM_ENTRY int cuGetProcAddress(const char *symbol, void **address, int version, uint64_t flags) {
  return cuGetProcAddress_v2(symbol, address, version, flags, nullptr);
}
