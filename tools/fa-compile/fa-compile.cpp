// Ahead of time: attention IR in; PTX, cubin, a package, or any intermediate IR out.
#include "fa/Execution/AheadOfTime.h"
#include <CLI/CLI.hpp>
#include <iostream>

using namespace fa;
using namespace fa::execution;

static int fail(const std::string &message) {
  std::cerr << "fa-compile: " << message << "\n";
  return 1;
}

static void printReport(const AheadOfTimeResult &result) {
  for (const std::string &file : result.files)
    std::cerr << "wrote " << file << "\n";
  std::cerr << "schedule " << result.report.schedule << "\ncompiled in " << result.report.seconds() * 1e3 << " ms";
  for (const StageTime &stage : result.report.stages)
    std::cerr << ", " << stage.name << " " << stage.seconds * 1e3;
  std::cerr << "\n";
}

int main(int argc, char **argv) {
  AheadOfTimeOptions options;
  std::string input, entry;
  bool verbose = false;
  CLI::App app("Compiles attention ahead of time.", "fa-compile");
  app.footer(R"(
Examples:
  fa-compile attention.mlir --emit=package -o attention.fa
      PTX, launch descriptor and, where ptxas is found, cubin: all that the runtime needs
  fa-compile attention.mlir --emit=mlir --stage=hopper
      the warp-specialised kernel, readable
Exit codes: 0 compiled; 1 an error; 2 a wrong command line)");
  app.add_option("input", input, "file with one function over memrefs that holds fa.attention")->required();
  app.add_option("--target", options.target, "sm_90a")->capture_default_str();
  app.add_option("--emit", options.emit, "mlir, llvm, ptx, cubin or package")->capture_default_str();
  app.add_option("--stage", options.stage, "with --emit=mlir: input, schedule, tiles, bounds, peeled, kernels, hopper, "
                                           "stages or nvvm")
      ->capture_default_str();
  app.add_option("-o,--output", options.output, "file, or folder of a package (default: standard output, text only)");
  app.add_option("--entry", entry, "function to compile (default: the only one, or @attention)");
  app.add_option("--schedule", options.compile.schedule, "a whole #fa.schedule<...> attribute");
  app.add_option("--tile-q", options.compile.tileQ, "query rows per tile (default: machine model)");
  app.add_option("--tile-kv", options.compile.tileKv, "keys per tile (default: machine model)");
  app.add_option("--ptxas", options.ptxas, "path of ptxas, or `none` (default: PATH, then CUDA_HOME)");
  app.add_flag("-v,--verbose", verbose, "schedule, times and files on standard error");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  Expected<Program> program = Program::fromFile(input, entry);
  if (!program)
    return fail(program.message());
  Expected<AheadOfTimeResult> result = compileAheadOfTime(*program, options);
  if (!result)
    return fail(result.message());
  for (const std::string &message : result->messages)
    if (verbose || message.find("remark:") == std::string::npos)
      std::cerr << message << "\n";
  if (verbose)
    printReport(*result);
  std::cout << result->text;
  return std::cout.flush() ? 0 : fail("expected to write to standard output");
}
