// Speed and memory of the PTX emulator against the numbers it must reach. Prints a table, and JSON with --json.
//   FA_SOURCE_DIR=. build/bin/fa-emulator-bench [--json FILE] [--sweep] [--memory]
// Without flags: rates per core, tensor cores, one attention head (about 20 s). --sweep: 200 shapes on all cores.
// --memory: 16 heads of 4096 x 4096 under all checks.
#include "AttentionKernel.h"
#include "fa/Runtime/Emulator/Engine/TensorCore.h"
#include "fa/Support/Text.h"
#include <chrono>
#include <fstream>
#include <iostream>
#include <sys/resource.h>

namespace {

using namespace fa;
using namespace fa::test;

struct Row {
  std::string name;
  double value;
  const char *unit;
  double bar;   ///< what must be reached; 0: none
  bool atLeast; ///< whether more is better
};
std::vector<Row> rows;

void fail(const std::string &message) {
  std::cerr << "error: " << message << "\n";
  std::exit(1);
}

Options withChecks(bool races, bool rest, unsigned threads = 1) {
  Options options;
  options.checkRaces = races;
  options.checkMemory = options.checkRegisters = options.checkProtocol = rest;
  options.threads = threads;
  return options;
}

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

struct Scalar {
  const char *fixture, *entry;
  LaunchRequest request;
};

/// Best of several launches, in thread instructions per second.
double instructionRate(Emulator &device, const Program &program, const LaunchRequest &request) {
  double best = 0;
  for (double begin = now(); now() - begin < 0.7;) {
    auto result = device.launch(program, request);
    if (!result || !result->status)
      fail(request.entry + ": " + (result ? result->status.message() : result.message()));
    best = std::max(best, static_cast<double>(result->counters.threadInstructions) / result->seconds);
  }
  return best;
}

double softmaxRate(const Options &options) {
  Emulator device(options);
  auto program = device.load(fixtureText("Softmax.ptx"));
  if (!program)
    fail(program.message());
  constexpr uint32_t blocks = 256;
  std::vector<float> input(size_t(blocks) * 8 * 1024);
  for (size_t i = 0; i < input.size(); ++i)
    input[i] = static_cast<float>(i % 251) * 0.01f;
  const uint64_t in = upload(device, input, "in"), out = *device.allocate(input.size() * 2, "out");
  LaunchRequest request;
  request.entry = "softmax";
  request.grid[0] = blocks;
  request.block[0] = 256;
  request.parameters = Parameters().add(in).add(out).add(1.0f).bytes;
  return instructionRate(device, **program, request);
}

double polynomialRate(const Options &options) {
  Emulator device(options);
  auto program = device.load(fixtureText("ScalarFunctions.nvcc.ptx"));
  if (!program)
    fail(program.message());
  constexpr uint32_t count = 1 << 18;
  std::vector<uint32_t> input(count);
  for (size_t i = 0; i < count; ++i)
    input[i] = static_cast<uint32_t>(i * 2654435761u);
  const uint64_t in = upload(device, input, "in"), out = *device.allocate(count * 4, "out");
  LaunchRequest request;
  request.entry = "scalar_polynomial";
  request.grid[0] = count / 256;
  request.block[0] = 256;
  request.parameters = Parameters().add(in).add(in).add(in).add(out).add(count).bytes;
  return instructionRate(device, **program, request);
}

void benchScalar() {
  struct Mode {
    const char *name;
    bool races, rest;
    double bar;
  };
  for (const Mode &mode :
       {Mode{"unchecked", false, false, 3e8}, {"races", true, false, 1.5e8}, {"all checks", true, true, 1e8}}) {
    const Options options = withChecks(mode.races, mode.rest);
    rows.push_back(
        {std::string("thread instructions, softmax, ") + mode.name, softmaxRate(options), "/s", mode.bar, true});
    rows.push_back({std::string("thread instructions, divergent polynomial, ") + mode.name, polynomialRate(options),
                    "/s", 0, true});
  }
}

/// Gathering operands from shared memory included, as the emulator does it.
void benchWgmma() {
  std::vector<uint8_t> memory(1 << 18, 0x3c);
  const SharedWindow shared{memory.data(), 1 << 18};
  for (MmaType type : {MmaType::BF16, MmaType::E4M3})
    for (Arithmetic arithmetic : {Arithmetic::Fast, Arithmetic::H100}) {
      const WgmmaShape shape{.aType = type, .bType = type, .n = 128, .arithmetic = arithmetic};
      std::vector<std::vector<uint32_t>> lanes(4 * accumulatorRegisters(shape), std::vector<uint32_t>(32));
      std::vector<uint32_t *> registers;
      for (auto &l : lanes)
        registers.push_back(l.data());
      OperandTile a, b;
      const MatrixDescriptor descriptor{1024, 16, 1024, Swizzle::B128};
      double best = 1e9;
      for (double begin = now(); now() - begin < 0.5;) {
        const double start = now();
        for (int i = 0; i < 100; ++i) {
          if (!gatherOperand(shared, descriptor, type, Major::K, 64, a) ||
              !gatherOperand(shared, descriptor, type, Major::K, 128, b))
            fail("operand outside shared memory");
          wgmma(shape, a, b, registers.data());
        }
        best = std::min(best, (now() - start) / 100);
      }
      const bool isBar = type == MmaType::BF16 && arithmetic == Arithmetic::Fast;
      rows.push_back({std::string("wgmma m64n128 ") + (type == MmaType::BF16 ? "bf16 " : "e4m3 ") +
                          (arithmetic == Arithmetic::Fast ? "fast" : "h100") + ", " + tensorCoreIsa(),
                      64.0 * 128 * (32 / sizeOf(type)) / best, "MAC/s", isBar ? 15e9 : 0, true});
    }
}

double attentionSeconds(const Options &options, const AttentionShape &shape, int repeats, bool check) {
  Emulator device(options);
  auto program = device.load(fixtureText("Attention.ptx"));
  if (!program)
    fail(program.message());
  AttentionKernel kernel(device, shape);
  double best = 1e9;
  for (int i = 0; i < repeats; ++i) {
    auto result = kernel.launch(**program);
    if (!result || !result->status)
      fail("attention: " + (result ? result->status.message() : result.message()));
    best = std::min(best, result->seconds);
  }
  if (check && kernel.compare(37).output > 1e-2)
    fail("attention: wrong output");
  return best;
}

void benchAttention() {
  const AttentionShape head{1024, 2048, 1, false};
  rows.push_back({"attention 1024 x 2048 x 128, one core, unchecked",
                  attentionSeconds(withChecks(false, false), head, 5, true), "s", 0, false});
  rows.push_back({"attention 1024 x 2048 x 128, one core, races",
                  attentionSeconds(withChecks(true, false), head, 5, true), "s", 0.5, false});
  rows.push_back({"attention 1024 x 2048 x 128, one core, all checks",
                  attentionSeconds(withChecks(true, true), head, 5, true), "s", 0, false});
  rows.push_back({"attention 1024 x 2048 x 128, all cores, all checks",
                  attentionSeconds(withChecks(true, true, 0), head, 5, true), "s", 0, false});
}

void benchSweep() {
  const double begin = now();
  uint32_t random = 1;
  auto pick = [&](uint32_t low, uint32_t high) {
    random = random * 1664525u + 1013904223u;
    return static_cast<int>(low + (random >> 8) % (high - low + 1));
  };
  for (int i = 0; i < 200; ++i)
    attentionSeconds(withChecks(true, true, 0), {pick(1, 1024), pick(1, 2048), pick(1, 4), i % 2 == 1}, 1, false);
  rows.push_back(
      {"sweep of 200 shapes up to 1024 x 2048, 1-4 heads, all checks, all cores", now() - begin, "s", 120, false});
}

void benchMemory() {
  rows.push_back({"attention, 16 heads of 4096 x 4096 x 128, all checks, all cores",
                  attentionSeconds(withChecks(true, true, 0), {4096, 4096, 16, false}, 1, false), "s", 0, false});
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  rows.push_back(
      {"peak memory of the process", static_cast<double>(usage.ru_maxrss) * 1024, "bytes", 2147483648.0, false});
}

bool holds(const Row &row) { return row.bar == 0 || (row.atLeast ? row.value >= row.bar : row.value <= row.bar); }

void print(const char *jsonPath) {
  Table table({"measure", "value", "unit", "must reach", "holds"});
  std::string json = "[\n";
  for (const Row &row : rows) {
    table.add({row.name, formatNumber(row.value, 3), row.unit,
               row.bar == 0 ? "" : (row.atLeast ? ">= " : "<= ") + formatNumber(row.bar, 3),
               row.bar == 0 ? ""
               : holds(row) ? "yes"
                            : "NO"});
    json += "  {\"measure\": \"" + row.name + "\", \"value\": " + formatNumber(row.value, 6) + ", \"unit\": \"" +
            row.unit + "\", \"bar\": " + formatNumber(row.bar, 6) + ", \"holds\": " + (holds(row) ? "true" : "false") +
            "}" + (&row == &rows.back() ? "\n" : ",\n");
  }
  std::cout << table.print();
  if (jsonPath && !(std::ofstream(jsonPath) << json << "]\n"))
    fail(std::string("cannot write ") + jsonPath);
}

} // namespace

int main(int argc, char **argv) {
  const char *json = nullptr;
  bool sweep = false, memory = false;
  for (int i = 1; i < argc; ++i) {
    const std::string flag = argv[i];
    if (flag == "--json" && i + 1 < argc)
      json = argv[++i];
    else if (flag == "--sweep")
      sweep = true;
    else if (flag == "--memory")
      memory = true;
    else
      fail("expected --json FILE, --sweep or --memory, but got " + flag);
  }
  if (sweep)
    benchSweep();
  if (memory)
    benchMemory();
  if (!sweep && !memory) {
    benchScalar();
    benchWgmma();
    benchAttention();
  }
  print(json);
  return std::all_of(rows.begin(), rows.end(), holds) ? 0 : 1;
}
