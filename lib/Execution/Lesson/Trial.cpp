// Compiling and running the kernels of the lesson.
#include "Trial.h"
#include "fa/Execution/Check.h"
#include <cmath>
#include <limits>

namespace fa::execution::lesson {

Expected<std::unique_ptr<Trial>> Trial::create(const std::string &ir, const CompileOptions &options) {
  Expected<Program> program = Program::fromText(ir, "lesson");
  if (!program)
    return program.error();
  std::unique_ptr<Trial> trial(new Trial(std::move(*program)));
  Expected<std::unique_ptr<CompiledAttention>> kernel = compile(trial->program, options);
  if (!kernel)
    return kernel.error();
  trial->kernel = std::move(*kernel);
  Expected<Tensors> tensors = prepareTensors(trial->program, {});
  if (!tensors)
    return tensors.error();
  trial->tensors = std::move(*tensors);
  Expected<runtime::Bindings> bindings = bindArguments(trial->program, trial->tensors, {});
  if (!bindings)
    return bindings.error();
  trial->bindings = std::move(*bindings);
  return trial;
}

Expected<std::vector<double>> Trial::run() {
  Expected<std::vector<double>> seconds = launch(*kernel, program, tensors, bindings, 1);
  if (!seconds)
    return seconds.error();
  const HostTensor &output = tensors.at("o");
  std::vector<double> values(output.elements());
  for (int64_t n = 0; n < output.elements(); ++n)
    values[n] = output.get(n);
  return values;
}

Expected<std::vector<double>> Trial::reference() {
  Expected<AttentionProblem> problem = AttentionProblem::create(program, bindings);
  if (!problem)
    return problem.error();
  reference::EvaluationOptions options;
  options.unfused = false;
  Expected<reference::Evaluation> evaluation = reference::evaluate(problem->problem(), options);
  if (!evaluation)
    return evaluation.error();
  return evaluation->output;
}

Expected<std::vector<double>> execute(const AttentionSpec &spec, const CompileOptions &options) {
  Expected<std::unique_ptr<Trial>> trial = Trial::create(spec.toIR(), options);
  if (!trial)
    return trial.error();
  return (*trial)->run();
}

double largestDifference(const std::vector<double> &a, const std::vector<double> &b) {
  double largest = a.size() == b.size() ? 0 : std::numeric_limits<double>::infinity();
  for (size_t n = 0; n < std::min(a.size(), b.size()); ++n) {
    const bool same = a[n] == b[n] || (std::isnan(a[n]) && std::isnan(b[n]));
    const double difference = same ? 0 : std::abs(a[n] - b[n]);
    largest = std::isfinite(difference) ? std::max(largest, difference) : std::numeric_limits<double>::infinity();
  }
  return largest;
}

} // namespace fa::execution::lesson
