// Filing and printing of findings.
#include "fa/Runtime/Emulator/Report.h"
#include "GlobalRaces.h"
#include "Machine.h"
#include <cstdio>

namespace fa::runtime::emulator {

const char *nameOf(ReportKind kind) {
  switch (kind) {
  case ReportKind::OutOfBounds:
    return "out of bounds";
  case ReportKind::Misaligned:
    return "misaligned";
  case ReportKind::Uninitialised:
    return "uninitialised";
  case ReportKind::Race:
    return "race";
  case ReportKind::RegisterInFlight:
    return "register in flight";
  case ReportKind::Protocol:
    return "protocol";
  case ReportKind::Divergence:
    return "divergence";
  case ReportKind::Deadlock:
    return "deadlock";
  case ReportKind::Budget:
    return "budget";
  case ReportKind::IllegalInstruction:
    return "illegal instruction";
  }
  return "unknown";
}

std::string toString(const Report &report) {
  std::string text = std::string(nameOf(report.kind)) + ": line " + std::to_string(report.ptxLine);
  if (report.otherLine)
    text += " (other line " + std::to_string(report.otherLine) + ")";
  text += ", block (" + std::to_string(report.cta[0]) + "," + std::to_string(report.cta[1]) + "," +
          std::to_string(report.cta[2]) + ")";
  if (report.warp >= 0)
    text += ", warp " + std::to_string(report.warp);
  if (report.lane >= 0)
    text += ", lane " + std::to_string(report.lane);
  if (report.address) {
    char address[32];
    std::snprintf(address, sizeof address, ", address 0x%llx", static_cast<unsigned long long>(report.address));
    text += address;
  }
  text += ": " + report.message;
  if (!report.nearest.empty())
    text += " [" + report.nearest + "]";
  if (report.count > 1)
    text += " (" + std::to_string(report.count) + " times)";
  return text;
}

Launch::~Launch() {
  for (auto &shadow : globalShadows)
    delete shadow.load();
}

void Launch::report(Report next) {
  std::lock_guard lock(reportMutex);
  auto key = std::make_tuple(static_cast<int>(next.kind), next.ptxLine, next.otherLine);
  auto found = reportIndex.find(key);
  if (found != reportIndex.end()) {
    ++reports[found->second].count;
    reports[found->second].fatal |= next.fatal;
  } else if (reports.size() < options->maxReports || (next.fatal && !anyFatal)) {
    reportIndex[key] = reports.size();
    reports.push_back(next);
  }
  if (next.fatal) {
    anyFatal = true;
    stop = true;
  }
}

void reportAt(Warp &warp, const Instr &instr, ReportKind kind, bool fatal, std::string message, int lane,
              uint64_t address, std::string nearest, int otherLine) {
  Report report;
  report.kind = kind;
  report.fatal = fatal;
  report.ptxLine = instr.line;
  report.otherLine = otherLine;
  for (int i = 0; i < 3; ++i)
    report.cta[i] = warp.cta->id[i];
  report.warp = warp.id;
  report.lane = lane;
  report.address = address;
  report.message = std::move(message);
  report.nearest = std::move(nearest);
  if (fatal && warp.status == WarpStatus::Ready)
    warp.status = WarpStatus::Blocked; // ends its turn; the launch stops
  warp.cta->cluster->launch->report(std::move(report));
}

std::string describeShared(const Cta &cta, uint32_t offset) {
  const SharedVariable *best = nullptr;
  if (cta.warps.empty())
    return "";
  for (const SharedVariable &variable : cta.warps[0].kernel->sharedVariables)
    if (variable.offset <= offset && (!best || variable.offset >= best->offset))
      best = &variable;
  std::string text;
  if (best)
    text = best->name + "+" + std::to_string(offset - best->offset);
  for (const Mbarrier &barrier : cta.mbarriers)
    if (barrier.offset <= offset && offset < barrier.offset + 8)
      text += std::string(text.empty() ? "" : ", ") + "mbarrier initialised at line " + std::to_string(barrier.line);
  return text;
}

} // namespace fa::runtime::emulator
