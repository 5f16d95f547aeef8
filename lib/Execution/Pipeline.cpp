// Stage lists, and running them.
#include "Pipeline.h"
#include "fa/Conversion/Passes.h"
#include "fa/Dialect/FA/Transforms/Passes.h"
#include "fa/Pipelines/CPU.h"
#include "fa/Pipelines/Common.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/raw_ostream.h"
#include <chrono>

namespace fa::execution {
namespace {
using mlir::OpPassManager;

std::string print(mlir::ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream(text) << module;
  return text;
}
} // namespace

double CompileReport::seconds() const {
  double sum = 0;
  for (const StageTime &stage : stages)
    sum += stage.seconds;
  return sum;
}

std::vector<Stage> kernelStages(const CompileOptions &options, const std::string &target, int64_t vectorBits) {
  const auto schedule = [options, target, vectorBits](OpPassManager &manager) {
    mlir::fa::ScheduleOptions wanted;
    wanted.target = target;
    wanted.schedule = options.schedule;
    wanted.tileQ = options.tileQ;
    wanted.tileKv = options.tileKv;
    wanted.order = options.order;
    wanted.splitKeys = options.splitKeys;
    wanted.vectorBits = vectorBits;
    wanted.foldGroups = target == "cpu";
    mlir::fa::buildSchedulePipeline(manager, wanted);
  };
  return {{"schedule", "L0: named masks expanded, a schedule attached", schedule},
          {"tiles", "L1: loops over tiles with an online softmax", mlir::fa::buildTilePipeline},
          {"bounds", "L2: loop bounds from the mask, no fully masked tile is visited",
           [](OpPassManager &manager) { manager.addPass(mlir::fa::createEliminateMaskedTilesPass()); }},
          {"peeled", "L3: full tiles in loops of their own, without masking",
           [](OpPassManager &manager) {
             manager.addPass(mlir::fa::createPeelMaskedTilesPass());
             manager.addPass(mlir::createCSEPass());
           }},
          {"kernels", "kernel functions over a grid, and their launches",
           [target](OpPassManager &manager) { mlir::fa::buildOutlinePipeline(manager, target); }}};
}

std::vector<Stage> cpuStages(const std::string &lowering, llvm::ArrayRef<std::string> features) {
  std::vector<Stage> stages;
  if (lowering == "naive")
    stages.push_back({"naive", "three passes over all scores (--lowering=naive)",
                      [](OpPassManager &manager) { manager.addPass(mlir::fa::createLowerNaivePass()); }});
  if (lowering == "vector")
    stages.push_back({"vector", "blocked vector code (--lowering=vector)",
                      [owned = llvm::to_vector(features)](OpPassManager &manager) {
                        mlir::fa::VectorUnitOptions unit;
                        mlir::fa::selectVectorUnit(owned, unit);
                        mlir::fa::buildVectorPipeline(manager, unit);
                      }});
  else
    stages.push_back({"loops", "plain loops (--lowering=loops)", mlir::fa::buildLoopsPipeline});
  stages.push_back({"llvm", "the llvm dialect of the CPU", mlir::fa::buildCpuToLLVMPipeline});
  return stages;
}

std::vector<StageInfo> allStages() {
  std::vector<StageInfo> infos{{"source", "as it was read or built from flags"},
                               {"input", "L0 on memrefs: what the check evaluates"}};
  const auto add = [&](const std::vector<Stage> &stages) {
    for (const Stage &stage : stages)
      if (std::none_of(infos.begin(), infos.end(), [&](const StageInfo &info) { return info.name == stage.name; }))
        infos.insert(stage.name == "vector" ? infos.end() - 1 : infos.end(), {stage.name, stage.what});
  };
  add(kernelStages({}, "cpu"));
  for (const char *lowering : {"naive", "loops", "vector"})
    add(cpuStages(lowering, {}));
  add(gpuStages());
  return infos;
}

void StageRunner::dump(const std::string &stage) {
  if (options.onDump && options.dump.count(stage))
    options.onDump(stage, print(module));
}

Status StageRunner::run(const std::string &name, const std::function<Status()> &step) {
  if (options.onStage)
    options.onStage(name);
  const auto start = std::chrono::steady_clock::now();
  Status status;
  std::vector<std::string> remarks;
  {
    DiagnosticText diagnostics(*module.getContext());
    status = step();
    if (!status)
      status = makeError(diagnostics.errors(status.message()));
    remarks = diagnostics.remarks();
  }
  report.stages.push_back({name, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count()});
  report.remarks.insert(report.remarks.end(), remarks.begin(), remarks.end());
  if (status)
    dump(name);
  return status;
}

/// The schedules of a module's attentions, as attributes.
static std::string scheduleOf(mlir::ModuleOp module) {
  std::string text;
  module.walk([&](mlir::fa::AttentionOp op) {
    llvm::raw_string_ostream stream(text);
    stream << (text.empty() ? "" : ", ") << op.getScheduleAttr();
  });
  return text;
}

Status StageRunner::runKernelStages(const std::string &target, int64_t vectorBits) {
  for (const Stage &stage : kernelStages(options, target, vectorBits)) {
    if (Status status = run({stage}); !status)
      return status;
    if (stage.name == "schedule")
      noteSchedule();
  }
  return Status::success();
}

void StageRunner::noteSchedule() {
  report.schedule = scheduleOf(module);
  module.walk([&](mlir::fa::AttentionOp op) {
    report.tileQ = op.getScheduleAttr().getTileQ();
    report.tileKv = op.getScheduleAttr().getTileKv();
    report.order = mlir::fa::stringifyLoopOrder(op.getScheduleAttr().getOrder()).str();
  });
}

Status StageRunner::run(const std::vector<Stage> &stages) {
  for (const Stage &stage : stages) {
    Status status = run(stage.name, [&]() -> Status {
      mlir::PassManager manager(module.getContext());
      stage.build(manager);
      // Once a stage instead of after each pass: that takes an eighth of the time to PTX. fa-opt looks after each pass.
      manager.enableVerifier(false);
      if (mlir::failed(manager.run(module)) || mlir::failed(mlir::verify(module)))
        return makeError("stage '" + stage.name + "' failed");
      return Status::success();
    });
    if (!status)
      return status;
  }
  return Status::success();
}

} // namespace fa::execution
