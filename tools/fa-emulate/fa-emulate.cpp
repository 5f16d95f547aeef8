// fa-emulate: the command line of the PTX emulator. What it does is in lib/Runtime/EmulatorTool.
#include "fa/Runtime/EmulatorTool/EmulatorTool.h"
#include <CLI/CLI.hpp>
#include <iostream>

namespace {

constexpr const char *description =
    "Runs a kernel of a PTX file (sm_90a included: wgmma, TMA, mbarrier) on this CPU and reports races, uninitialised "
    "and\n"
    "out-of-bounds accesses, broken barrier protocols and deadlocks, each with its PTX line, block, warp and lane.\n";

constexpr const char *footer = R"(
Arguments, one --arg per kernel parameter, in order:
  in:x.npy[:TYPE]             buffer filled from a file (TYPE says what raw bits mean: bf16, f8E4M3FN, f8E5M2)
  out:y.npy:f32:2x128         buffer that starts uninitialised and is written to a file afterwards
  inout:x.npy:y.npy[:TYPE]    both
  map:0:box=64x128:swizzle=128   tensor map over the buffer of argument 0, box innermost first
  scratch:4096                device memory that is not written anywhere
  f32:0.5, i32:-3, u64:7      a scalar

Examples:
  add one block's vectors, all checks, and look at the result
    fa-emulate --ptx add.ptx --grid 1 --block 256 --arg in:a.npy --arg in:b.npy --arg out:c.npy:f32:256 --arg i32:256
  look for races under twenty adversarial schedules
    fa-emulate --ptx k.ptx --grid 8 --block 384 --shared 163840 --arg ... --check=races --seed 1..20
  a kernel that fa-compile made, by its launch descriptor
    fa-emulate --ptx attn.ptx --descriptor attn.json --bind q=in:q.npy:bf16 --bind k=in:k.npy:bf16
      --bind v=in:v.npy:bf16 --bind o=out:o.npy:bf16:1x4x512x128 --bind lse=out:lse.npy:f32:1x4x512
  which of its synchronisations are needed
    fa-emulate --ptx k.ptx ... --mutate --seed 0..20
  what did it do, and when (open trace.json in chrome://tracing or ui.perfetto.dev)
    fa-emulate --ptx k.ptx ... --stats --trace=trace.json

Exit codes: 0 clean; 1 bad flags, files or arguments; 2 bad PTX; 3 the device refuses the launch;
  4 a checker found something (--mutate: a mutant survived); 5 illegal access or instruction; 6 deadlock or instruction budget. The highest wins.
)";

} // namespace

int main(int argc, char **argv) {
  fa::runtime::EmulatorToolOptions options;
  CLI::App app(description, "fa-emulate");
  app.footer(footer);
  app.option_defaults()->always_capture_default();
  app.add_option("--ptx", options.ptx, "PTX file")->required()->type_name("FILE");
  app.add_flag("--list", options.list, "print the kernels of the file and their parameters, run nothing");
  app.add_option("--entry", options.entry, "kernel to run (default: the only one)")->type_name("NAME");
  app.add_option("--descriptor", options.descriptor, "launch descriptor (JSON); use --bind for its names")
      ->type_name("FILE");
  app.add_option("--bind", options.bindings, "NAME=in:.., NAME=out:.., NAME=NUMBER")
      ->type_name("BINDING")
      ->allow_extra_args(false);
  app.add_option("--grid", options.grid, "blocks: X, X,Y or X,Y,Z")->type_name("SIZE");
  app.add_option("--block", options.block, "threads per block")->type_name("SIZE");
  app.add_option("--cluster", options.cluster, "blocks per cluster")->type_name("SIZE");
  app.add_option("--shared", options.sharedBytes, "dynamic shared memory")->type_name("BYTES");
  app.add_option("--arg", options.arguments, "a kernel argument, see below")->type_name("ARG")->allow_extra_args(false);
  app.add_option("--check", options.checks, "races,memory,registers,protocol or all or none")->type_name("LIST");
  app.add_option("--seed", options.seeds, "schedule: 0 round-robin, else adversarial; N..M runs a range")
      ->type_name("N");
  app.add_option("--arithmetic", options.arithmetic, "tensor cores: fast (f32 FMA) or h100 (exact truncation)");
  app.add_option("--budget", options.budget, "warp instructions before a kernel counts as endless")->type_name("N");
  app.add_option("--threads", options.threads, "host threads (default: all cores)")->type_name("N");
  app.add_flag("--stats", options.stats, "print counters: bytes per buffer, bank conflicts, opcode mix");
  app.add_flag("--mutate", options.mutate,
               "drop or weaken each synchronisation in turn and tell which changes no check notices");
  app.add_option("--trace", options.trace, "write a Chrome trace of the first seed")->type_name("FILE");
  app.add_option("--format", options.format, "text or json");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    return app.exit(error) == 0 ? 0 : static_cast<int>(fa::runtime::exitBadInput);
  }
  return fa::runtime::runEmulatorTool(options, std::cout, std::cerr);
}
