// cuInit and the one device: an H100 SXM in every attribute that kernels and libraries ask for.
#include "Shim.h"
#include "fa/Support/Text.h"
#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>

namespace fa::shim {

State &state() {
  static State instance;
  return instance;
}

namespace {

constexpr const char *deviceName = "NVIDIA H100 (fa PTX emulator)";

struct Attribute {
  int id, value;
};
constexpr Attribute attributes[] = {
    {1, 1024},  {2, 1024},   {3, 1024},        {4, 64},       {5, 2147483647}, {6, 65535},     {7, 65535}, {8, 49152},
    {9, 65536}, {10, 32},    {11, 0x7fffffff}, {12, 65536},   {13, 1980000},   {14, 512},      {16, 132},  {19, 0},
    {20, 0},    {31, 1},     {35, 1},          {36, 2619000}, {37, 5120},      {38, 52428800}, {39, 2048}, {40, 3},
    {41, 1},    {75, 9},     {76, 0},          {78, 1},       {81, 233472},    {82, 65536},    {95, 1},    {97, 232448},
    {106, 32},  {111, 1024}, {115, 1},         {120, 1},      {127, 1},
};
constexpr int attributeLimit = 160; ///< ids from here on do not exist; the others that are not listed are 0

/// `seed=N`, `check=races+memory+registers+protocol|all|none`, `arithmetic=fast|h100`, `budget=N`, `threads=N`.
Status applyOption(const std::string &option, runtime::emulator::Options &options) {
  const size_t equals = option.find('=');
  const std::string key = option.substr(0, equals),
                    value = equals == std::string::npos ? "" : option.substr(equals + 1);
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  const bool isNumber = !value.empty() && error == std::errc() && end == value.data() + value.size();
  if (key == "check")
    return runtime::emulator::selectChecks(value, '+', options);
  if (key == "arithmetic" && (value == "fast" || value == "h100")) {
    options.h100Arithmetic = value == "h100";
    return Status::success();
  }
  if (isNumber && key == "seed")
    options.seed = number;
  else if (isNumber && key == "budget")
    options.instructionBudget = number;
  else if (isNumber && key == "threads")
    options.threads = static_cast<unsigned>(number);
  else
    return makeError("expected seed=N, check=A+B, arithmetic=fast|h100, budget=N or threads=N, but got " + option);
  return Status::success();
}

int checkDevice(int device) { return device == 0 ? success : invalidDevice; }

} // namespace
} // namespace fa::shim

using namespace fa::shim;

FA_SHIM_ENTRY int cuInit(unsigned flags) {
  if (flags != 0)
    return invalidValue;
  std::lock_guard lock(state().mutex);
  if (state().initialised)
    return success;
  fa::runtime::emulator::Options options;
  options.maxMemory = deviceMemoryBytes;
  if (const char *text = std::getenv("FA_SHIM_OPTIONS"))
    for (const std::string &option : fa::split(text, ','))
      if (fa::Status status = applyOption(option, options); !status)
        return report("cuInit: FA_SHIM_OPTIONS", status.error(), invalidValue);
  state().options = options;
  state().initialised = true;
  return success;
}

FA_SHIM_ENTRY int cuDriverGetVersion(int *version) {
  if (!version)
    return invalidValue;
  *version = 13000;
  return success;
}

FA_SHIM_ENTRY int cuDeviceGetCount(int *count) {
  return entry([&]() -> int {
    if (!count)
      return invalidValue;
    *count = 1;
    return success;
  });
}

FA_SHIM_ENTRY int cuDeviceGet(int *device, int ordinal) {
  return entry([&]() -> int {
    if (!device)
      return invalidValue;
    *device = 0;
    return checkDevice(ordinal);
  });
}

FA_SHIM_ENTRY int cuDeviceGetName(char *name, int length, int device) {
  return entry([&]() -> int {
    if (!name || length <= 0)
      return invalidValue;
    std::strncpy(name, deviceName, static_cast<size_t>(length));
    name[length - 1] = 0;
    return checkDevice(device);
  });
}

FA_SHIM_ENTRY int cuDeviceGetAttribute(int *value, int attribute, int device) {
  return entry([&]() -> int {
    if (!value || attribute <= 0 || attribute >= attributeLimit)
      return invalidValue;
    const auto *found = std::find_if(std::begin(attributes), std::end(attributes),
                                     [&](const Attribute &a) { return a.id == attribute; });
    *value = found == std::end(attributes) ? 0 : found->value;
    return checkDevice(device);
  });
}

FA_SHIM_ENTRY int cuDeviceTotalMem_v2(size_t *bytes, int device) {
  return entry([&]() -> int {
    if (!bytes)
      return invalidValue;
    *bytes = deviceMemoryBytes;
    return checkDevice(device);
  });
}

FA_SHIM_ENTRY int cuDeviceGetUuid(char *uuid, int device) {
  return entry([&]() -> int {
    if (!uuid)
      return invalidValue;
    std::memcpy(uuid, "fa-ptx-emulator!", 16);
    return checkDevice(device);
  });
}
FA_SHIM_ENTRY int cuDeviceGetUuid_v2(char *uuid, int device) { return cuDeviceGetUuid(uuid, device); }
