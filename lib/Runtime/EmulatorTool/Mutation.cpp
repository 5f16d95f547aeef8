// Runs mutants and prints what became of them.
#include "Mutation.h"
#include "Output.h"
#include "fa/Runtime/EmulatorTool/Mutants.h"
#include "fa/Support/Text.h"
#include <algorithm>
#include <nlohmann/json.hpp>
#include <ostream>

namespace fa::runtime::tool {
namespace {

using Json = nlohmann::ordered_json;

/// What reported a mutant, and under which seed; empty when nothing did.
struct Verdict {
  std::string by;
  uint64_t seed = 0;
};

std::string firstFinding(const SeedResult &result) {
  if (!result.launch.reports.empty())
    return toString(result.launch.reports.front());
  return result.launch.status ? "" : result.launch.status.message();
}

/// Whether these arguments reach the statement at all.
bool isExecuted(Session &session, const Mutant &mutant) {
  SeedResult result;
  return session.run(session.seeds().front(), false, result, &mutant.probe) || !firstFinding(result).empty();
}

/// A mutant that cannot be loaded or launched counts as reported.
Verdict judge(Session &session, const Mutant &mutant) {
  for (uint64_t seed : session.seeds()) {
    SeedResult result;
    if (auto failure = session.run(seed, false, result, &mutant.text))
      return {failure->message, seed};
    if (std::string finding = firstFinding(result); !finding.empty())
      return {finding, seed};
  }
  return {};
}

Json toJson(const Mutant &mutant, const Verdict &verdict, bool executed) {
  Json json = {{"kind", mutant.kind},          {"change", mutant.change}, {"line", mutant.line},
               {"statement", mutant.original}, {"executed", executed},    {"reported", !verdict.by.empty()}};
  if (!verdict.by.empty()) {
    json["seed"] = verdict.seed;
    json["finding"] = verdict.by;
  }
  return json;
}

} // namespace

int runMutants(Session &session, bool json, std::ostream &out, std::ostream &err) {
  uint64_t instructions = 0;
  for (uint64_t seed : session.seeds()) {
    SeedResult clean;
    if (auto failure = session.run(seed, false, clean)) {
      err << "error: " << failure->message << "\n";
      return failure->exitCode;
    }
    if (std::string finding = firstFinding(clean); !finding.empty()) {
      err << "error: expected a kernel without findings to mutate, but got " << finding << "\n";
      return exitFindings;
    }
    instructions = std::max(instructions, clean.launch.counters.warpInstructions);
  }
  session.setBudget(20 * instructions + 100000);

  std::map<std::string, std::pair<int, int>> rates; // kind -> reported, all
  Json list = Json::array();
  int reported = 0, all = 0, idle = 0;
  for (const Mutant &mutant : makeMutants(session.text())) {
    const Verdict verdict = judge(session, mutant);
    const bool executed = !verdict.by.empty() || isExecuted(session, mutant);
    if (json)
      list.push_back(toJson(mutant, verdict, executed));
    else if (verdict.by.empty())
      out << (executed ? "survived" : "not executed") << ": line " << mutant.line << " (" << mutant.change
          << "): " << mutant.original << "\n";
    idle += !executed;
    if (!executed)
      continue;
    auto &[kindReported, kindAll] = rates[mutant.kind];
    ++kindAll, ++all;
    kindReported += !verdict.by.empty(), reported += !verdict.by.empty();
  }
  if (json) {
    out << Json{{"kernel", session.kernel()}, {"reported", reported}, {"mutants", list}}.dump(
               2, ' ', false, Json::error_handler_t::replace)
        << "\n";
    return reported == all ? exitClean : exitFindings;
  }
  Table table({"synchronisation", "reported", "mutants"});
  for (const auto &[kind, rate] : rates)
    table.add({kind, std::to_string(rate.first), std::to_string(rate.second)});
  out << table.print() << "kernel '" << session.kernel() << "': " << reported << " of " << all << " mutants reported";
  if (idle)
    out << ", " << idle << " not executed by these arguments";
  out << "\n";
  return reported == all ? exitClean : exitFindings;
}

} // namespace fa::runtime::tool
