// Modules from PTX text, functions and their attributes.
#include "Shim.h"
#include <algorithm>
#include <cstring>

namespace fa::shim {
namespace {

bool isModule(Module *module) {
  return std::any_of(state().contexts.begin(), state().contexts.end(),
                     [&](const auto &item) { return item.second->modules.count(module) != 0; });
}
bool isFunction(Function *function) { return state().functions.count(function) != 0; }

/// ELF images and fat binaries hold machine code, which the emulator cannot run.
bool isBinary(const char *image) {
  uint32_t magic = 0;
  for (unsigned i = 0; i < 4 && (i == 0 || image[i - 1]); ++i)
    magic |= static_cast<uint32_t>(static_cast<unsigned char>(image[i])) << 8 * i;
  return magic == 0x464c457f || magic == 0xba55ed50 || magic == 0x466243b1;
}

/// The options cuModuleLoadDataEx fills: 5 is the error log, 6 its size.
void writeErrorLog(const std::string &message, unsigned count, const int *options, void **values) {
  char *log = nullptr;
  size_t size = 0;
  for (unsigned i = 0; i < count; ++i) {
    if (options[i] == 5)
      log = static_cast<char *>(values[i]);
    if (options[i] == 6)
      size = reinterpret_cast<size_t>(values[i]);
  }
  if (!log || size == 0)
    return;
  const size_t length = std::min(size - 1, message.size());
  std::memcpy(log, message.data(), length);
  log[length] = 0;
}

int load(Module **module, const void *image, unsigned count, const int *options, void **values) {
  return entryInContext([&](Context &context) -> int {
    if (!module || !image || (count && (!options || !values)))
      return invalidValue;
    const char *text = static_cast<const char *>(image);
    if (isBinary(text))
      return report("cuModuleLoadData", makeError("expected PTX text, but got a binary: compile with -ptx"),
                    noBinaryForGpu);
    auto program = context.emulator->load(text);
    if (!program) {
      writeErrorLog(program.message(), count, options, values);
      return report("cuModuleLoadData", program.error(), invalidPtx);
    }
    auto loaded = std::make_unique<Module>();
    loaded->context = &context;
    loaded->program = *program;
    for (const runtime::emulator::EntryInfo &info : context.emulator->entries(**program)) {
      auto function = std::make_unique<Function>();
      function->module = loaded.get();
      function->info = info;
      state().functions[function.get()] = loaded.get();
      loaded->functions[info.name] = std::move(function);
    }
    *module = loaded.get();
    context.modules[loaded.get()] = std::move(loaded);
    return success;
  });
}

/// Registers per thread that the launch bounds leave room for; PTX does not say what ptxas would use.
int registersOf(const Function &function) {
  const uint32_t threads = std::max(function.info.maxThreads, 1u);
  return static_cast<int>(std::min(255u, 65536 / threads / 8 * 8));
}

} // namespace
} // namespace fa::shim

using namespace fa::shim;

FA_SHIM_ENTRY int cuModuleLoadData(Module **module, const void *image) {
  return load(module, image, 0, nullptr, nullptr);
}
FA_SHIM_ENTRY int cuModuleLoadDataEx(Module **module, const void *image, unsigned count, int *options, void **values) {
  return load(module, image, count, options, values);
}

FA_SHIM_ENTRY int cuModuleUnload(Module *module) {
  return entry([&]() -> int {
    if (!isModule(module))
      return invalidHandle;
    std::erase_if(state().functions, [&](const auto &item) { return item.second == module; });
    module->context->modules.erase(module);
    return success;
  });
}

FA_SHIM_ENTRY int cuModuleGetFunction(Function **function, Module *module, const char *name) {
  return entry([&]() -> int {
    if (!function || !name)
      return invalidValue;
    if (!isModule(module))
      return invalidHandle;
    const auto found = module->functions.find(name);
    if (found == module->functions.end())
      return notFound;
    *function = found->second.get();
    return success;
  });
}

FA_SHIM_ENTRY int cuModuleGetGlobal_v2(uint64_t *address, size_t *bytes, Module *module, const char *name) {
  return entry([&]() -> int {
    if (!name)
      return invalidValue;
    if (!isModule(module))
      return invalidHandle;
    const auto variable = module->context->emulator->global(*module->program, name);
    if (!variable)
      return notFound;
    if (address)
      *address = variable->first;
    if (bytes)
      *bytes = variable->second;
    return success;
  });
}

FA_SHIM_ENTRY int cuFuncSetAttribute(Function *function, int attribute, int value) {
  return entry([&]() -> int {
    if (!isFunction(function))
      return invalidHandle;
    if (attribute == 8) { // maximal dynamic shared memory
      const int room = maxSharedPerBlock - static_cast<int>(function->info.staticSharedBytes);
      if (value < 0 || value > room)
        return report("cuFuncSetAttribute",
                      fa::makeError("expected at most " + std::to_string(room) +
                                    " bytes of dynamic shared memory, but got " + std::to_string(value)),
                      invalidValue);
      function->maxDynamicShared = std::max(value, defaultSharedPerBlock);
      return success;
    }
    // Carve-out, cluster sizes and scheduling preferences change nothing that the emulator models.
    return attribute >= 9 && attribute <= 15 ? success : invalidValue;
  });
}

FA_SHIM_ENTRY int cuFuncGetAttribute(int *value, int attribute, Function *function) {
  return entry([&]() -> int {
    if (!value)
      return invalidValue;
    if (!isFunction(function))
      return invalidHandle;
    const int values[] = {static_cast<int>(function->info.maxThreads),
                          static_cast<int>(function->info.staticSharedBytes),
                          0,
                          0,
                          registersOf(*function),
                          90,
                          90,
                          0,
                          function->maxDynamicShared};
    if (attribute < 0 || attribute > 15)
      return invalidValue;
    *value = attribute <= 8 ? values[attribute] : 0;
    if (attribute == 10) // cluster size must be set at launch
      *value = 0;
    if (attribute >= 11 && attribute <= 13)
      *value = static_cast<int>(function->info.requiredCluster[attribute - 11]);
    return success;
  });
}

FA_SHIM_ENTRY int cuFuncGetParamInfo(Function *function, size_t index, size_t *offset, size_t *size) {
  return entry([&]() -> int {
    if (!isFunction(function))
      return invalidHandle;
    if (!offset || index >= function->info.parameters.size())
      return invalidValue;
    *offset = function->info.parameters[index].offset;
    if (size)
      *size = function->info.parameters[index].size;
    return success;
  });
}

FA_SHIM_ENTRY int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, Function *function, int blockSize,
                                                              size_t dynamicShared) {
  return entry([&]() -> int {
    if (!blocks || blockSize <= 0 || blockSize > 1024)
      return invalidValue;
    if (!isFunction(function))
      return invalidHandle;
    // 1 KiB of shared memory is reserved per block; 233,472 bytes in all, 2048 threads, 65536 registers, 32 blocks.
    const size_t shared = function->info.staticSharedBytes + dynamicShared + 1024;
    const int threads = (blockSize + 31) / 32 * 32;
    const int byRegisters = 65536 / (registersOf(*function) * threads);
    *blocks = std::min({32, 2048 / threads, static_cast<int>(233472 / shared), byRegisters});
    return success;
  });
}
