// The TMA unit of a cluster: bulk copies between issue and completion.
#pragma once
#include "Machine.h"

namespace fa::runtime::emulator {

/// Moves the operations under way one step on; executes those whose delay is over.
void stepBulk(Cluster &cluster);
/// Executes everything that is under way (end of a cluster).
void drainBulk(Cluster &cluster);

} // namespace fa::runtime::emulator
