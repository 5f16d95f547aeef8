// Compiles an attention kernel for given shapes, executes it, checks it against the reference and times it.
#include "Flags.h"
#include "Progress.h"
#include "fa/Execution/Lesson.h"
#include "fa/Execution/Report.h"
#include "fa/Execution/Tiles.h"
#include <fstream>
#include <iostream>

using namespace fa;
using namespace fa::run_tool;

namespace {

int fail(const Error &error) {
  std::cerr << "fa-run: " << error.message << "\n";
  return 1;
}

Expected<execution::Program> load(const Flags &flags) {
  return flags.spec ? execution::Program::fromSpec(*flags.spec) : execution::Program::fromFile(flags.file, flags.entry);
}

/// --tile-map and --validate: what the loops visit, before anything runs.
Status lookAtTiles(const Flags &flags, const execution::Program &program) {
  // `--tile-map FILE.mlir` would overwrite the input.
  if (flags.tileMap && !flags.tileMap->empty() && !flags.tileMap->ends_with(".svg"))
    return makeError("expected a file name that ends in .svg for --tile-map, but got " + *flags.tileMap);
  Expected<execution::Tensors> tensors = execution::prepareTensors(program, flags.run);
  if (!tensors)
    return tensors.error();
  Expected<runtime::Bindings> bindings = execution::bindArguments(program, *tensors, flags.run);
  if (!bindings)
    return bindings.error();
  Expected<execution::TileReport> tiles = execution::inspectTiles(program, flags.compile, *bindings, flags.validate);
  if (!tiles)
    return tiles.error();
  if (flags.tileMap && !flags.tileMap->empty()) {
    std::ofstream file(*flags.tileMap);
    if (!(file << tiles->svg << std::flush))
      return makeError("expected to write --tile-map=" + *flags.tileMap + ", but the file cannot be written");
  }
  std::ostream &out = flags.json ? std::cerr : std::cout; // JSON stays alone on the standard output
  if (flags.tileMap)
    out << tiles->text;
  out << "tiles     " << tiles->summary << "\n";
  if (flags.validate)
    out << "validated every removed tile is empty, every unmasked one full; " << tiles->empty
        << " of the visited are empty\n";
  return Status::success();
}

int runExperiment(Flags flags) {
  Progress progress;
  execution::Experiment experiment;
  experiment.problem = flags.spec ? flags.spec->describe() : flags.file;
  const auto show = [&](const std::string &stage, const std::string &ir) {
    if (flags.json)
      experiment.ir[stage] = ir;
    else
      std::cout << "// " << stage << "\n" << ir << "\n";
  };
  flags.compile.census = flags.compile.autoMayUseGpu = true;
  flags.compile.dump = {flags.dump.begin(), flags.dump.end()};
  flags.compile.onDump = show;
  flags.compile.onStage = [&](const std::string &stage) { progress.begin("compiling (" + stage + ")"); };
  flags.run.onPhase = [&](const std::string &phase) { progress.begin(phase); };

  Expected<execution::Program> program = load(flags);
  if (!program)
    return fail(program.error());
  if (flags.compile.dump.count("source"))
    show("source", program->sourceText());
  if (flags.validate || flags.tileMap)
    if (Status status = lookAtTiles(flags, *program); !status)
      return fail(status.error());
  Expected<std::unique_ptr<execution::CompiledAttention>> kernel = execution::compile(*program, flags.compile);
  if (!kernel)
    return fail(kernel.error());
  experiment.compiled = (*kernel)->report();
  if (flags.remarks && !flags.json)
    for (const std::string &remark : experiment.compiled.remarks)
      std::cout << remark << "\n";
  Expected<execution::RunReport> ran = execution::run(*program, **kernel, flags.run);
  progress.begin("");
  if (!ran)
    return fail(ran.error());
  experiment.ran = std::move(*ran);
  std::cout << (flags.json ? execution::toJson(experiment) : execution::toTable(experiment));
  return experiment.ran.passed() ? 0 : 1;
}

int teach(const Flags &flags) {
  Expected<bool> holds = execution::runLesson(std::cout, flags.compile);
  if (!holds)
    return fail(holds.error());
  return *holds ? 0 : 1;
}

} // namespace

int main(int argc, char **argv) {
  std::variant<Flags, int> parsed = parseFlags(argc, argv);
  if (const int *code = std::get_if<int>(&parsed))
    return *code;
  Flags flags = std::get<Flags>(std::move(parsed));
  return flags.lesson ? teach(flags) : runExperiment(std::move(flags));
}
