// The traffic model applied to a program: bytes between the device and its memory.
#pragma once
#include "fa/Analysis/TrafficModel.h"
#include "fa/Execution/Check.h"
#include "fa/Execution/Compile.h"
#include <optional>
#include <string>

namespace fa::execution {

/// Traffic of one run in its loop order, and of the naive form at the same shape.
struct RunTraffic {
  analysis::Traffic kernel, naive;
};

/// Nothing for a mask region (its data may differ by batch and head) and for a kernel without a schedule.
Expected<std::optional<RunTraffic>> trafficOf(const Program &program, const AttentionProblem &problem,
                                              const CompileReport &compiled);

/// Tables for --traffic: this run by tensor, and all three forms at N = 128 .. 4096. Fails where trafficOf gives
/// nothing.
Expected<std::string> trafficTables(const Program &program, const AttentionProblem &problem,
                                    const CompileReport &compiled);

} // namespace fa::execution
