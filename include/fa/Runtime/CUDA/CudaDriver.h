// Runtime::Driver over the CUDA driver API. libcuda.so.1 is loaded at run time, so nothing here needs CUDA to build,
// and any library with that name and interface will do (ours is the emulator's shim).
#pragma once
#include "fa/Runtime/Driver.h"

namespace fa::runtime {

/// Loads libcuda.so.1, retains the primary context of device `ordinal`. Fails with the reason (no library, no device,
/// driver too old) in words that tell what to do. Every later failure names the driver call, the error and its meaning;
/// Error::code is the CUresult.
Expected<std::unique_ptr<Driver>> createCudaDriver(int ordinal = 0);

} // namespace fa::runtime
