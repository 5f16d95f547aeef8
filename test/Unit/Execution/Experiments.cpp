// Shared by the tests that run kernels.
#include "Experiments.h"
#include "TemporaryFolder.h"
#include "fa/Support/Npy.h"

namespace fa::test {
using namespace execution;

Compiled compile(Expected<Program> program, const CompileOptions &options) {
  if (!program) {
    ADD_FAILURE() << program.message();
    return {};
  }
  Compiled compiled{std::make_unique<Program>(std::move(*program)), nullptr};
  Expected<std::unique_ptr<CompiledAttention>> kernel = execution::compile(*compiled.program, options);
  if (kernel)
    compiled.kernel = std::move(*kernel);
  else
    ADD_FAILURE() << kernel.message();
  return compiled;
}

Compiled compile(const AttentionSpec &spec, const CompileOptions &options) {
  return compile(Program::fromSpec(spec), options);
}

void expectPass(const Compiled &compiled, const RunOptions &options, const std::string &what) {
  ASSERT_TRUE(compiled.kernel) << what;
  Expected<RunReport> report = run(*compiled.program, *compiled.kernel, options);
  ASSERT_TRUE(report) << what << ": " << report.message();
  ASSERT_TRUE(report->verdict) << what;
  EXPECT_TRUE(report->passed()) << what << "\n" << report->verdict->report();
}

void expectPass(const AttentionSpec &spec, const CompileOptions &options, RunOptions run) {
  run.shapes = spec.openShapes();
  const std::string shape = std::to_string(spec.batch) + "x" + std::to_string(spec.heads) + "/" +
                            std::to_string(spec.kvHeads) + "x" + std::to_string(spec.seqQ) + "/" +
                            std::to_string(spec.seqKv) + "x" + std::to_string(spec.depth) + "/" +
                            std::to_string(spec.depthV);
  expectPass(compile(spec, options), run, spec.describe() + ", " + shape);
}

std::vector<double> outputOf(const Compiled &compiled, const std::string &name, RunOptions run) {
  TemporaryFolder folder;
  run.outputs[name] = folder.path("out.npy");
  if (run.check)
    expectPass(compiled, run, name);
  else if (Expected<RunReport> report = execution::run(*compiled.program, *compiled.kernel, run); !report)
    ADD_FAILURE() << report.message();
  DType type = DType::F32;
  for (const Argument &argument : compiled.program->arguments())
    if (argument.name == name)
      type = argument.type;
  Expected<NpyArray> array = readNpy(run.outputs[name], type);
  if (!array) {
    ADD_FAILURE() << array.message();
    return {};
  }
  std::vector<double> values;
  for (int64_t n = 0; n < array->elements(); ++n)
    values.push_back(loadAsDouble(type, array->data.data() + static_cast<size_t>(n) * sizeOf(type)));
  return values;
}

} // namespace fa::test
