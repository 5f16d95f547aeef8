// Launches: parameters are gathered by the PTX declaration, the kernel runs to its end, findings become error codes
// and are told on stderr (like a real driver with CUDA_LAUNCH_BLOCKING=1).
#include "Shim.h"
#include <algorithm>
#include <cstdio>
#include <cstring>

namespace fa::shim {

/// CUlaunchConfig and CUlaunchAttribute as cuda.h lays them out.
struct LaunchAttribute {
  unsigned id, padding;
  union {
    char bytes[64];
    unsigned cluster[3];
  };
};
static_assert(sizeof(LaunchAttribute) == 72);
struct LaunchConfig {
  unsigned grid[3], block[3], sharedBytes;
  Stream *stream;
  const LaunchAttribute *attributes;
  unsigned attributeCount;
};
static_assert(sizeof(LaunchConfig) == 56);

namespace {

/// From `parameters` (one pointer each) or `extra` (1: buffer, 2: pointer to its size, 0: end).
Expected<std::vector<uint8_t>> gatherParameters(const runtime::emulator::EntryInfo &info, void **parameters,
                                                void **extra) {
  std::vector<uint8_t> bytes(info.parameterBytes);
  if (extra && !parameters) {
    const void *buffer = nullptr;
    size_t size = 0;
    for (; *extra; extra += 2) {
      if (*extra == reinterpret_cast<void *>(1))
        buffer = extra[1];
      else if (*extra == reinterpret_cast<void *>(2))
        size = *static_cast<size_t *>(extra[1]);
      else
        return makeError("expected a parameter buffer and its size in `extra`");
    }
    if (!buffer || size < bytes.size())
      return makeError("expected a parameter buffer of " + std::to_string(bytes.size()) + " bytes, but got " +
                       std::to_string(size));
    std::memcpy(bytes.data(), buffer, bytes.size());
    return bytes;
  }
  for (size_t i = 0; i < info.parameters.size(); ++i) {
    if (!parameters || !parameters[i])
      return makeError("expected " + std::to_string(info.parameters.size()) + " kernel parameters, but number " +
                       std::to_string(i) + " is null");
    std::memcpy(bytes.data() + info.parameters[i].offset, parameters[i], info.parameters[i].size);
  }
  return bytes;
}

int run(const char *call, Context &context, Function &function, const LaunchConfig &config, const unsigned *cluster,
        void **parameters, void **extra) {
  if (function.module->context != &context)
    return report(call, makeError("expected a function of the current context"), invalidContext);
  if (config.sharedBytes > static_cast<unsigned>(function.maxDynamicShared))
    return report(call,
                  makeError("expected at most " + std::to_string(function.maxDynamicShared) +
                            " bytes of dynamic shared memory, but got " + std::to_string(config.sharedBytes) +
                            "; raise it with cuFuncSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)"),
                  invalidValue);
  Expected<std::vector<uint8_t>> bytes = gatherParameters(function.info, parameters, extra);
  if (!bytes)
    return report(call, bytes.error(), invalidValue);
  runtime::emulator::LaunchRequest request;
  request.entry = function.info.name;
  std::copy(config.grid, config.grid + 3, request.grid);
  std::copy(config.block, config.block + 3, request.block);
  std::copy(cluster, cluster + 3, request.cluster);
  request.dynamicSharedBytes = config.sharedBytes;
  request.parameters = std::move(*bytes);
  const Expected<runtime::emulator::LaunchResult> result = context.emulator->launch(*function.module->program, request);
  if (!result)
    return report(call, result.error(), invalidValue);
  for (const runtime::emulator::Report &finding : result->reports)
    std::fprintf(stderr, "fa-shim: kernel '%s': %s\n", request.entry.c_str(), toString(finding).c_str());
  if (result->status)
    return success;
  return result->status.error().code ? result->status.error().code : launchFailed;
}

int launch(const char *call, const LaunchConfig &config, Function *function, void **parameters, void **extra) {
  return entryInContext([&](Context &context) -> int {
    if (!state().functions.count(function) || !isStream(config.stream))
      return invalidHandle;
    if (config.attributeCount && !config.attributes)
      return invalidValue;
    unsigned cluster[3] = {1, 1, 1};
    for (unsigned i = 0; i < 3; ++i)
      if (function->info.requiredCluster[i])
        cluster[i] = function->info.requiredCluster[i];
    for (unsigned i = 0; i < config.attributeCount; ++i) {
      const LaunchAttribute &attribute = config.attributes[i];
      switch (attribute.id) {
      case 0:  // ignore
      case 2:  // cooperative: a grid is always resident here
      case 6:  // programmatic serialisation: launches never overlap
      case 8:  // priority
      case 14: // shared memory carve-out
        break;
      case 4:
        std::copy(attribute.cluster, attribute.cluster + 3, cluster);
        break;
      default:
        return report(call,
                      makeError("expected launch attribute 2, 4, 6, 8 or 14, but got " + std::to_string(attribute.id)),
                      notSupported);
      }
    }
    return run(call, context, *function, config, cluster, parameters, extra);
  });
}

} // namespace
} // namespace fa::shim

using namespace fa::shim;

FA_SHIM_ENTRY int cuLaunchKernel(Function *function, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX,
                                 unsigned blockY, unsigned blockZ, unsigned sharedBytes, Stream *stream,
                                 void **parameters, void **extra) {
  const LaunchConfig config{{gridX, gridY, gridZ}, {blockX, blockY, blockZ}, sharedBytes, stream, nullptr, 0};
  return launch("cuLaunchKernel", config, function, parameters, extra);
}

FA_SHIM_ENTRY int cuLaunchKernelEx(const LaunchConfig *config, Function *function, void **parameters, void **extra) {
  return config ? launch("cuLaunchKernelEx", *config, function, parameters, extra) : static_cast<int>(invalidValue);
}
