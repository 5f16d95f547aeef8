// Time to compile, in process and warm, stage by stage, against the numbers it must reach. Prints a table, and JSON
// with
// --json. One program is compiled again and again; a compilation starts from its IR at L0.
//   build/bin/fa-compile-bench [--json FILE] [--repeat N] [--only gpu|cpu]
// ptxas, where there is one, is another program and has a row of its own.
#include "fa/Execution/Compile.h"
#include "fa/Execution/GpuCode.h"
#include "fa/Support/Text.h"
#include "fa/Target/PTX/EmitPTX.h"
#include <algorithm>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <unistd.h>

namespace {

using namespace fa;
using namespace fa::execution;

struct Row {
  std::string name;
  double seconds; ///< median
  double bar;     ///< 0: none
};
std::vector<Row> rows;
int repeat = 25;

[[noreturn]] void fail(const std::string &message) {
  std::cerr << "error: " << message << "\n";
  std::exit(1);
}

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return (values[(values.size() - 1) / 2] + values[values.size() / 2]) / 2;
}

/// Times of one kind of compilation: the whole, and each stage by name in the order of the first run.
class Times {
public:
  /// `compile` fills the report of one compilation.
  template <typename Fn> void measure(const Fn &compile) {
    for (int n = -3; n < repeat; ++n) { // three to warm up
      CompileReport report;
      const double start = now();
      compile(report);
      if (n < 0)
        continue;
      whole.push_back(now() - start);
      for (const StageTime &stage : report.stages) {
        const auto found =
            std::find_if(stages.begin(), stages.end(), [&](const auto &s) { return s.first == stage.name; });
        auto &times =
            found == stages.end() ? stages.emplace_back(stage.name, std::vector<double>()).second : found->second;
        times.push_back(stage.seconds);
      }
    }
  }
  void report(const std::string &name, double bar) const {
    rows.push_back({name, median(whole), bar});
    for (const auto &[stage, seconds] : stages)
      rows.push_back({"  " + stage, median(seconds), 0});
  }

private:
  std::vector<double> whole;
  std::vector<std::pair<std::string, std::vector<double>>> stages;
};

Program causal(DType type, int64_t depth) {
  AttentionSpec spec;
  spec.dtype = type;
  spec.depth = spec.depthV = depth;
  spec.heads = spec.kvHeads = 8;
  spec.seqQ = spec.seqKv = 4096;
  spec.causal = Corner::BottomRight;
  Expected<Program> program = Program::fromSpec(spec);
  if (!program)
    fail(program.message());
  return std::move(*program);
}

void benchGpu() {
  for (const auto &[depth, bar] : {std::pair<int64_t, double>(128, 0.1), std::pair<int64_t, double>(64, 0)}) {
    const Program program = causal(DType::BF16, depth);
    CompileOptions options;
    options.device = "emulator";
    std::string ptx;
    Times times;
    times.measure([&](CompileReport &report) {
      Expected<std::vector<GpuKernel>> kernels = compileForGpu(program, options, report);
      if (!kernels)
        fail(kernels.message());
      ptx = std::move(kernels->front().ptx);
    });
    const std::string what = "causal bf16 depth " + std::to_string(depth);
    times.report(what + ", L0 to PTX", bar);
    const std::optional<std::string> ptxas = mlir::fa::findPtxas();
    if (!ptxas)
      continue;
    std::vector<double> seconds;
    for (int n = 0; n < 3; ++n) {
      const double start = now();
      if (mlir::failed(mlir::fa::assemble(program.function().getLoc(), ptx, *ptxas)))
        fail("ptxas refused the kernel");
      seconds.push_back(now() - start);
    }
    rows.push_back({what + ", ptxas", median(seconds), 0});
  }
}

void benchCpu() {
  const Program program = causal(DType::F32, 64);
  CompileOptions options;
  options.device = "cpu";
  const auto compileOnce = [&](CompileReport &report) {
    Expected<std::unique_ptr<CompiledAttention>> kernel = compile(program, options);
    if (!kernel)
      fail(kernel.message());
    report = (*kernel)->report();
  };
  Times cold;
  cold.measure(compileOnce);
  cold.report("causal f32 depth 64, L0 to callable on the CPU", 0.12);
  const std::filesystem::path cache =
      std::filesystem::temp_directory_path() / ("fa-compile-bench-" + std::to_string(::getpid()));
  options.cacheDirectory = cache.string();
  Times hit;
  hit.measure([&](CompileReport &report) {
    compileOnce(report);
    if (report.cache != "hit" && report.cache != "miss")
      fail("expected a kernel cache, but got: " + report.cache);
  });
  std::error_code ignored;
  std::filesystem::remove_all(cache, ignored);
  hit.report("causal f32 depth 64, cache hit to callable on the CPU", 0.005);
}

bool holds(const Row &row) { return row.bar == 0 || row.seconds <= row.bar; }

void print(const char *jsonPath) {
  Table table({"median of " + std::to_string(repeat) + ", warm", "ms", "must reach", "holds"});
  std::string json = "[\n";
  for (const Row &row : rows) {
    const std::string bar = row.bar == 0 ? "" : "<= " + formatNumber(row.bar * 1e3, 3);
    table.add({row.name, formatNumber(row.seconds * 1e3, 3), bar, row.bar == 0 ? "" : holds(row) ? "yes" : "NO"});
    json += "  {\"measure\": \"" + row.name + "\", \"seconds\": " + formatNumber(row.seconds, 6) +
            ", \"bar\": " + formatNumber(row.bar, 6) + ", \"holds\": " + (holds(row) ? "true" : "false") + "}" +
            (&row == &rows.back() ? "\n" : ",\n");
  }
  std::cout << table.print();
  if (jsonPath && !(std::ofstream(jsonPath) << json << "]\n"))
    fail(std::string("cannot write ") + jsonPath);
}

} // namespace

int main(int argc, char **argv) {
  const char *json = nullptr;
  std::string only;
  for (int i = 1; i < argc; ++i) {
    const std::string flag = argv[i], value = i + 1 < argc ? argv[i + 1] : "";
    const bool isRepeat = flag == "--repeat" &&
                          std::from_chars(value.data(), value.data() + value.size(), repeat).ec == std::errc() &&
                          repeat > 0;
    if (flag == "--json" && !value.empty())
      json = argv[i + 1];
    else if (flag == "--only" && (value == "gpu" || value == "cpu"))
      only = value;
    else if (!isRepeat)
      fail("expected --json FILE, --repeat N or --only gpu|cpu, but got " + flag + " " + value);
    ++i;
  }
  if (only != "cpu")
    benchGpu();
  if (only != "gpu")
    benchCpu();
  print(json);
  return std::all_of(rows.begin(), rows.end(), holds) ? 0 : 1;
}
