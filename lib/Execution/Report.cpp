// The two output formats of an experiment.
#include "fa/Execution/Report.h"
#include "fa/Support/Text.h"
#include "llvm/Support/JSON.h"
#include <algorithm>
#include <cmath>

namespace fa::execution {
namespace {
namespace json = llvm::json;

class Lines {
public:
  void add(const std::string &key, const std::string &value) {
    text += key + std::string(key.size() < 10 ? 10 - key.size() : 1, ' ') + value + "\n";
  }
  std::string text;
};

std::string shapesOf(const RunReport &report) {
  std::string text;
  for (const auto &[name, sizes] : report.shapes)
    text += (text.empty() ? "" : ", ") + name + " " + formatShape(sizes);
  return text;
}

std::string join(const std::vector<std::string> &items) {
  std::string text;
  for (const std::string &item : items)
    text += (text.empty() ? "" : ", ") + item;
  return text;
}

json::Value number(double value) { return std::isfinite(value) ? json::Value(value) : json::Value(nullptr); }

json::Object toObject(const reference::TensorErrors &errors) {
  return json::Object{{"max_error", number(errors.maxError)},
                      {"max_bar", number(errors.maxBar)},
                      {"unfused_max_error", number(errors.unfusedMaxError)},
                      {"rms_error", number(errors.rmsError)},
                      {"rms_bar", number(errors.rmsBar)},
                      {"unfused_rms_error", number(errors.unfusedRmsError)},
                      {"mean_error", number(errors.meanError)},
                      {"bound", number(errors.largestBound)},
                      {"bound_ratio", number(errors.boundRatio)},
                      {"non_finite_mismatches", errors.nonFiniteMismatches},
                      {"passed", errors.passed()}};
}

json::Object compiledObject(const CompileReport &compiled) {
  json::Array kernels, stages, remarks;
  for (const std::string &kernel : compiled.kernels)
    kernels.push_back(kernel);
  for (const StageTime &stage : compiled.stages)
    stages.push_back(json::Object{{"name", stage.name}, {"seconds", stage.seconds}});
  for (const std::string &remark : compiled.remarks)
    remarks.push_back(remark);
  return json::Object{{"device", compiled.device},
                      {"target", compiled.target},
                      {"lowering", compiled.lowering},
                      {"choice", compiled.choice},
                      {"device_choice", compiled.deviceChoice},
                      {"schedule", compiled.schedule},
                      {"kernels", std::move(kernels)},
                      {"stages", std::move(stages)},
                      {"seconds", compiled.seconds()},
                      {"cache", compiled.cache},
                      {"remarks", std::move(remarks)}};
}

/// Bytes of each tensor, as the traffic model counts them.
json::Object trafficObject(const analysis::Traffic &traffic, const analysis::Traffic &naive) {
  json::Object tensors;
  for (const analysis::TensorTraffic &tensor : traffic.tensors)
    tensors[tensor.tensor] = json::Object{{"read_once", static_cast<int64_t>(tensor.readOnce)},
                                          {"written_once", static_cast<int64_t>(tensor.writtenOnce)},
                                          {"read_issued", static_cast<int64_t>(tensor.readIssued)},
                                          {"written_issued", static_cast<int64_t>(tensor.writtenIssued)}};
  return json::Object{{"once_bytes", traffic.once()},
                      {"issued_bytes", traffic.issued()},
                      {"naive_bytes", naive.issued()},
                      {"square_touches", traffic.squareTouches},
                      {"tensors", std::move(tensors)}};
}

json::Object ranObject(const RunReport &ran) {
  json::Array seconds;
  for (double time : ran.seconds)
    seconds.push_back(time);
  json::Object object{{"seconds", std::move(seconds)}, {"median", ran.median()}};
  if (ran.tiles)
    object["tiles"] =
        json::Object{{"full", ran.tiles->full}, {"masked", ran.tiles->masked}, {"skipped", ran.tiles->skipped}};
  if (ran.traffic)
    object["traffic"] = trafficObject(*ran.traffic, *ran.naiveTraffic);
  if (ran.visiblePairs)
    object["visible_pairs"] = *ran.visiblePairs;
  if (ran.flops > 0 && ran.median() > 0)
    object["gflops"] = ran.flops / ran.median() * 1e-9;
  return object;
}
} // namespace

std::string toTable(const Experiment &experiment) {
  const CompileReport &compiled = experiment.compiled;
  const RunReport &ran = experiment.ran;
  Lines lines;
  lines.add("problem", experiment.problem);
  lines.add("tensors", shapesOf(ran));
  const std::string why = compiled.deviceChoice.empty() ? "" : " (" + compiled.deviceChoice + ")";
  lines.add("device", compiled.device + why + ", lowering " + compiled.lowering +
                          (compiled.choice.empty() ? "" : " (" + compiled.choice + ")"));
  if (!compiled.schedule.empty())
    lines.add("schedule", compiled.schedule);
  lines.add("kernels", join(compiled.kernels));
  if (ran.tiles)
    lines.add("tiles", formatCount(ran.tiles->full + ran.tiles->masked) + " of " + formatCount(ran.tiles->all()) +
                           " visited: " + formatCount(ran.tiles->full) + " full, " + formatCount(ran.tiles->masked) +
                           " masked; " + formatCount(ran.tiles->skipped) + " skipped");
  std::string stages;
  for (const StageTime &stage : compiled.stages)
    stages += (stages.empty() ? "" : ", ") + stage.name + " " + formatDuration(stage.seconds);
  const std::string cache = compiled.cache.empty() ? "" : ", kernel cache " + compiled.cache;
  lines.add("compile", formatDuration(compiled.seconds()) + " (" + stages + ")" + cache);
  std::string run = formatDuration(ran.median());
  if (ran.seconds.size() > 1)
    run += " (median of " + std::to_string(ran.seconds.size()) + ", fastest " +
           formatDuration(*std::min_element(ran.seconds.begin(), ran.seconds.end())) + ")";
  if (ran.flops > 0 && ran.median() > 0)
    run += ", " + formatNumber(ran.flops / ran.median() * 1e-9, 3) + " GFLOP/s over " + formatCount(*ran.visiblePairs) +
           " visible pairs";
  lines.add("run", run);
  if (ran.traffic)
    lines.add("traffic", formatBytes(ran.traffic->once()) + " once, " + formatBytes(ran.traffic->issued()) +
                             " issued; the unfused form moves " + formatBytes(ran.naiveTraffic->issued()));
  if (!ran.verdict) {
    lines.add("check", "not done (--no-check)");
    return lines.text + ran.trafficTables;
  }
  std::string verdict = ran.verdict->report();
  // The first line begins with the word "check".
  const size_t space = verdict.find(' ');
  const size_t end = verdict.find('\n');
  lines.add("check", verdict.substr(space + 1, end - space - 1) + ", reference in " + formatDuration(ran.checkSeconds));
  return lines.text + verdict.substr(end + 1) + ran.trafficTables;
}

std::string toJson(const Experiment &experiment) {
  json::Object root{{"problem", experiment.problem}, {"compile", compiledObject(experiment.compiled)}};
  json::Object shapes;
  for (const auto &[name, sizes] : experiment.ran.shapes)
    shapes[name] = json::Array(sizes);
  root["shapes"] = std::move(shapes);
  root["run"] = ranObject(experiment.ran);
  if (const auto &verdict = experiment.ran.verdict) {
    json::Object check{{"passed", verdict->passed()},
                       {"rows", verdict->checkedRows},
                       {"total_rows", verdict->totalRows},
                       {"overflowing_rows", verdict->overflowingRows},
                       {"tainted_elements", verdict->taintedElements},
                       {"output", toObject(verdict->output)},
                       {"seconds", experiment.ran.checkSeconds}};
    if (verdict->lse)
      check["lse"] = toObject(*verdict->lse);
    root["check"] = std::move(check);
  }
  if (!experiment.ir.empty()) {
    json::Object ir;
    for (const auto &[stage, text] : experiment.ir)
      ir[stage] = text;
    root["ir"] = std::move(ir);
  }
  std::string text;
  llvm::raw_string_ostream(text) << llvm::formatv("{0:2}", json::Value(std::move(root))) << "\n";
  return text;
}

} // namespace fa::execution
