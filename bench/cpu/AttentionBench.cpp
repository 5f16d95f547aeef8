// Kernels and the machine's limit in turns of a few milliseconds: a change of clock or load meets both, so their ratio
// holds on a machine that is not alone. Every argument is a row, such as "f32 d64 causal n=4096 heads=8 threads=2".
#include "Peaks.h"
#include "fa/Execution/Run.h"
#include "fa/Runtime/CPU/ThreadPool.h"
#include "fa/Support/Text.h"
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <sstream>

namespace {
using namespace fa;
using Clock = std::chrono::steady_clock;

double since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : (values[(values.size() - 1) / 2] + values[values.size() / 2]) / 2;
}

struct Row {
  std::string text;
  execution::AttentionSpec spec;
  execution::CompileOptions compile;
  bool bandwidth = false; ///< few queries: the limit is reading keys and values
  double logits = 1;      ///< standard deviation of queries, so of logits: all other data is normal
};

Expected<int64_t> integer(const std::string &word, size_t skip) {
  char *end = nullptr;
  const int64_t value = std::strtoll(word.c_str() + skip, &end, 10);
  if (word.size() == skip || *end || value < 1)
    return makeError("expected a positive integer after '" + word.substr(0, skip) + "', but got '" + word + "'");
  return value;
}

Status setField(Row &row, const std::string &word) {
  const size_t equal = word.find('=');
  const std::string name = word.substr(0, equal);
  execution::AttentionSpec &spec = row.spec;
  if (word == "full")
    return Status::success();
  if (word == "causal") {
    spec.causal = execution::Corner::BottomRight;
    return Status::success();
  }
  if (name == "window" && equal != std::string::npos) {
    Expected<int64_t> left = integer(word, equal + 1);
    if (!left)
      return left.error();
    spec.window = execution::Window{*left, 0, execution::Corner::BottomRight};
    return Status::success();
  }
  if (word == "bshd") {
    spec.layout = execution::Layout::Bshd;
    return Status::success();
  }
  if (name == "cpu" && equal != std::string::npos) {
    row.compile.cpu = word.substr(equal + 1);
    return Status::success();
  }
  if (name == "logits" && equal != std::string::npos) {
    char *end = nullptr;
    row.logits = std::strtod(word.c_str() + equal + 1, &end);
    if (word.size() == equal + 1 || *end || !(row.logits > 0) || !std::isfinite(row.logits))
      return makeError("expected a positive number after 'logits=', but got '" + word + "'");
    return Status::success();
  }
  if (const Expected<DType> type = parseDType(word)) {
    spec.dtype = *type;
    return Status::success();
  }
  Expected<int64_t> value = word[0] == 'd' && equal == std::string::npos ? integer(word, 1) : integer(word, equal + 1);
  if (!value)
    return value.error();
  if (word[0] == 'd' && equal == std::string::npos)
    spec.depth = spec.depthV = *value;
  else if (name == "n")
    spec.seqQ = *value, spec.seqKv = *value;
  else if (name == "keys")
    spec.seqKv = *value;
  else if (name == "heads")
    spec.heads = spec.kvHeads = *value;
  else if (name == "kv_heads")
    spec.kvHeads = *value;
  else if (name == "batch")
    spec.batch = *value;
  else if (name == "threads")
    row.compile.threads = static_cast<unsigned>(*value);
  else if (name == "tile_q")
    row.compile.tileQ = *value;
  else if (name == "tile_kv")
    row.compile.tileKv = *value;
  else
    return makeError("expected a field of a row, but got '" + word + "'");
  return Status::success();
}

Expected<Row> parseRow(const std::string &text) {
  Row row;
  row.text = text;
  row.compile.device = "cpu";
  row.compile.lowering = "vector";
  row.compile.threads = 1;
  row.spec.lse = false;
  std::istringstream words(text);
  for (std::string word; words >> word;)
    if (Status status = setField(row, word); !status)
      return status.error();
  if (Status status = row.spec.validate(); !status)
    return status.error();
  row.bandwidth = row.spec.seqQ <= 16;
  return row;
}

/// 2 (D + Dv) operations for each visible pair.
double operationsOf(const execution::AttentionSpec &spec) {
  double pairs = 0;
  for (int64_t i = 0; i < spec.seqQ; ++i) {
    const int64_t last = i + spec.seqKv - spec.seqQ, seen = std::clamp<int64_t>(last + 1, 0, spec.seqKv);
    pairs += static_cast<double>(spec.window   ? std::min(seen, *spec.window->left + 1)
                                 : spec.causal ? seen
                                               : spec.seqKv);
  }
  return 2.0 * static_cast<double>(spec.batch * spec.heads * (spec.depth + spec.depthV)) * pairs;
}

double bytesOf(const execution::AttentionSpec &spec) {
  return static_cast<double>(spec.batch * spec.kvHeads * spec.seqKv * (spec.depth + spec.depthV)) *
         static_cast<double>(sizeOf(spec.dtype));
}

