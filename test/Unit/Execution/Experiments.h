// Running experiments in tests: compile once, run on many shapes, expect the verdict.
#pragma once
#include "fa/Execution/Run.h"
#include <gtest/gtest.h>

namespace fa::test {

struct Compiled {
  std::unique_ptr<execution::Program> program;
  std::unique_ptr<execution::CompiledAttention> kernel;
};

/// Fails the test and returns null pointers when something does not compile.
Compiled compile(Expected<execution::Program> program, const execution::CompileOptions &options = {});
Compiled compile(const execution::AttentionSpec &spec, const execution::CompileOptions &options = {});

/// Runs and expects a passing check; `what` names the experiment in a failure.
void expectPass(const Compiled &compiled, const execution::RunOptions &options, const std::string &what);
/// compile, then expectPass, on the shapes of the spec.
void expectPass(const execution::AttentionSpec &spec, const execution::CompileOptions &options = {},
                execution::RunOptions run = {});

/// Contents of an output after a run; checked as well unless `run.check` is false.
std::vector<double> outputOf(const Compiled &compiled, const std::string &name, execution::RunOptions run);

} // namespace fa::test
