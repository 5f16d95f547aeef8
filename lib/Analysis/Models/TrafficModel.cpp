// Traffic of the three forms of attention, counted tile by tile.
#include "fa/Analysis/TrafficModel.h"
#include "fa/Support/Text.h"
#include <algorithm>

namespace fa::analysis {
namespace {

/// Byte counts that fit 63 bits, or nothing.
class Counter {
public:
  uint64_t product(std::initializer_list<int64_t> factors) {
    unsigned __int128 result = 1;
    for (int64_t factor : factors) {
      result *= static_cast<uint64_t>(factor);
      overflow |= result >> 63 != 0;
      result &= INT64_MAX;
    }
    return static_cast<uint64_t>(result);
  }
  void add(uint64_t &total, uint64_t amount) { overflow |= __builtin_add_overflow(total, amount, &total); }
  Expected<Traffic> finish(Traffic traffic) const {
    if (overflow)
      return makeError("expected a traffic below 2^63 bytes, but got an overflow; use a smaller shape");
    return traffic;
  }

private:
  bool overflow = false;
};

DType computeType(const AttentionShape &shape) { return shape.input == DType::F64 ? DType::F64 : DType::F32; }

/// Rows and bytes of one head, visited tile by tile.
struct TileCounts {
  uint64_t tiles = 0;
  uint64_t keyRows = 0;   ///< key rows read, over all visits
  uint64_t queryRows = 0; ///< query rows read, over all visits
};

TileCounts countVisits(const AttentionShape &shape, const TiledForm &form) {
  TileCounts counts;
  for (int64_t first = 0; first < shape.seqQ; first += form.tileQ) {
    const int64_t queries = std::min(form.tileQ, shape.seqQ - first);
    const std::vector<KeyRange> ranges =
        form.visible ? form.visible(shape, first, queries) : std::vector<KeyRange>{{0, shape.seqKv}};
    int64_t nextTile = 0; // two runs may share a tile, which is visited once
    for (KeyRange range : ranges) {
      const int64_t begin = std::max<int64_t>(range.first, 0), end = std::min(range.end, shape.seqKv);
      if (begin >= end)
        continue;
      const int64_t low = std::max(begin / form.tileKv, nextTile), high = (end - 1) / form.tileKv + 1;
      if (low >= high)
        continue;
      nextTile = high;
      counts.tiles += static_cast<uint64_t>(high - low);
      counts.keyRows += static_cast<uint64_t>(std::min(high * form.tileKv, shape.seqKv) - low * form.tileKv);
      counts.queryRows += static_cast<uint64_t>(high - low) * static_cast<uint64_t>(queries);
    }
  }
  return counts;
}

Status validate(const TiledForm &form) {
  if (form.tileQ >= 1 && form.tileKv >= 1)
    return Status::success();
  return makeError("expected tile sizes of 1 or more, but got " + std::to_string(form.tileQ) + " and " +
                   std::to_string(form.tileKv));
}

/// Sizes of whole tensors in bytes.
struct Sizes {
  uint64_t q, k, v, o, lse;