/// The limit of a row, measured on as many threads as the row uses; in operations or bytes a second.
class Limit {
public:
  Limit(const Row &row, int bits)
      : pool(row.compile.threads), peak(bench::peakOf(std::string(nameOf(row.spec.dtype)), bits)),
        dot(row.spec.dtype == DType::BF16 ? bench::dotPeak() : std::nullopt) {
    if (row.bandwidth)
      read = std::make_unique<bench::ReadProbe>(pool.threads(), static_cast<size_t>(bytesOf(row.spec)));
  }
  std::string name() const { return read ? "read" : peak.name; }
  double measure() {
    return rate([&](unsigned part) { return read ? read->run(part) : work(peak); });
  }
  /// 0 where there is no such unit.
  double measureDot() {
    return dot ? rate([&](unsigned) { return work(*dot); }) : 0;
  }

private:
  runtime::ThreadPool pool;
  bench::Peak peak;
  std::optional<bench::Peak> dot;
  std::unique_ptr<bench::ReadProbe> read;

  static double work(const bench::Peak &unit) {
    const int64_t rounds = unit.roundsFor(0.004);
    unit.run(rounds);
    return static_cast<double>(rounds) * unit.operationsPerRound;
  }
  template <typename Work> double rate(Work part) {
    std::vector<double> amounts(pool.threads());
    const auto start = Clock::now();
    pool.run(pool.threads(), [&](int64_t index, unsigned) { amounts[index] = part(static_cast<unsigned>(index)); });
    const double seconds = since(start);
    double total = 0;
    for (double amount : amounts)
      total += amount;
    return total / seconds;
  }
};

struct Settings {
  int rounds = 15;
  double turn = 0.012; ///< seconds of kernel runs in a turn, at least
  int bits = 0;
  int compiles = 0; ///< measure the compiler instead
  std::string cacheDirectory;
  bool json = false;
};

/// One row, compiled and with its tensors in place.
struct Prepared {
  Row row;
  execution::Program program;
  execution::Tensors tensors;
  runtime::Bindings bindings;
  std::unique_ptr<execution::CompiledAttention> kernel;
  std::unique_ptr<Limit> limit;
  int repeat = 1;
  std::vector<double> seconds, limits, dots;
};

void print(const Settings &settings, const Prepared &prepared) {
  const Row &row = prepared.row;
  std::vector<double> shares;
  const double work = row.bandwidth ? bytesOf(row.spec) : operationsOf(row.spec), time = median(prepared.seconds);
  for (size_t n = 0; n < prepared.seconds.size(); ++n)
    shares.push_back(work / prepared.seconds[n] / ((prepared.limits[2 * n] + prepared.limits[2 * n + 1]) / 2));
  std::sort(shares.begin(), shares.end());
  if (settings.json)
    std::printf("{\"row\": \"%s\", \"seconds\": %.9g, \"rate\": %.6g, \"limit\": \"%s\", \"limit_rate\": %.6g, "
                "\"dot_rate\": %.6g, "
                "\"share\": %.5f, \"share_quartile\": %.5f, \"turns\": %zu}\n",
                row.text.c_str(), time, work / time * 1e-9, prepared.limit->name().c_str(),
                median(prepared.limits) * 1e-9, median(prepared.dots) * 1e-9, median(shares),
                shares[shares.size() * 3 / 4], shares.size());
  else
    std::printf("%-44s %9.3f ms %8.1f of %6.1f %-4s %5.1f %% (%4.1f..%4.1f)\n", row.text.c_str(), time * 1e3,
                work / time * 1e-9, median(prepared.limits) * 1e-9, prepared.limit->name().c_str(),
                100 * median(shares), 100 * shares[shares.size() / 4], 100 * shares[shares.size() * 3 / 4]);
  std::fflush(stdout);
}

Expected<Prepared> prepare(const std::string &text, const Settings &settings) {
  Expected<Row> row = parseRow(text);
  if (!row)
    return row.error();
  Expected<execution::Program> program = execution::Program::fromSpec(row->spec);
  if (!program)
    return program.error();
  Expected<std::unique_ptr<execution::CompiledAttention>> kernel = execution::compile(*program, row->compile);
  if (!kernel)
    return kernel.error();
  execution::RunOptions options;
  options.fills["q"] = {execution::Fill::Kind::Normal, 0, row->logits};
  Expected<execution::Tensors> tensors = execution::prepareTensors(*program, options);
  if (!tensors)
    return tensors.error();
  Expected<runtime::Bindings> bindings = execution::bindArguments(*program, *tensors, options);
  if (!bindings)
    return bindings.error();
  Prepared result{
      *row, std::move(*program), std::move(*tensors), std::move(*bindings), std::move(*kernel), nullptr, 1, {}, {}, {}};
  result.limit = std::make_unique<Limit>(*row, settings.bits);
  Expected<double> warm = result.kernel->run(result.bindings);
  if (!warm)
    return warm.error();
  result.repeat = std::clamp(static_cast<int>(settings.turn / *warm), 1, 200);
  return result;
}

