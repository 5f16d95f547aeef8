// Runs all seeds and turns what they found into output and an exit code.
#include "fa/Runtime/EmulatorTool/EmulatorTool.h"
#include "Mutation.h"
#include "Output.h"
#include "fa/Support/File.h"
#include <algorithm>
#include <ostream>

namespace fa::runtime {

int runEmulatorTool(const EmulatorToolOptions &options, std::ostream &out, std::ostream &err) {
  using namespace tool;
  Session session;
  auto fail = [&](const Failure &failure) {
    err << "error: " << failure.message << "\n";
    return failure.exitCode;
  };
  if (auto failure = session.prepare(options))
    return fail(*failure);
  if (options.list) {
    std::vector<emulator::EntryInfo> entries;
    if (auto failure = session.listEntries(entries))
      return fail(*failure);
    printEntries(entries, out);
    return exitClean;
  }
  if (options.mutate)
    return runMutants(session, options.format == "json", out, err);
  std::vector<SeedResult> results;
  int exitCode = exitClean;
  for (uint64_t seed : session.seeds()) {
    SeedResult result;
    const bool timeline = !options.trace.empty() && results.empty();
    if (auto failure = session.run(seed, timeline, result))
      return fail(*failure);
    for (const emulator::Report &report : result.launch.reports)
      exitCode = std::max(exitCode, exitCodeOf(report));
    if (!result.launch.status && exitCode == exitClean)
      exitCode = exitFindings;
    if (timeline) {
      const std::string trace = chromeTrace(session, result.launch.timeline);
      if (Status status = writeFileAtomically(options.trace, {trace}); !status)
        return fail({status.message()});
      result.launch.timeline.clear();
    }
    results.push_back(std::move(result));
  }
  if (auto failure = session.writeOutputs())
    return fail(*failure);
  if (options.format == "json")
    printJson(session, results, exitCode, out);
  else
    printText(session, results, options.stats, out);
  return exitCode;
}

} // namespace fa::runtime
