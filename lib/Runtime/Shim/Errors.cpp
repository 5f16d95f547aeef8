// Names and meanings of CUresult values, and the shim's reports.
#include "Shim.h"
#include <cstdio>

namespace fa::shim {
namespace {

struct ErrorText {
  int code;
  const char *name, *meaning;
};
constexpr ErrorText errors[] = {
    {0, "CUDA_SUCCESS", "no error"},
    {1, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {2, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {3, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {100, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {101, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {200, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {201, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {209, "CUDA_ERROR_NO_BINARY_FOR_GPU", "no kernel image that the emulator can run (it takes PTX text only)"},
    {218, "CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed"},
    {222, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION", "the provided PTX uses an unsupported version"},
    {400, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {500, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {600, "CUDA_ERROR_NOT_READY", "device not ready"},
    {700, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {701, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", "too many resources requested for launch"},
    {702, "CUDA_ERROR_LAUNCH_TIMEOUT", "the launch timed out: deadlock, or the instruction budget ran out"},
    {715, "CUDA_ERROR_ILLEGAL_INSTRUCTION", "an illegal instruction was encountered"},
    {716, "CUDA_ERROR_MISALIGNED_ADDRESS", "misaligned address"},
    {719, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure: a race or a broken protocol"},
    {801, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
    {999, "CUDA_ERROR_UNKNOWN", "unknown error"},
};

const ErrorText *find(int code) {
  for (const ErrorText &error : errors)
    if (error.code == code)
      return &error;
  return nullptr;
}

} // namespace

int report(const char *call, const Error &error, int fallback) {
  std::fprintf(stderr, "fa-shim: %s: %s\n", call, error.message.c_str());
  return error.code ? error.code : fallback;
}

} // namespace fa::shim

using namespace fa::shim;

FA_SHIM_ENTRY int cuGetErrorName(int code, const char **name) {
  const ErrorText *error = find(code);
  if (!name)
    return invalidValue;
  *name = error ? error->name : nullptr;
  return error ? success : invalidValue;
}

FA_SHIM_ENTRY int cuGetErrorString(int code, const char **meaning) {
  const ErrorText *error = find(code);
  if (!meaning)
    return invalidValue;
  *meaning = error ? error->meaning : nullptr;
  return error ? success : invalidValue;
}