/// The kernels of all rows take turns, each between two readings of its limit.
Status measure(std::vector<Prepared> &rows, const Settings &settings) {
  for (int round = 0; round < settings.rounds; ++round)
    for (Prepared &row : rows) {
      row.limits.push_back(row.limit->measure());
      std::vector<double> times;
      for (int run = 0; run < row.repeat; ++run) {
        Expected<double> time = row.kernel->run(row.bindings);
        if (!time)
          return time.error();
        times.push_back(*time);
      }
      row.seconds.push_back(median(times));
      row.limits.push_back(row.limit->measure());
      row.dots.push_back(row.limit->measureDot());
    }
  return Status::success();
}

/// Medians of compiling one row, and of loading it from the cache, after one of each.
Status measureCompiler(const std::string &text, const Settings &settings) {
  Expected<Row> row = parseRow(text);
  if (!row)
    return row.error();
  Expected<execution::Program> program = execution::Program::fromSpec(row->spec);
  if (!program)
    return program.error();
  std::vector<double> times[2]; // compiled, loaded
  for (int n = 0; n <= settings.compiles; ++n)
    for (const bool cached : {false, true}) {
      execution::CompileOptions options = row->compile;
      if (cached)
        options.cacheDirectory = settings.cacheDirectory;
      const auto start = Clock::now();
      Expected<std::unique_ptr<execution::CompiledAttention>> kernel = execution::compile(*program, options);
      const double seconds = since(start);
      if (!kernel)
        return kernel.error();
      if (n > 0 && cached && (*kernel)->report().cache != "hit")
        return makeError("expected a hit of the kernel cache, but got: " + (*kernel)->report().cache);
      if (n > 0)
        times[cached].push_back(seconds);
    }
  std::printf(settings.json ? "{\"row\": \"%s\", \"compile_seconds\": %.6f, \"hit_seconds\": %.6f}\n"
                            : "%-44s compile %.4f s, cache hit %.5f s\n",
              text.c_str(), median(times[0]), median(times[1]));
  return Status::success();
}

int fail(const Error &error) {
  std::cerr << "fa-bench-attention: " << error.message << "\n";
  return 1;
}

int usage() {
  std::cerr << "usage: fa-bench-attention [--json] [--rounds=N] [--turn=MILLISECONDS] [--bits=VECTOR BITS OF THE PEAK] "
               "ROW...\n"
               "       fa-bench-attention [--json] --compiles=N --cache-dir=FOLDER ROW...\n"
               "a row: \"[f32|f64|bf16|f16] dDEPTH [full|causal|window=LEFT] n=N [keys=N] [heads=N] [kv_heads=N] "
               "[bshd] [threads=N]\n"
               "        [tile_q=N] [tile_kv=N] [cpu=NAME] [logits=SCALE]\"\n"
               "logits: standard deviation of the queries (1); of the logits, too, as keys have 1. A row whose logits "
               "exceed 16 or so\n"
               "        changes its reference.\n";
  return 1;
}

} // namespace

int main(int argc, char **argv) {
  Settings settings;
  std::vector<std::string> texts;
  for (int n = 1; n < argc; ++n) {
    const std::string argument = argv[n];
    const double value = std::atof(argument.c_str() + std::min(argument.size(), argument.find('=') + 1));
    if (argument == "--json")
      settings.json = true;
    else if (argument.starts_with("--rounds=") && value >= 1)
      settings.rounds = static_cast<int>(value);
    else if (argument.starts_with("--turn=") && value > 0)
      settings.turn = value * 1e-3;
    else if (argument.starts_with("--bits=") && value >= 128)
      settings.bits = static_cast<int>(value);
    else if (argument.starts_with("--compiles=") && value >= 1)
      settings.compiles = static_cast<int>(value);
    else if (argument.starts_with("--cache-dir="))
      settings.cacheDirectory = argument.substr(12);
    else if (argument.starts_with("--"))
      return usage();
    else
      texts.push_back(argument);
  }
  if (texts.empty() || (settings.compiles > 0) == settings.cacheDirectory.empty())
    return usage();
  if (settings.compiles > 0) {
    for (const std::string &text : texts)
      if (Status status = measureCompiler(text, settings); !status)
        return fail(status.error());
    return 0;
  }
  std::vector<Prepared> rows;
  for (const std::string &text : texts) {
    Expected<Prepared> prepared = prepare(text, settings);
    if (!prepared)
      return fail(makeError(text + ": " + prepared.message()));
    rows.push_back(std::move(*prepared));
  }
  if (Status status = measure(rows, settings); !status)
    return fail(status.error());
  for (const Prepared &row : rows)
    print(settings, row);
  return 0;
}
