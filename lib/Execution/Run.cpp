// Order of an experiment, and launching on devices with memory of their own.
#include "fa/Execution/Run.h"
#include "Taint.h"
#include "fa/Execution/Check.h"
#include "fa/Execution/Traffic.h"
#include "fa/Runtime/Host/DeviceTensors.h"
#include "fa/Support/Npy.h"
#include "fa/Support/Text.h"
#include <algorithm>
#include <chrono>
#include <cstring>

namespace fa::execution {
namespace {

/// Hash of a tensor's bytes, to see that a kernel leaves its inputs alone.
uint64_t hashOf(const HostTensor &tensor) {
  uint64_t hash = 0x9E3779B97F4A7C15u;
  const size_t words = tensor.spanBytes() / sizeof(uint64_t);
  const auto mix = [&](uint64_t word) {
    hash = (hash ^ word) * 0x9FB21C651E98DF25u;
    hash ^= hash >> 32;
  };
  for (size_t n = 0; n < words; ++n) {
    uint64_t word;
    std::memcpy(&word, tensor.span() + n * sizeof word, sizeof word);
    mix(word);
  }
  for (size_t n = words * sizeof(uint64_t); n < tensor.spanBytes(); ++n)
    mix(static_cast<uint64_t>(tensor.span()[n]));
  return hash;
}

std::map<std::string, uint64_t> hashInputs(const Program &program, const Tensors &tensors) {
  std::map<std::string, uint64_t> hashes;
  for (const Argument &argument : program.arguments())
    if (argument.isTensor && !argument.isOutput)
      hashes[argument.name] = hashOf(tensors.at(argument.name));
  return hashes;
}

Status checkMemory(const Program &program, const Tensors &tensors, const std::map<std::string, uint64_t> &inputs) {
  for (const Argument &argument : program.arguments()) {
    if (!argument.isTensor)
      continue;
    const HostTensor &tensor = tensors.at(argument.name);
    if (Status status = tensor.checkSurroundings(); !status)
      return status;
    if (!argument.isOutput && hashOf(tensor) != inputs.at(argument.name))
      return makeError("kernel changed its input '" + argument.name + "'");
  }
  return Status::success();
}

Status addTraffic(RunReport &report, const Program &program, const AttentionProblem &problem,
                  const CompileReport &compiled, bool tables) {
  Expected<std::optional<RunTraffic>> traffic = trafficOf(program, problem, compiled);
  if (!traffic)
    return traffic.error();
  if (*traffic) {
    report.traffic = (*traffic)->kernel;
    report.naiveTraffic = (*traffic)->naive;
  }
  if (!tables)
    return Status::success();
  Expected<std::string> text = trafficTables(program, problem, compiled);
  if (!text)
    return text.error();
  report.trafficTables = *text;
  return Status::success();
}

Expected<reference::Evaluation> evaluate(const AttentionProblem &problem, const RunOptions &options) {
  reference::EvaluationOptions evaluationOptions;
  evaluationOptions.outputType = problem.output().type;
  evaluationOptions.lseType = problem.lse() ? problem.lse()->type : DType::F32;
  evaluationOptions.threads = options.threads;
  evaluationOptions.sampleRows = options.checkRows;
  evaluationOptions.seed = options.seed;
  Expected<reference::Evaluation> evaluated = reference::evaluate(problem.problem(), evaluationOptions);
  if (!evaluated)
    return evaluated;
  if (Status status = problem.status(); !status)
    return status.error();
  return evaluated;
}

double secondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

Status writeOutputs(const Tensors &tensors, const RunOptions &options) {
  for (const auto &[name, path] : options.outputs) {
    const HostTensor &tensor = tensors.at(name);
    if (Status status = writeNpy(path, tensor.type(), tensor.sizes(), tensor.toDense().data()); !status)
      return status;
  }
  return Status::success();
}

/// What the kernel should have computed, for a machine that has no reference.
Status writeReferences(const Program &program, const reference::Evaluation &evaluation, const Tensors &tensors,
                       const RunOptions &options) {
  mlir::fa::AttentionOp op = program.attention();
  const auto isArgument = [&](mlir::Value value, const std::string &name) {
    auto argument = llvm::dyn_cast_if_present<mlir::BlockArgument>(value);
    return argument && program.arguments()[argument.getArgNumber()].name == name;
  };
  for (const auto &[name, path] : options.references) {
    const bool isOutput = isArgument(op.getOutput(), name);
    if (!isOutput && !isArgument(op.getLse(), name))
      return makeError("expected --reference to name the output or the LSE of the attention, but got '" + name + "'");
    const std::vector<double> &values = isOutput ? evaluation.output : evaluation.lse;
    const HostTensor &tensor = tensors.at(name);
    Status status;
    if (tensor.type() == DType::F64)
      status = writeNpy(path, DType::F64, tensor.sizes(), values.data());
    else
      status = writeNpy(path, DType::F32, tensor.sizes(), std::vector<float>(values.begin(), values.end()).data());
    if (!status)
      return status;
  }
  return Status::success();
}

/// Everything that can fail because of what the user asked for is refused before anything runs.
Status checkNames(const Program &program, const RunOptions &options) {
  const auto find = [&](const std::string &name, bool tensor) {
    return std::any_of(program.arguments().begin(), program.arguments().end(),
                       [&](const Argument &a) { return a.name == name && a.isTensor == tensor; });
  };
  std::string names, scalarNames;
  for (const Argument &argument : program.arguments())
    (argument.isTensor ? names : scalarNames) +=
        ((argument.isTensor ? names : scalarNames).empty() ? "" : ", ") + argument.name;
  const auto unknown = [&](const char *flag, const std::string &name) {
    return makeError(std::string("expected ") + flag + " to name a tensor of the function (" + names + "), but got '" +
                     name + "'");
  };
  for (const auto &[name, path] : options.inputs)
    if (!find(name, true))
      return unknown("--input", name);
  for (const auto &[name, fill] : options.fills)
    if (!find(name, true))
      return unknown("--fill", name);
  for (const auto &[name, assignment] : options.elements)
    if (!find(name, true))
      return unknown("--set", name);
  for (const auto &[name, path] : options.outputs)
    if (!find(name, true))
      return unknown("--output", name);
  for (const auto &[name, path] : options.references)
    if (!find(name, true))
      return unknown("--reference", name);
  if (!options.references.empty() && (!options.check || options.checkRows != 0))
    return makeError("expected no --no-check and no --check-rows beside --reference, which needs all rows");
  for (const auto &[name, sizes] : options.shapes)
    if (!find(name, true))
      return unknown("--shape", name);
  for (const auto &[name, value] : options.scalars)
    if (!find(name, false))
      return makeError("expected --arg to name a scalar of the function (" +
                       (scalarNames.empty() ? "it has none" : scalarNames) + "), but got '" + name + "'");
  return Status::success();
}

Status fillInput(HostTensor &tensor, const Argument &argument, const RunOptions &options) {
  if (const auto file = options.inputs.find(argument.name); file != options.inputs.end())
    return runtime::fillFromFile(tensor, file->second);
  Fill fill;
  const auto chosen = options.fills.find(argument.name);
  if (chosen != options.fills.end()) {
    fill = chosen->second;
  } else if (!argument.fill.empty()) {
    Expected<Fill> declared = Fill::parse(argument.fill);
    if (!declared)
      return makeError("fa.fill of '" + argument.name + "': " + declared.message());
    fill = *declared;
  } else if (!isFloat(argument.type)) {
    return makeError("expected --fill " + argument.name + "=KIND or --input " + argument.name + "=FILE.npy, because '" +
                     argument.name + "' is a tensor of integers (" + std::string(nameOf(argument.type)) + ")");
  }
  return fillTensor(tensor, fill, options.seed);
}
} // namespace

double RunReport::median() const {
  std::vector<double> sorted = seconds;
  std::sort(sorted.begin(), sorted.end());
  return sorted.empty() ? 0 : (sorted[(sorted.size() - 1) / 2] + sorted[sorted.size() / 2]) / 2;
}

Expected<Tensors> prepareTensors(const Program &program, const RunOptions &options) {
  if (Status status = checkNames(program, options); !status)
    return status.error();
  std::map<std::string, std::vector<int64_t>> shapes = options.shapes;
  for (const auto &[name, path] : options.inputs) {
    const auto argument = std::find_if(program.arguments().begin(), program.arguments().end(),
                                       [&, &wanted = name](const Argument &a) { return a.name == wanted; });
    if (shapes.count(name) ||
        std::find(argument->sizes.begin(), argument->sizes.end(), mlir::ShapedType::kDynamic) == argument->sizes.end())
      continue;
    Expected<NpyArray> array = readNpy(path, runtime::rawTypeOf(argument->type));
    if (!array)
      return array.error();
    shapes[name] = array->sizes;
  }
  Expected<std::map<std::string, TensorLayout>> layouts = program.layouts(shapes);
  if (!layouts)
    return layouts.error();
  Tensors tensors;
  for (const Argument &argument : program.arguments()) {
    if (!argument.isTensor)
      continue;
    Expected<HostTensor> tensor = HostTensor::allocate(argument.name, layouts->at(argument.name));
    if (!tensor)
      return tensor.error();
    const bool given = options.inputs.count(argument.name) || options.fills.count(argument.name);
    if (!argument.isOutput || given)
      if (Status status = fillInput(*tensor, argument, options); !status)
        return status.error();
    tensors.emplace(argument.name, std::move(*tensor));
  }
  for (const auto &[name, assignment] : options.elements)
    if (Status status = setElements(tensors.at(name), assignment); !status)
      return status.error();
  return tensors;
}

Expected<runtime::Bindings> bindArguments(const Program &program, const Tensors &tensors, const RunOptions &options) {
  runtime::Bindings bindings;
  for (const Argument &argument : program.arguments()) {
    if (argument.isTensor) {
      bindings.tensors[argument.name] = tensors.at(argument.name).view();
      continue;
    }
    const auto value = options.scalars.find(argument.name);
    if (value == options.scalars.end())
      return makeError("expected --arg " + argument.name + "=VALUE for the scalar argument '" + argument.name + "' (" +
                       std::string(nameOf(argument.type)) + ")");
    // The reference sees the value that the kernel sees.
    uint64_t bits = 0;
    storeFromDouble(argument.type, &bits, value->second);
    const double rounded = loadAsDouble(argument.type, &bits);
    if (!isFloat(argument.type) && rounded != value->second)
      return makeError("expected --arg " + argument.name + " to be an integer of type " +
                       std::string(nameOf(argument.type)) + ", but got " + formatNumber(value->second, 17));
    bindings.scalars[argument.name] = rounded;
  }
  return bindings;
}

Expected<std::vector<double>> launch(CompiledAttention &kernel, const Program &program, Tensors &tensors,
                                     const runtime::Bindings &bindings, int repeat) {
  const bool ownMemory = kernel.driver().abi() != "so";
  runtime::Bindings onDevice = bindings;
  runtime::DeviceTensors device(kernel.driver());
  if (ownMemory)
    if (Status status = device.upload(tensors, onDevice); !status)
      return status.error();
  std::vector<double> seconds;
  for (int n = 0; n < std::max(repeat, 1); ++n) {
    Expected<double> time = kernel.run(onDevice);
    if (!time)
      return time.error();
    seconds.push_back(*time);
  }
  if (ownMemory)
    for (const Argument &argument : program.arguments())
      if (argument.isTensor && argument.isOutput)
        if (Status status = device.download(tensors.at(argument.name)); !status)
          return status.error();
  return seconds;
}

Expected<RunReport> run(const Program &program, CompiledAttention &kernel, const RunOptions &options) {
  const auto phase = [&](const std::string &name) {
    if (options.onPhase)
      options.onPhase(name);
  };
  phase("preparing tensors");
  Expected<Tensors> tensors = prepareTensors(program, options);
  if (!tensors)
    return tensors.error();
  Expected<runtime::Bindings> bindings = bindArguments(program, *tensors, options);
  if (!bindings)
    return bindings.error();

  RunReport report;
  for (const auto &[name, tensor] : *tensors)
    report.shapes[name] = tensor.sizes();
  std::optional<AttentionProblem> problem;
  std::optional<reference::Evaluation> evaluation;
  if (options.check || options.traffic) {
    Expected<AttentionProblem> stated = AttentionProblem::create(program, *bindings);
    if (!stated)
      return stated.error();
    problem = std::move(*stated);
    if (Status status = addTraffic(report, program, *problem, kernel.report(), options.traffic); !status)
      return status.error();
  }
  if (options.check) {
    phase("evaluating the reference");
    const auto start = std::chrono::steady_clock::now();
    Expected<reference::Evaluation> evaluated = evaluate(*problem, options);
    if (!evaluated)
      return evaluated.error();
    report.checkSeconds = secondsSince(start);
    evaluation = std::move(*evaluated);
    if (Status status = writeReferences(program, *evaluation, *tensors, options); !status)
      return status.error();
    if (!evaluation->sampled())
      report.visiblePairs = evaluation->visiblePairs;
  }

  phase("counting tiles");
  Expected<std::optional<TileCounts>> tiles = kernel.countTiles(*bindings);
  if (!tiles)
    return tiles.error();
  report.tiles = *tiles;
  if (report.tiles) // the census writes to outputs too
    for (const Argument &argument : program.arguments())
      if (argument.isTensor && argument.isOutput && !options.inputs.count(argument.name) &&
          !options.fills.count(argument.name))
        tensors->at(argument.name).clear();

  phase("running the kernel");
  const std::map<std::string, uint64_t> inputs = hashInputs(program, *tensors);
  Expected<std::vector<double>> seconds = launch(kernel, program, *tensors, *bindings, options.repeat);
  if (!seconds)
    return seconds.error();
  report.seconds = std::move(*seconds);
  if (Status status = checkMemory(program, *tensors, inputs); !status)
    return status.error();

  if (evaluation) {
    phase("comparing");
    Expected<reference::TaintFunction> taint = taintOf(program, *problem, kernel.report(), *bindings);
    if (!taint)
      return taint.error();
    Expected<reference::Verdict> verdict = reference::compare(problem->problem(), *evaluation, problem->output(),
                                                              problem->lse() ? &*problem->lse() : nullptr, *taint);
    if (!verdict)
      return verdict.error();
    report.verdict = std::move(*verdict);
    if (report.visiblePairs)
      report.flops = 2.0 * static_cast<double>(*report.visiblePairs) *
                     static_cast<double>(problem->problem().depth() + problem->problem().depthV());
  }
  if (report.passed())
    if (Status status = writeOutputs(*tensors, options); !status)
      return status.error();
  return report;
}

} // namespace fa::execution
