// Any text may come in as PTX: parsing and lowering it gives a program or an error with a line, never a crash, a hang
// or unbounded memory.
#include "fa/Runtime/Emulator/Emulator.h"
#include <cstdlib>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fa::runtime::emulator::Options options;
  options.maxMemory = 1 << 28;
  fa::runtime::emulator::Emulator device(options);
  auto program = device.load(std::string(reinterpret_cast<const char *>(data), size));
  if (program) {
    for (const auto &info : device.entries(**program))
      if (info.parameterBytes > 1 << 20)
        std::abort(); // PTX allows a few KiB of parameters
  } else if (program.message().find("line") == std::string::npos &&
             !program.message().starts_with("expected PTX text")) {
    std::abort(); // an error must say where, unless there is no text
  }
  return 0;
}
