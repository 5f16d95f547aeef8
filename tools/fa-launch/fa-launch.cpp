// fa-launch: the command line of the package launcher. What it does is in lib/Runtime/LaunchTool.
#include "fa/Runtime/LaunchTool/LaunchTool.h"
#include <CLI/CLI.hpp>
#include <iostream>

namespace {
constexpr const char *footer = R"(
A package is the folder that fa-compile --emit=package writes. This program needs nothing else: no compiler, no CUDA
toolkit; --device=cuda needs an NVIDIA driver.

Examples:
  fa-compile attention.mlir --emit=package -o attention.fa
  fa-launch attention.fa --repeat=20 --warm-up=5
      seeded normal inputs on the GPU, timed by device events
  fa-launch attention.fa --device=emulator --input=q=q.npy --input=k=k.npy --input=v=v.npy --output=o=o.npy
      your data, on the PTX emulator with all its checks
  fa-launch attention.fa --seed=7 --expect=o=o.npy,max=0.01,rms=0.002
      compared with results computed elsewhere; exit code 1 if an error is above its bar
  fa-launch open.fa --shape=q=2x8x300x128 --shape=k=2x8x333x128
      a package whose types leave sizes open; sizes that follow from others need not be said

Contents of inputs without --input: --fill, else what the function declares, else normal. KIND is normal,
normal:MEAN,DEVIATION, uniform:LOW,HIGH, integers:LOW,HIGH, zeros, ones, value:X, arange, index:DIM, pow2:DIM,
documents:COUNT or alibi; the same seed gives the same tensors here and in fa-run.

Exit codes: 0 executed, all expectations hold; 1 an error, or a result that is wrong; 2 a wrong command line)";
} // namespace

int main(int argc, char **argv) {
  fa::runtime::LaunchToolOptions options;
  CLI::App app("Executes a compiled package on a device, checks and times it.", "fa-launch");
  app.footer(footer);
  const auto list = [&](const char *name, std::vector<std::string> &values, const char *help) {
    app.add_option(name, values, help)->allow_extra_args(false)->take_all();
  };
  app.add_option("PACKAGE", options.package, "folder that fa-compile --emit=package wrote")->required();
  app.add_option("--device", options.device, "cuda, emulator or cpu")->capture_default_str();
  app.add_option("--form", options.form, "code to load: auto, cubin, ptx or so")->capture_default_str();
  list("--input", options.inputs, "NAME=FILE.npy (bf16 as raw bits)");
  list("--fill", options.fills, "NAME=KIND, see below");
  list("--set", options.elements, "NAME[I,J,*]=X: single elements, after everything else");
  list("--shape", options.shapes, "NAME=AxBxCxD: sizes that a type leaves open");
  list("--arg", options.scalars, "NAME=VALUE: a scalar argument");
  list("--output", options.outputs, "NAME=FILE.npy: written after the last run");
  list("--expect", options.expected, "NAME=FILE.npy,max=X,rms=Y: compare");
  app.add_option("--seed", options.seed, "of the fills")->capture_default_str();
  app.add_option("--repeat", options.repeat, "timed runs")->capture_default_str();
  app.add_option("--warm-up", options.warmUp, "runs before the timed ones")->capture_default_str();
  app.add_option("--threads", options.threads, "of the emulator and of CPU code (default: all cores)");
  app.add_flag("!--no-checks", options.checkedEmulation, "emulator: do not look for races and broken protocols");
  app.add_option("--format", options.format, "table or json")->capture_default_str();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    return app.exit(error) == 0 ? 0 : static_cast<int>(fa::runtime::launchUsage);
  }
  return fa::runtime::runLaunchTool(options, std::cout, std::cerr);
}
