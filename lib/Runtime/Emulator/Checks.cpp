// The names of the emulator's checks, as tools spell them.
#include "fa/Runtime/Emulator/Emulator.h"
#include "fa/Support/Text.h"

namespace fa::runtime::emulator {

Status selectChecks(std::string_view list, char separator, Options &options) {
  const std::pair<std::string_view, bool Options::*> checks[] = {{"races", &Options::checkRaces},
                                                                 {"memory", &Options::checkMemory},
                                                                 {"registers", &Options::checkRegisters},
                                                                 {"protocol", &Options::checkProtocol}};
  for (const auto &[name, flag] : checks)
    options.*flag = list == "all";
  if (list == "all" || list == "none")
    return Status::success();
  for (const std::string &item : split(list, separator)) {
    bool known = false;
    for (const auto &[name, flag] : checks)
      if (item == name)
        known = options.*flag = true;
    if (!known)
      return makeError("expected checks out of races, memory, registers, protocol, or all, or none, but got " + item);
  }
  return Status::success();
}

} // namespace fa::runtime::emulator
