// One compiled attention and the tensors it runs on, for experiments that change a tensor and run again.
#pragma once
#include "fa/Execution/Lesson.h"
#include "fa/Execution/Run.h"

namespace fa::execution::lesson {

class Trial {
public:
  /// Compiles IR with one function; its inputs are seeded N(0, 1) numbers, the same in every trial of the same shapes.
  static Expected<std::unique_ptr<Trial>> create(const std::string &ir, const CompileOptions &options);

  HostTensor &tensor(const std::string &name) { return tensors.at(name); }
  /// Runs, and returns the output `o`, row-major.
  Expected<std::vector<double>> run();
  /// What the float64 reference says of the same inputs, row-major.
  Expected<std::vector<double>> reference();

private:
  Trial(Program program) : program(std::move(program)) {}
  Program program;
  std::unique_ptr<CompiledAttention> kernel;
  Tensors tensors;
  runtime::Bindings bindings;
};

/// Compiles and runs once.
Expected<std::vector<double>> execute(const AttentionSpec &spec, const CompileOptions &options);

/// Largest difference of two results; infinity where only one of them is finite.
double largestDifference(const std::vector<double> &a, const std::vector<double> &b);

} // namespace fa::execution::lesson
