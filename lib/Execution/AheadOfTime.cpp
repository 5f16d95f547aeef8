// What can be asked for, and which target answers.
#include "fa/Execution/AheadOfTime.h"
#include "Delivery.h"
#include <algorithm>

namespace fa::execution {
namespace {

struct Target {
  const char *name;
  std::vector<std::string> forms;     ///< of --emit
  std::vector<std::string> files;     ///< those that are no text
  std::vector<std::string> lowerings; ///< of --lowering
  Status (*compile)(const Program &, const AheadOfTimeOptions &, Delivery &, CompileReport &);
};

const Target targets[] = {{"cpu",
                           {"mlir", "llvm", "asm", "object", "package"},
                           {"object", "package"},
                           {"auto", "vector", "loops"},
                           compileCpuAheadOfTime},
                          {"sm_90a",
                           {"mlir", "llvm", "ptx", "cubin", "package"},
                           {"cubin", "package"},
                           {"auto", "hopper"},
                           compileGpuAheadOfTime}};

bool contains(const std::vector<std::string> &list, const std::string &item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

/// "a, b or c".
std::string join(const std::vector<std::string> &list) {
  std::string text;
  for (size_t n = 0; n < list.size(); ++n)
    text += (n == 0 ? "" : n + 1 == list.size() ? " or " : ", ") + list[n];
  return text;
}

Status checkStage(const AheadOfTimeOptions &options) {
  if (options.emit != "mlir") {
    if (options.stage.empty())
      return Status::success();
    return makeError("expected --stage with --emit=mlir only, but got --emit=" + options.emit);
  }
  const std::vector<StageInfo> stages = allStages();
  if (std::none_of(stages.begin(), stages.end(), [&](const StageInfo &info) { return info.name == options.stage; }))
    return makeError("expected the name of a stage, but got '" + options.stage + "'");
  return Status::success();
}

Status check(const AheadOfTimeOptions &options, const Target &target) {
  const std::string name = target.name;
  if (!contains(target.forms, options.emit))
    return makeError("expected --emit=" + join(target.forms) + " for " + name + ", but got '" + options.emit + "'");
  if (name != "cpu" && !options.cpu.empty())
    return makeError("expected --cpu with --target=cpu only, but got --target=" + name);
  if (name == "cpu" && !options.ptxas.empty())
    return makeError("expected --ptxas with --target=sm_90a only, but got --target=cpu");
  if (contains(target.files, options.emit) && options.output.empty())
    return makeError("expected -o with --emit=" + options.emit + ": it is not text");
  if (!contains(target.lowerings, options.compile.lowering))
    return makeError("expected --lowering=" + join(target.lowerings) + " for " + name + ", but got '" +
                     options.compile.lowering + "'");
  return checkStage(options);
}
} // namespace

Expected<AheadOfTimeResult> compileAheadOfTime(const Program &program, const AheadOfTimeOptions &given) {
  const auto target =
      std::find_if(std::begin(targets), std::end(targets), [&](const Target &t) { return t.name == given.target; });
  if (target == std::end(targets))
    return makeError("expected --target=cpu or sm_90a, but got '" + given.target + "'" +
                     (given.target.starts_with("sm_") ? "" : "; CPUs are named with --target=cpu --cpu=NAME"));
  AheadOfTimeOptions options = given;
  if (options.emit == "mlir" && options.stage.empty())
    options.stage = given.target == "sm_90a" ? "hopper" : given.compile.lowering == "loops" ? "loops" : "vector";
  if (Status status = check(options, *target); !status)
    return status.error();
  AheadOfTimeResult result;
  Delivery delivery(options, result);
  if (Status status = target->compile(program, options, delivery, result.report); !status)
    return status.error();
  return result;
}

} // namespace fa::execution
