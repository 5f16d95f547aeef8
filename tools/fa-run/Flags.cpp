// Flags of fa-run: grouped, with examples. Values are checked here, so that a usage error is told apart from a failure.
#include "Flags.h"
#include "fa/Execution/KernelCache.h"
#include "fa/Support/Text.h"
#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <iostream>

namespace fa::run_tool {
namespace {
using execution::AttentionSpec;

constexpr const char *footer = R"(
Examples:
  fa-run --seq=512 --causal=bottom_right
      one head of f32, causal, compiled, run and checked
  fa-run --heads=32 --kv-heads=8 --seq=1024 --depth=128 --causal=bottom_right --dtype=bf16 --repeat=5
      Llama-3-8B's prefill
  fa-run --seq=6 --causal=top_left --fill=q=zeros --fill=v=pow2 --output=o=o.npy
      equal logits, V[j] = 2^j: each row of O tells exactly which keys it saw
  fa-run --seq=256 --window=127,0 --softcap=30 --schedule=tile_q=64,tile_kv=32 --dump-ir=tiles
      the loops over tiles of a sliding window with capped scores
  fa-run examples/document-mask.mlir --fill=doc=documents:3 --format=json
      a mask of your own, from a file

Exit codes:
  0  compiled, run and checked: all errors are within their bars (or --no-check)
  1  an error, or a result that is wrong
  2  a wrong command line)";

/// Raw text of the flags that need work after parsing.
struct Texts {
  bool cache = true;
  std::string dtype = "f32", causal = "none", window, alibi, bias, layout = "bhsd", schedule, format = "table";
  std::optional<int64_t> seq, seqQ, seqKv, kvHeads, depthV;
  std::vector<std::string> shapes, arguments, fills, elements, inputs, outputs, references;
  bool noCheck = false, noLse = false;
};

std::optional<int64_t> parseInteger(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

/// `name=value`, or `name[indices]=value` cut before the bracket.
Expected<std::pair<std::string, std::string>> parsePair(const std::string &flag, const std::string &text,
                                                        char separator = '=') {
  const size_t at = text.find(separator);
  if (at == std::string::npos || at == 0 || at + 1 == text.size())
    return makeError("expected " + flag + "=NAME" + (separator == '=' ? "=VALUE" : "[INDICES]=VALUE") + ", but got '" +
                     text + "'");
  return std::pair(text.substr(0, at), text.substr(separator == '=' ? at + 1 : at));
}

Status oneOf(const char *flag, const std::string &value, std::initializer_list<const char *> choices) {
  std::string list;
  for (const char *choice : choices) {
    if (value == choice)
      return Status::success();
    list += (list.empty() ? "" : ", ") + std::string(choice);
  }
  return makeError(std::string("expected ") + flag + " to be one of " + list + ", but got '" + value + "'");
}

class Parser {
public:
  Parser()
      : app("Compiles an attention kernel, runs it and checks the result against a float64 reference.\n"
            "The problem comes from a .mlir FILE or from flags.",
            "fa-run") {
    app.footer(footer);
    app.get_formatter()->column_width(38);
    addProblem();
    addFile();
    addData();
    addCompile();
    addOutput();
    addLesson();
  }

  std::variant<Flags, int> parse(int argc, char **argv);

private:
  CLI::App app;
  Flags flags;
  AttentionSpec spec;
  Texts texts;
  CLI::Option *alibi = nullptr;
  std::vector<CLI::Option *> problemFlags, fileFlags;

  void addProblem();
  void addFile();
  void addData();
  void addCompile();
  void addOutput();
  void addLesson();
  Status finish();
  Status finishSource();
  Status finishSpec();
  Status finishMasks();
  Status finishData();
  Status finishPairs();
  Status finishDump();
  Status finishSchedule();

  template <typename T> CLI::Option *problem(const std::string &name, T &value, const std::string &help) {
    problemFlags.push_back(app.add_option(name, value, help)->group("Problem from flags"));
    return problemFlags.back();
  }
  CLI::Option *list(const std::string &name, std::vector<std::string> &values, const std::string &help) {
    return app.add_option(name, values, help)->allow_extra_args(false)->take_all();
  }
};

void Parser::addProblem() {
  problem("--batch", spec.batch, "batches (default 1)");
  problem("--heads", spec.heads, "query heads (default 1)");
  problem("--kv-heads", texts.kvHeads, "key/value heads; --heads must be a multiple (default: --heads)");
  problem("--seq", texts.seq, "queries and keys (default 512)");
  problem("--seq-q", texts.seqQ, "queries");
  problem("--seq-kv", texts.seqKv, "keys");
  problem("--depth", spec.depth, "depth of queries and keys (default 64)");
  problem("--depth-v", texts.depthV, "depth of values and output (default: --depth)");
  problem("--dtype", texts.dtype, "f64, f32, f16 or bf16 (default f32)");
  problem("--causal", texts.causal, "none, top_left (key <= query) or bottom_right (the last query sees all keys)");
  problem("--window", texts.window, "LEFT,RIGHT[,CORNER]: keys before and after, inclusive; `none` is unlimited");
  problem("--scale", spec.scale, "factor of the dot products (default 1/sqrt(depth))");
  problem("--softcap", spec.softcap, "cap of scores: cap * tanh(score / cap)");
  alibi = problem("--alibi", texts.alibi,
                  "[CORNER]: subtract slope[head] * distance from i (top_left) or i + seq_kv - seq_q");
  alibi->expected(0, 1);
  problem("--bias", texts.bias, "add a tensor of this shape: sizes, or B, H, Q, K, or 1, joined by x (1xHx1xK, QxK)");
  problem("--layout", texts.layout, "bhsd, or bshd (sequence outside of heads in memory)");
  const auto flag = [&](const char *name, bool &value, const char *help) {
    problemFlags.push_back(app.add_flag(name, value, help)->group("Problem from flags"));
  };
  flag("--dynamic", spec.dynamicLengths, "leave both lengths open (`?`) when compiling");
  flag("--no-lse", texts.noLse, "do not compute the log-sum-exp");
}

void Parser::addFile() {
  app.add_option("FILE", flags.file, "MLIR with fa.attention in a function")->group("Problem from a file");
  fileFlags = {app.add_option("--entry", flags.entry, "function to run (default: the only one, or @attention)"),
               list("--shape", texts.shapes, "NAME=AxBxCxD: sizes of a tensor whose type leaves them open"),
               list("--arg", texts.arguments, "NAME=VALUE: a scalar argument")};
  for (CLI::Option *option : fileFlags)
    option->group("Problem from a file");
}

void Parser::addData() {
  CLI::Option *options[] = {
      list("--fill", texts.fills,
           "NAME=KIND: normal (default), normal:MEAN,DEVIATION, uniform:LOW,HIGH, integers:LOW,HIGH, zeros, ones, "
           "value:X, "
           "nan, inf, arange, index:DIM, pow2, documents:COUNT, alibi"),
      list("--set", texts.elements, "NAME[I,J,*]=X: single elements, after --fill"),
      list("--input", texts.inputs, "NAME=FILE.npy (bf16 as raw <u2)"),
      list("--output", texts.outputs, "NAME=FILE.npy, written unless the check failed"),
      list("--reference", texts.references, "NAME=FILE.npy: what the reference says of the output or the LSE, as f32"),
      app.add_option("--seed", flags.run.seed, "of random inputs (default 1)")};
  for (CLI::Option *option : options)
    option->group("Data");
}

void Parser::addCompile() {
  std::string stages;
  for (const execution::StageInfo &stage : execution::allStages())
    stages += "\n  " + stage.name + ": " + stage.what;
  CLI::Option *options[] = {
      app.add_option("--device", flags.compile.device, "auto, cpu, cuda or emulator (default auto)"),
      app.add_option("--lowering", flags.compile.lowering, "on a CPU: auto, loops, vector or naive (default auto)"),
      app.add_option("--schedule", texts.schedule, "tile_q=N,tile_kv=N or a whole #fa.schedule<...>"),
      app.add_option("--order", flags.compile.order, "query_outer (FlashAttention-2) or key_outer (FlashAttention-1)"),
      app.add_option("--cache-dir", flags.compile.cacheDirectory,
                     "folder of compiled kernels (default $XDG_CACHE_HOME/fa-compiler or ~/.cache/fa-compiler)"),
      app.add_flag("--cache,!--no-cache", texts.cache, "reuse compiled kernels (default)"),
      app.add_option("--threads", flags.compile.threads, "CPU threads (default: all cores)"),
      app.add_option("--cpu", flags.compile.cpu, "code for this CPU, as LLVM names it (default: this machine's)"),
      app.add_option("--dump-ir", flags.dump, "STAGE[,STAGE]: print the IR of a stage:" + stages)
          ->delimiter(',')
          ->allow_extra_args(false)
          ->take_all(),
      app.add_flag("--remarks", flags.remarks, "print what passes have to say"),
      app.add_flag("--validate", flags.validate, "confirm, pair by pair, that no tile was removed or unmasked wrongly"),
      app.add_option("--tile-map", flags.tileMap, "[FILE.svg]: draw the tiles of one head, to the file or as text")
          ->expected(0, 1)};
  for (CLI::Option *option : options)
    option->group("Compilation");
}

void Parser::addOutput() {
  CLI::Option *options[] = {
      app.add_option("--repeat", flags.run.repeat,
                     "timed runs; the median is reported (default 1); on the emulator each under another schedule"),
      app.add_flag("--check,!--no-check", flags.run.check, "compare with the reference (default)"),
      app.add_option("--check-rows", flags.run.checkRows, "check this many random rows only (default: all)"),
      app.add_flag("--traffic", flags.run.traffic,
                   "print bytes moved: this run by tensor, and all forms at N = 128 .. 4096"),
      app.add_option("--format", texts.format, "table or json (default table)")};
  for (CLI::Option *option : options)
    option->group("Check and report");
}

void Parser::addLesson() {
  CLI::Option *lesson = app.add_flag("--lesson", flags.lesson,
                                     "FlashAttention in seven demonstrations on executed kernels, no problem needed");
  for (CLI::Option *option : app.get_options())
    if (const std::string name = option->get_name();
        option != lesson && name != "--help" && name != "--device" && name != "--lowering" && name != "--threads")
      lesson->excludes(option);
}

Status Parser::finishSpec() {
  spec.seqQ = texts.seqQ.value_or(texts.seq.value_or(texts.seqKv.value_or(512)));
  spec.seqKv = texts.seqKv.value_or(texts.seq.value_or(spec.seqQ));
  spec.kvHeads = texts.kvHeads.value_or(spec.heads);
  spec.depthV = texts.depthV.value_or(spec.depth);
  spec.lse = !texts.noLse;
  if (Status status = oneOf("--dtype", texts.dtype, {"f64", "f32", "f16", "bf16"}); !status)
    return status;
  spec.dtype = *parseDType(texts.dtype);
  if (Status status = oneOf("--layout", texts.layout, {"bhsd", "bshd"}); !status)
    return status;
  spec.layout = texts.layout == "bshd" ? execution::Layout::Bshd : execution::Layout::Bhsd;
  if (Status status = finishMasks(); !status)
    return status;
  if (!texts.bias.empty()) {
    Expected<std::vector<int64_t>> bias = spec.parseBias(texts.bias);
    if (!bias)
      return bias.error();
    spec.bias = *bias;
  }
  if (Status status = spec.validate(); !status)
    return status;
  flags.run.shapes = spec.openShapes();
  flags.spec = spec;
  return Status::success();
}

Status Parser::finishMasks() {
  if (Status status = oneOf("--causal", texts.causal, {"none", "top_left", "bottom_right"}); !status)
    return status;
  if (texts.causal != "none")
    spec.causal = *execution::parseCorner(texts.causal);
  // Where both corners mean the same, none has to be named.
  std::optional<execution::Corner> corner = spec.causal;
  if (!corner && spec.seqQ == spec.seqKv && !spec.dynamicLengths)
    corner = execution::Corner::BottomRight;
  if (!texts.window.empty()) {
    Expected<execution::Window> window = execution::parseWindow(texts.window, corner);
    if (!window)
      return window.error();
    spec.window = *window;
  }
  if (alibi->count() == 0)
    return Status::success();
  if (texts.alibi.empty() && !corner)
    return makeError("expected --alibi=top_left or --alibi=bottom_right, because --seq-q and --seq-kv differ");
  Expected<execution::Corner> named =
      texts.alibi.empty() ? Expected<execution::Corner>(*corner) : execution::parseCorner(texts.alibi);
  if (!named)
    return makeError("--alibi: " + named.message());
  spec.alibi = *named;
  return Status::success();
}

Status Parser::finishData() {
  for (const std::string &text : texts.shapes) {
    auto pair = parsePair("--shape", text);
    if (!pair)
      return pair.error();
    std::vector<int64_t> sizes;
    for (const std::string &piece : split(pair->second, 'x')) {
      const std::optional<int64_t> size = parseInteger(piece);
      if (!size || *size < 0)
        return makeError("expected --shape=NAME=AxBxC with sizes of 0 or more, but got '" + text + "'");
      sizes.push_back(*size);
    }
    flags.run.shapes[pair->first] = sizes;
  }
  for (const std::string &text : texts.arguments) {
    auto pair = parsePair("--arg", text);
    if (!pair)
      return pair.error();
    char *end = nullptr;
    const double value = std::strtod(pair->second.c_str(), &end);
    if (end != pair->second.c_str() + pair->second.size())
      return makeError("expected --arg=NAME=NUMBER, but got '" + text + "'");
    flags.run.scalars[pair->first] = value;
  }
  return finishPairs();
}

Status Parser::finishPairs() {
  for (const std::string &text : texts.fills) {
    auto pair = parsePair("--fill", text);
    if (!pair)
      return pair.error();
    Expected<runtime::Fill> fill = runtime::Fill::parse(pair->second);
    if (!fill)
      return makeError("--fill=" + pair->first + ": " + fill.message());
    flags.run.fills[pair->first] = *fill;
  }
  for (const std::string &text : texts.elements) {
    auto pair = parsePair("--set", text, '[');
    if (!pair)
      return pair.error();
    flags.run.elements.push_back(*pair);
  }
  for (auto [flag, list, target] : {std::tuple("--input", &texts.inputs, &flags.run.inputs),
                                    std::tuple("--output", &texts.outputs, &flags.run.outputs),
                                    std::tuple("--reference", &texts.references, &flags.run.references)})
    for (const std::string &text : *list) {
      auto pair = parsePair(flag, text);
      if (!pair)
        return pair.error();
      (*target)[pair->first] = pair->second;
    }
  return Status::success();
}

/// `tile_q=N,tile_kv=N`, in any order, or an attribute.
Status Parser::finishSchedule() {
  if (texts.schedule.empty() || texts.schedule[0] == '#') {
    flags.compile.schedule = texts.schedule;
    return Status::success();
  }
  for (const std::string &piece : split(texts.schedule, ',')) {
    const size_t equals = piece.find('=');
    const std::string key = piece.substr(0, equals);
    const std::optional<int64_t> value =
        equals == std::string::npos ? std::nullopt : parseInteger(std::string_view(piece).substr(equals + 1));
    if ((key != "tile_q" && key != "tile_kv") || !value || *value < 1)
      return makeError("expected --schedule=tile_q=N,tile_kv=N or --schedule='#fa.schedule<...>', but got '" +
                       texts.schedule + "'");
    (key == "tile_q" ? flags.compile.tileQ : flags.compile.tileKv) = *value;
  }
  return Status::success();
}

Status Parser::finishSource() {
  const bool isFile = !flags.file.empty();
  for (const CLI::Option *option : isFile ? problemFlags : fileFlags)
    if (option->count() > 0)
      return makeError(isFile ? "expected a FILE or a problem from flags, but got both " + flags.file + " and " +
                                    option->get_name()
                              : "expected a FILE with " + option->get_name() + ", but got none");
  return isFile ? Status::success() : finishSpec();
}

Status Parser::finishDump() {
  const std::vector<execution::StageInfo> stages = execution::allStages();
  for (const std::string &stage : flags.dump) {
    std::string names;
    bool found = false;
    for (const execution::StageInfo &info : stages) {
      names += (names.empty() ? "" : ", ") + info.name;
      found |= info.name == stage;
    }
    if (!found)
      return makeError("expected --dump-ir to name a stage (" + names + "), but got '" + stage + "'");
  }
  return Status::success();
}

Status Parser::finish() {
  if (Status status = oneOf("--device", flags.compile.device, {"auto", "cpu", "cuda", "emulator"}); !status)
    return status;
  if (Status status = oneOf("--lowering", flags.compile.lowering, {"auto", "loops", "vector", "naive"}); !status)
    return status;
  if (!flags.compile.order.empty())
    if (Status status = oneOf("--order", flags.compile.order, {"query_outer", "key_outer"}); !status)
      return status;
  if (flags.compile.lowering == "naive" && !(texts.schedule.empty() && flags.compile.order.empty()))
    return makeError("expected no --schedule and no --order beside --lowering=naive, which has no tiles");
  if (Status status = oneOf("--format", texts.format, {"table", "json"}); !status)
    return status;
  if (flags.run.repeat < 1 || flags.run.repeat > 1000000)
    return makeError("expected --repeat between 1 and 1000000, but got " + std::to_string(flags.run.repeat));
  if (flags.run.checkRows < 0)
    return makeError("expected --check-rows of at least 1, or 0 for all, but got " +
                     std::to_string(flags.run.checkRows));
  if (flags.compile.threads > 4096)
    return makeError("expected --threads between 1 and 4096, but got " + std::to_string(flags.compile.threads));
  flags.json = texts.format == "json";
  flags.run.threads = flags.compile.threads;
  if (!texts.cache)
    flags.compile.cacheDirectory.clear();
  else if (flags.compile.cacheDirectory.empty())
    flags.compile.cacheDirectory = execution::KernelCache::defaultDirectory();
  for (Status (Parser::*step)() :
       {&Parser::finishSource, &Parser::finishSchedule, &Parser::finishDump, &Parser::finishData})
    if (Status status = (this->*step)(); !status)
      return status;
  return Status::success();
}

std::variant<Flags, int> Parser::parse(int argc, char **argv) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp &) {
    std::cout << app.help();
    return 0;
  } catch (const CLI::ParseError &error) {
    std::cerr << "fa-run: " << error.what() << "; fa-run --help lists all flags\n";
    return 2;
  }
  if (Status status = finish(); !status) {
    std::cerr << "fa-run: " << status.message() << "\n";
    return 2;
  }
  return flags;
}
} // namespace

std::variant<Flags, int> parseFlags(int argc, char **argv) { return Parser().parse(argc, argv); }

} // namespace fa::run_tool
