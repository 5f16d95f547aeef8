// Text, JSON and traces.
#include "Output.h"
#include "fa/Support/Text.h"
#include <algorithm>
#include <nlohmann/json.hpp>
#include <ostream>
#include <set>
#include <tuple>

namespace fa::runtime::tool {
namespace {

using emulator::Counters;
using emulator::Report;
using emulator::ReportKind;
using Json = nlohmann::ordered_json;

struct SharedFinding {
  Report report;
  std::vector<uint64_t> seeds;
};

std::vector<SharedFinding> mergeSeeds(const std::vector<SeedResult> &results) {
  std::vector<SharedFinding> merged;
  std::map<std::tuple<ReportKind, int, int>, size_t> positions;
  for (const SeedResult &result : results)
    for (const Report &report : result.launch.reports) {
      const auto key = std::make_tuple(report.kind, report.ptxLine, report.otherLine);
      const auto [at, isNew] = positions.emplace(key, merged.size());
      if (isNew)
        merged.push_back({report, {}});
      if (merged[at->second].seeds.empty() || merged[at->second].seeds.back() != result.seed)
        merged[at->second].seeds.push_back(result.seed);
    }
  return merged;
}

std::string listOf(const std::vector<uint64_t> &seeds) {
  std::string text;
  for (size_t i = 0; i < seeds.size() && i < 8; ++i)
    text += (i ? ", " : "") + std::to_string(seeds[i]);
  return text + (seeds.size() > 8 ? ", .." : "");
}

std::string count(uint64_t value) { return formatCount(static_cast<int64_t>(value)); }

/// By name: addresses, and with them the emulator's order, change from run to run.
std::vector<emulator::BufferTraffic> sortedBuffers(const Counters &counters) {
  std::vector<emulator::BufferTraffic> buffers = counters.buffers;
  std::sort(buffers.begin(), buffers.end(), [](const auto &a, const auto &b) { return a.name < b.name; });
  return buffers;
}

void printStats(const SeedResult &result, std::ostream &out) {
  const Counters &c = result.launch.counters;
  Table table({"counter", "value"});
  const std::pair<const char *, uint64_t> rows[] = {
      {"warp instructions", c.warpInstructions},
      {"thread instructions", c.threadInstructions},
      {"wgmma instructions", c.wgmmaInstructions},
      {"wgmma multiply-adds", c.wgmmaMacs},
      {"mma.sync multiply-adds", c.mmaMacs},
      {"tensor loads", c.tmaLoads},
      {"tensor stores", c.tmaStores},
      {"shared read wavefronts", c.sharedReadTransactions},
      {"shared write wavefronts", c.sharedWriteTransactions},
      {"shared bank conflicts", c.sharedBankConflicts},
      {"global sectors", c.globalSectors},
      {"waits at named barriers", c.barrierWaits},
      {"failed mbarrier tries", c.failedTryWaits},
  };
  for (const auto &[name, value] : rows)
    table.add({name, count(value)});
  out << "\n" << table.print();
  if (!c.buffers.empty()) {
    Table buffers({"buffer", "bytes read", "by tensor copies", "bytes written", "by tensor copies"});
    for (const emulator::BufferTraffic &b : sortedBuffers(c))
      buffers.add({b.name, count(b.bytesRead), count(b.tmaBytesRead), count(b.bytesWritten), count(b.tmaBytesWritten)});
    out << "\n" << buffers.print();
  }
  if (c.opcodes.empty())
    return;
  std::vector<std::pair<std::string, uint64_t>> opcodes(c.opcodes.begin(), c.opcodes.end());
  std::sort(opcodes.begin(), opcodes.end(), [](const auto &a, const auto &b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  });
  Table mix({"opcode", "warp instructions"});
  for (size_t i = 0; i < opcodes.size() && i < 20; ++i)
    mix.add({opcodes[i].first, count(opcodes[i].second)});
  out << "\n" << mix.print();
}

Json toJson(const Counters &c) {
  Json json = {{"warp_instructions", c.warpInstructions},
               {"thread_instructions", c.threadInstructions},
               {"wgmma_instructions", c.wgmmaInstructions},
               {"wgmma_macs", c.wgmmaMacs},
               {"mma_macs", c.mmaMacs},
               {"tma_loads", c.tmaLoads},
               {"tma_stores", c.tmaStores},
               {"shared_read_wavefronts", c.sharedReadTransactions},
               {"shared_write_wavefronts", c.sharedWriteTransactions},
               {"shared_bank_conflicts", c.sharedBankConflicts},
               {"global_sectors", c.globalSectors},
               {"barrier_waits", c.barrierWaits},
               {"failed_try_waits", c.failedTryWaits}};
  json["buffers"] = Json::array();
  for (const emulator::BufferTraffic &b : sortedBuffers(c))
    json["buffers"].push_back({{"name", b.name},
                               {"bytes_read", b.bytesRead},
                               {"bytes_written", b.bytesWritten},
                               {"tma_bytes_read", b.tmaBytesRead},
                               {"tma_bytes_written", b.tmaBytesWritten}});
  if (!c.opcodes.empty())
    json["opcodes"] = c.opcodes;
  return json;
}

Json toJson(const Report &r, const Session &session) {
  return {{"kind", nameOf(r.kind)},
          {"fatal", r.fatal},
          {"line", r.ptxLine},
          {"source", session.sourceLine(r.ptxLine)},
          {"other_line", r.otherLine},
          {"block", {r.cta[0], r.cta[1], r.cta[2]}},
          {"warp", r.warp},
          {"lane", r.lane},
          {"address", r.address},
          {"message", r.message},
          {"nearest", r.nearest},
          {"count", r.count}};
}

} // namespace

int exitCodeOf(const Report &report) {
  switch (report.kind) {
  case ReportKind::Deadlock:
  case ReportKind::Budget:
    return exitHang;
  case ReportKind::OutOfBounds:
  case ReportKind::Misaligned:
  case ReportKind::IllegalInstruction:
    return exitIllegal;
  default:
    return exitFindings;
  }
}

void printEntries(const std::vector<emulator::EntryInfo> &entries, std::ostream &out) {
  for (const emulator::EntryInfo &info : entries) {
    out << "kernel '" << info.name << "': " << info.instructions << " instructions, " << info.staticSharedBytes
        << " bytes of static shared memory, ";
    if (info.requiredThreads[0])
      out << info.requiredThreads[0] << "x" << info.requiredThreads[1] << "x" << info.requiredThreads[2]
          << " threads\n";
    else
      out << "at most " << info.maxThreads << " threads\n";
    for (size_t i = 0; i < info.parameters.size(); ++i)
      out << "  argument " << i << ": " << info.parameters[i].size << " bytes"
          << (info.parameters[i].size == 128 ? " (a tensor map, or a structure)" : "") << ", "
          << info.parameters[i].name << "\n";
  }
}

void printText(const Session &session, const std::vector<SeedResult> &results, bool stats, std::ostream &out) {
  const std::vector<SharedFinding> findings = mergeSeeds(results);
  for (const SharedFinding &finding : findings) {
    out << toString(finding.report) << "\n";
    std::set<int> lines = {finding.report.ptxLine, finding.report.otherLine};
    for (int line : lines)
      if (const std::string source = session.sourceLine(line); !source.empty())
        out << "    " << line << " | " << source << "\n";
    if (session.seeds().size() > 1)
      out << "    in " << finding.seeds.size() << " of " << results.size() << " seeds: " << listOf(finding.seeds)
          << "\n";
  }
  double seconds = 0;
  for (const SeedResult &result : results)
    seconds += result.launch.seconds;
  out << "kernel '" << session.kernel() << "': " << (findings.empty() ? "no" : count(findings.size()))
      << (findings.size() == 1 ? " finding" : " findings") << " in " << results.size()
      << (results.size() == 1 ? " run" : " runs") << ", " << formatDuration(seconds) << "\n";
  if (session.outputsDiffer())
    out << "note: the outputs differ between seeds\n";
  if (stats && !results.empty())
    printStats(results.back(), out);
}

void printJson(const Session &session, const std::vector<SeedResult> &results, int exitCode, std::ostream &out) {
  Json json = {{"kernel", session.kernel()}, {"exit_code", exitCode}, {"outputs_differ", session.outputsDiffer()}};
  json["runs"] = Json::array();
  for (const SeedResult &result : results) {
    Json run = {{"seed", result.seed}, {"seconds", result.launch.seconds}, {"findings", Json::array()}};
    for (const Report &report : result.launch.reports)
      run["findings"].push_back(toJson(report, session));
    run["counters"] = toJson(result.launch.counters);
    json["runs"].push_back(std::move(run));
  }
  out << json.dump(2, ' ', false, Json::error_handler_t::replace) << "\n";
}

std::string chromeTrace(const Session &session, const std::vector<emulator::TimelineEvent> &events) {
  std::map<std::pair<uint32_t, std::string>, int> tracks;
  std::set<uint32_t> blocks;
  Json list = Json::array();
  for (const emulator::TimelineEvent &event : events) {
    if (blocks.insert(event.cta).second)
      list.push_back({{"name", "process_name"},
                      {"ph", "M"},
                      {"pid", event.cta},
                      {"tid", 0},
                      {"args", {{"name", "block " + std::to_string(event.cta)}}}});
    const auto [track, isNew] =
        tracks.emplace(std::make_pair(event.cta, event.track), static_cast<int>(tracks.size()) + 1);
    if (isNew)
      list.push_back({{"name", "thread_name"},
                      {"ph", "M"},
                      {"pid", event.cta},
                      {"tid", track->second},
                      {"args", {{"name", event.track}}}});
    list.push_back({{"name", event.name},
                    {"ph", "X"},
                    {"pid", event.cta},
                    {"tid", track->second},
                    {"ts", event.begin},
                    {"dur", std::max<uint64_t>(event.end - event.begin, 1)},
                    {"args", {{"line", event.ptxLine}, {"source", session.sourceLine(event.ptxLine)}}}});
  }
  return Json{{"traceEvents", list}, {"displayTimeUnit", "ns"}}.dump(-1, ' ', false, Json::error_handler_t::replace);
}

} // namespace fa::runtime::tool