  Sizes(const AttentionShape &s, Counter &counter) {
    const auto in = static_cast<int64_t>(sizeOf(s.input)), out = static_cast<int64_t>(sizeOf(s.output));
    q = counter.product({s.batch, s.headsQ, s.seqQ, s.depth, in});
    k = counter.product({s.batch, s.headsKv, s.seqKv, s.depth, in});
    v = counter.product({s.batch, s.headsKv, s.seqKv, s.depthV, in});
    o = counter.product({s.batch, s.headsQ, s.seqQ, s.depthV, out});
    lse = s.lse ? counter.product({s.batch, s.headsQ, s.seqQ, static_cast<int64_t>(sizeOf(computeType(s)))}) : 0;
  }
};

TensorTraffic reads(const char *name, uint64_t once, uint64_t issued) { return {name, once, 0, issued, 0}; }
TensorTraffic writes(const char *name, uint64_t bytes) { return {name, 0, bytes, 0, bytes}; }

void addOutputs(Traffic &traffic, const AttentionShape &shape, const Sizes &sizes) {
  traffic.tensors.push_back(writes("o", sizes.o));
  if (shape.lse)
    traffic.tensors.push_back(writes("lse", sizes.lse));
}

void countTiles(Traffic &traffic, const AttentionShape &shape, const TiledForm &form, const TileCounts &counts,
                Counter &counter) {
  const int64_t tilesQ = (shape.seqQ + form.tileQ - 1) / form.tileQ;
  const int64_t tilesKv = (shape.seqKv + form.tileKv - 1) / form.tileKv;
  traffic.allTiles = counter.product({shape.batch, shape.headsQ, tilesQ, tilesKv});
  traffic.visitedTiles = counter.product({shape.batch, shape.headsQ, static_cast<int64_t>(counts.tiles)});
}

} // namespace

Status validate(const AttentionShape &s) {
  for (int64_t size : {s.batch, s.headsQ, s.headsKv, s.seqQ, s.seqKv, s.depth, s.depthV})
    if (size < 0 || size >= int64_t{1} << 40)
      return makeError("expected sizes from 0 to 2^40, but got " + std::to_string(size));
  if (s.headsKv == 0 ? s.headsQ != 0 : s.headsQ % s.headsKv != 0)
    return makeError("expected query heads to be a multiple of key/value heads, but got " + std::to_string(s.headsQ) +
                     " and " + std::to_string(s.headsKv));
  if (!isFloat(s.input) || !isFloat(s.output))
    return makeError("expected float types, but got " + std::string(nameOf(s.input)) + " and " +
                     std::string(nameOf(s.output)));
  return Status::success();
}

VisibleKeys causalKeys(bool bottomRight) {
  return [=](const AttentionShape &shape, int64_t first, int64_t queries) {
    const int64_t offset = bottomRight ? shape.seqKv - shape.seqQ : 0;
    return std::vector<KeyRange>{{0, first + queries + offset}};
  };
}

uint64_t Traffic::once() const {
  uint64_t total = 0;
  for (const TensorTraffic &tensor : tensors)
    total += tensor.readOnce + tensor.writtenOnce;
  return total;
}

uint64_t Traffic::issued() const {
  uint64_t total = 0;
  for (const TensorTraffic &tensor : tensors)
    total += tensor.readIssued + tensor.writtenIssued;
  return total;
}

const TensorTraffic *Traffic::find(const std::string &tensor) const {
  for (const TensorTraffic &entry : tensors)
    if (entry.tensor == tensor)
      return &entry;
  return nullptr;
}

std::string Traffic::table() const {
  Table table({"tensor", "read once", "written once", "read issued", "written issued"});
  TensorTraffic total;
  const auto row = [&](const std::string &name, const TensorTraffic &t) {
    table.add({name, formatBytes(t.readOnce), formatBytes(t.writtenOnce), formatBytes(t.readIssued),
               formatBytes(t.writtenIssued)});
  };
  for (const TensorTraffic &tensor : tensors) {
    row(tensor.tensor, tensor);
    total.readOnce += tensor.readOnce;
    total.writtenOnce += tensor.writtenOnce;
    total.readIssued += tensor.readIssued;
    total.writtenIssued += tensor.writtenIssued;
  }
  row("total", total);
  return table.print();
}

Expected<Traffic> naiveTraffic(const AttentionShape &shape, DType stored) {
  if (Status status = validate(shape); !status)
    return status.error();
  Counter counter;
  const Sizes sizes(shape, counter);
  const int64_t group = shape.headsKv ? shape.headsQ / shape.headsKv : 0;
  const uint64_t pairs = counter.product({shape.batch, shape.headsQ, shape.seqQ, shape.seqKv});
  const uint64_t matrix = counter.product({static_cast<int64_t>(pairs), static_cast<int64_t>(sizeOf(stored))});
  Traffic traffic;
  const auto perQueryHead = [&](uint64_t bytes) { return counter.product({group, static_cast<int64_t>(bytes)}); };
  traffic.tensors = {reads("q", sizes.q, sizes.q),
                     reads("k", sizes.k, perQueryHead(sizes.k)),
                     reads("v", sizes.v, perQueryHead(sizes.v)),
                     {"scores", matrix, matrix, matrix, matrix},
                     {"weights", matrix, matrix, matrix, matrix}};
  addOutputs(traffic, shape, sizes);
  traffic.squareTouches = counter.product({4, static_cast<int64_t>(pairs)});
  return counter.finish(std::move(traffic));
}

Expected<Traffic> queryOuterTraffic(const AttentionShape &shape, const TiledForm &form) {
  for (const Status &status : {validate(shape), validate(form)})
    if (!status)
      return status.error();
  Counter counter;
  const Sizes sizes(shape, counter);
  const TileCounts counts = countVisits(shape, form);
  const auto perVisit = [&](int64_t depth) {
    return counter.product({shape.batch, shape.headsQ, static_cast<int64_t>(counts.keyRows), depth,
                            static_cast<int64_t>(sizeOf(shape.input))});
  };
  Traffic traffic;
  traffic.tensors = {reads("q", sizes.q, sizes.q), reads("k", sizes.k, perVisit(shape.depth)),
                     reads("v", sizes.v, perVisit(shape.depthV))};
  addOutputs(traffic, shape, sizes);
  countTiles(traffic, shape, form, counts, counter);
  return counter.finish(std::move(traffic));
}

Expected<Traffic> keyOuterTraffic(const AttentionShape &shape, const TiledForm &form) {
  for (const Status &status : {validate(shape), validate(form)})
    if (!status)
      return status.error();
  Counter counter;
  const Sizes sizes(shape, counter);
  const TileCounts counts = countVisits(shape, form);
  const int64_t group = shape.headsKv ? shape.headsQ / shape.headsKv : 0;
  const int64_t stateRow = (shape.depthV + 2) * static_cast<int64_t>(sizeOf(computeType(shape)));
  const auto visitedQueries = static_cast<int64_t>(counts.queryRows);
  const uint64_t queries = counter.product(
      {shape.batch, shape.headsQ, visitedQueries, shape.depth, static_cast<int64_t>(sizeOf(shape.input))});
  const uint64_t state = counter.product({shape.batch, shape.headsQ, shape.seqQ, stateRow});
  uint64_t visits = counter.product({shape.batch, shape.headsQ, visitedQueries, stateRow});
  counter.add(visits, state); // the first store of empty states, and the last load before O is written
  const auto perQueryHead = [&](uint64_t bytes) { return counter.product({group, static_cast<int64_t>(bytes)}); };
  Traffic traffic;
  traffic.tensors = {reads("q", sizes.q, queries),
                     reads("k", sizes.k, perQueryHead(sizes.k)),
                     reads("v", sizes.v, perQueryHead(sizes.v)),
                     {"state", state, state, visits, visits}};
  addOutputs(traffic, shape, sizes);
  countTiles(traffic, shape, form, counts, counter);
  return counter.finish(std::move(traffic));
}

std::vector<int64_t> defaultTrafficLengths() { return {128, 256, 512, 1024, 2048, 4096}; }

Expected<std::string> trafficTable(AttentionShape shape, const TiledForm &form, const std::vector<int64_t> &lengths,
                                   DType stored) {
  Table table({"N", "naive", "FA-1 once", "FA-1 issued", "FA-2 once", "FA-2 issued", "naive / FA-2 once",
               "N x N touches naive", "FA-1", "FA-2"});
  for (int64_t length : lengths) {
    shape.seqQ = shape.seqKv = length;
    const Expected<Traffic> naive = naiveTraffic(shape, stored);
    const Expected<Traffic> first = keyOuterTraffic(shape, form);
    const Expected<Traffic> second = queryOuterTraffic(shape, form);
    for (const Expected<Traffic> *result : {&naive, &first, &second})
      if (!*result)
        return result->error();
    const double ratio =
        static_cast<double>(naive->once()) / static_cast<double>(std::max<uint64_t>(second->once(), 1));
    table.add({std::to_string(length), formatBytes(naive->once()), formatBytes(first->once()),
               formatBytes(first->issued()), formatBytes(second->once()), formatBytes(second->issued()),
               formatNumber(ratio, 3), formatCount(static_cast<int64_t>(naive->squareTouches)),
               formatCount(static_cast<int64_t>(first->squareTouches)),
               formatCount(static_cast<int64_t>(second->squareTouches))});
  }
  return table.print();
}

} // namespace fa::analysis
