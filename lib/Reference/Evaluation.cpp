// Chooses the rows, cuts them into blocks of one head, and hands the blocks to threads.
#include "fa/Reference/Evaluation.h"
#include "RowEvaluator.h"
#include "fa/Support/Text.h"
#include <algorithm>
#include <atomic>
#include <numeric>
#include <random>
#include <set>
#include <thread>
#include <unistd.h>

namespace fa::reference {
namespace {

/// All rows, or distinct random ones (Floyd's method) with the first and the last always among them.
std::vector<int64_t> chooseRows(int64_t total, int64_t sample, uint64_t seed) {
  std::vector<int64_t> rows;
  if (sample <= 0 || sample >= total) {
    rows.resize(static_cast<size_t>(total));
    std::iota(rows.begin(), rows.end(), int64_t{0});
    return rows;
  }
  std::mt19937_64 random(seed);
  std::set<int64_t> chosen{0};
  if (sample > 1)
    chosen.insert(total - 1);
  while (static_cast<int64_t>(chosen.size()) < sample)
    chosen.insert(static_cast<int64_t>(random() % static_cast<uint64_t>(total)));
  rows.assign(chosen.begin(), chosen.end());
  return rows;
}

std::vector<RowBlock> makeBlocks(const Problem &problem, const std::vector<int64_t> &rows) {
  std::vector<RowBlock> blocks;
  for (size_t n = 0; n < rows.size();) {
    const int64_t head = rows[n] / problem.queries();
    size_t end = n + 1;
    while (end < rows.size() && end - n < rowsPerBlock && rows[end] / problem.queries() == head)
      ++end;
    blocks.push_back({head / problem.heads(), head % problem.heads(), n, end - n});
    n = end;
  }
  return blocks;
}

template <typename Element>
int64_t runBlocks(const Problem &problem, const EvaluationOptions &options, Evaluation &evaluation,
                  const std::vector<RowBlock> &blocks) {
  const unsigned wanted = options.threads ? options.threads : std::max(1u, std::thread::hardware_concurrency());
  const auto threads = static_cast<unsigned>(std::min<size_t>(wanted, blocks.size()));
  std::atomic<size_t> next{0};
  std::atomic<int64_t> pairs{0};
  const auto work = [&] {
    RowEvaluator<Element> evaluator(problem, options, evaluation);
    for (size_t n; (n = next++) < blocks.size();)
      pairs += evaluator.run(blocks[n]);
  };
  std::vector<std::thread> others;
  for (unsigned t = 1; t < threads; ++t)
    others.emplace_back(work);
  work();
  for (std::thread &other : others)
    other.join();
  return pairs;
}

Status checkMemory(const Problem &problem, size_t rows, bool unfused) {
  const double head = static_cast<double>(problem.keys()) * static_cast<double>(problem.depth() + problem.depthV()) * 8;
  const double need = static_cast<double>(rows) * static_cast<double>(problem.depthV() + 2) * (unfused ? 24 : 8) + head;
  const double have = static_cast<double>(::sysconf(_SC_PHYS_PAGES)) * static_cast<double>(::sysconf(_SC_PAGE_SIZE));
  if (need < 0.8 * have)
    return Status::success();
  return makeError("expected a check that fits in " + formatBytes(static_cast<uint64_t>(have)) +
                   " of memory, but it needs " + formatBytes(static_cast<uint64_t>(need)) +
                   "; check a sample of rows instead");
}

} // namespace

Expected<Evaluation> evaluate(const Problem &problem, const EvaluationOptions &options) {
  if (Status status = validate(problem); !status)
    return status.error();
  Evaluation result;
  result.totalRows = problem.rows();
  result.depthV = problem.depthV();
  const size_t planned =
      static_cast<size_t>(options.sampleRows > 0 ? std::min(options.sampleRows, result.totalRows) : result.totalRows);
  if (Status status = checkMemory(problem, planned, options.unfused); !status)
    return status.error();
  result.rows = chooseRows(result.totalRows, options.sampleRows, options.seed);
  const size_t rows = result.rows.size(), elements = rows * static_cast<size_t>(result.depthV);
  result.output.resize(elements);
  result.lse.resize(rows);
  result.outputBound.resize(rows);
  result.lseBound.resize(rows);
  result.outputNoise.resize(rows);
  result.lseNoise.resize(rows);
  if (options.unfused) {
    result.unfused = {{ScaleOrder::AfterProduct, {}, {}}, {ScaleOrder::BeforeProduct, {}, {}}};
    for (UnfusedResult &unfused : result.unfused) {
      unfused.output.resize(elements);
      unfused.lse.resize(rows);
    }
    result.overflows.resize(rows);
  }
  const std::vector<RowBlock> blocks = makeBlocks(problem, result.rows);
  if (!blocks.empty())
    result.visiblePairs = problem.query.type == DType::F64 ? runBlocks<double>(problem, options, result, blocks)
                                                           : runBlocks<float>(problem, options, result, blocks);
  return result;
}

} // namespace fa::reference
