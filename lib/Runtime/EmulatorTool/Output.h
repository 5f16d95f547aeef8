// The tool's output: findings and counters as text or JSON, timelines as a Chrome trace.
#pragma once
#include "Session.h"
#include <iosfwd>

namespace fa::runtime::tool {

/// Exit code for one finding.
int exitCodeOf(const emulator::Report &report);

/// Kernels with their parameters, shared memory and launch bounds.
void printEntries(const std::vector<emulator::EntryInfo> &entries, std::ostream &out);

/// Findings that several seeds share are printed once.
void printText(const Session &session, const std::vector<SeedResult> &results, bool stats, std::ostream &out);
void printJson(const Session &session, const std::vector<SeedResult> &results, int exitCode, std::ostream &out);

/// Chrome trace event format: a process per block, a thread per warp and per asynchronous engine; one tick is 1 us.
std::string chromeTrace(const Session &session, const std::vector<emulator::TimelineEvent> &events);

} // namespace fa::runtime::tool
