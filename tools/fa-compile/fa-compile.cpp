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

static constexpr const char *footer = R"(
Forms (--emit):
  mlir      the IR of --stage, readable, for either target
  llvm      LLVM IR
  ptx       --target=sm_90a: PTX text
  cubin     --target=sm_90a: machine code of a GPU; needs ptxas
  asm       --target=cpu: assembly
  object    --target=cpu: a relocatable object file
  package   a folder that fa-launch or the runtime library alone executes: launch descriptors, and PTX (with cubin where
            ptxas is found) or a shared object

CPUs (--cpu):
  host            this machine (default)
  x86-64          every x86-64 CPU: 128-bit vectors
  x86-64-v3       AVX2 and FMA; or haswell, znver3, ...
  x86-64-v4       AVX-512; or skylake-avx512, znver4, sapphirerapids, ...
  aarch64         every AArch64 CPU: 128-bit vectors; or neoverse-v1, ... (object, asm, llvm, mlir)
A package says which features its code uses; a machine that lacks one refuses to load it.

Examples:
  fa-compile attention.mlir --emit=package -o attention.fa
      PTX, launch descriptor and, where ptxas is found, cubin: all that the runtime needs
  fa-compile attention.mlir --target=cpu --cpu=x86-64-v3 --emit=package -o attention.fa
      a shared object for every machine with AVX2: fa-launch attention.fa --device=cpu
  fa-compile attention.mlir --emit=mlir --stage=hopper
      the warp-specialised kernel, readable
  fa-compile attention.mlir --target=cpu --cpu=aarch64 --emit=asm
      NEON assembly
Exit codes: 0 compiled; 1 an error; 2 a wrong command line)";

int main(int argc, char **argv) {
  AheadOfTimeOptions options;
  std::string input, entry;
  bool verbose = false;
  CLI::App app("Compiles attention ahead of time.", "fa-compile");
  app.footer(footer);
  app.add_option("input", input, "file with one function over memrefs that holds fa.attention")->required();
  app.add_option("--target", options.target, "sm_90a or cpu")->capture_default_str();
  app.add_option("--cpu", options.cpu, "with --target=cpu: the CPU that runs the code (default: host)");
  app.add_option("--emit", options.emit, "mlir, llvm, package; sm_90a: ptx, cubin; cpu: asm, object")
      ->capture_default_str();
  app.add_option("--stage", options.stage,
                 "with --emit=mlir: input, schedule, tiles, bounds, peeled, kernels; sm_90a: hopper (default), stages, "
                 "nvvm; cpu: vector (default), loops, llvm");
  app.add_option("-o,--output", options.output, "file, or folder of a package (default: standard output, text only)");
  app.add_option("--entry", entry, "function to compile (default: the only one, or @attention)");
  app.add_option("--lowering", options.compile.lowering, "with --target=cpu: auto, vector or loops")
      ->capture_default_str();
  app.add_option("--schedule", options.compile.schedule, "a whole #fa.schedule<...> attribute");
  app.add_option("--tile-q", options.compile.tileQ, "query rows per tile (default: machine model)");
  app.add_option("--tile-kv", options.compile.tileKv, "keys per tile (default: machine model)");
  app.add_option("--ptxas", options.ptxas,
                 "with --target=sm_90a: path of ptxas, or `none` (default: PATH, then CUDA_HOME)");
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
