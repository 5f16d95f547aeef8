// The one place of fa-launch that knows which drivers there are.
#include "Devices.h"
#include "fa/Runtime/CPU/CpuDriver.h"
#include "fa/Runtime/CUDA/CudaDriver.h"
#include "fa/Runtime/Emulator/Emulator.h"

namespace fa::runtime::launcher {

Expected<std::unique_ptr<Driver>> createDevice(const LaunchToolOptions &options) {
  if (options.device == "cuda")
    return createCudaDriver();
  if (options.device == "cpu")
    return std::unique_ptr<Driver>(std::make_unique<CpuDriver>(options.threads));
  if (options.device != "emulator")
    return makeError("expected --device=cuda, emulator or cpu, but got '" + options.device + "'");
  emulator::Options emulated;
  emulated.threads = options.threads;
  emulated.checkRaces = emulated.checkMemory = emulated.checkRegisters = emulated.checkProtocol =
      options.checkedEmulation;
  return std::unique_ptr<Driver>(std::make_unique<emulator::EmulatorDriver>(emulated));
}

void selectSchedule(Driver &driver, uint64_t run) {
  if (auto *emulated = dynamic_cast<emulator::EmulatorDriver *>(&driver))
    emulated->emulator().options().seed = run;
}

} // namespace fa::runtime::launcher
