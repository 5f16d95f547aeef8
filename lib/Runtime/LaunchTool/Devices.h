// Devices by name.
#pragma once
#include "fa/Runtime/Driver.h"
#include "fa/Runtime/LaunchTool/LaunchTool.h"

namespace fa::runtime::launcher {

/// cuda, emulator or cpu; any other name is an error that lists them.
Expected<std::unique_ptr<Driver>> createDevice(const LaunchToolOptions &options);
/// The emulator gives each run another schedule of warps, copies and barriers; other devices have no such choice.
void selectSchedule(Driver &driver, uint64_t run);

} // namespace fa::runtime::launcher
