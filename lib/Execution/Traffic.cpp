// Shapes and visible keys of a program in the traffic model's terms.
#include "fa/Execution/Traffic.h"
#include "fa/Support/Text.h"

namespace fa::execution {
namespace {

analysis::AttentionShape shapeOf(const AttentionProblem &attention) {
  const reference::Problem &problem = attention.problem();
  analysis::AttentionShape shape;
  shape.batch = problem.batch(), shape.headsQ = problem.heads(), shape.headsKv = problem.kvHeads();
  shape.seqQ = problem.queries(), shape.seqKv = problem.keys();
  shape.depth = problem.depth(), shape.depthV = problem.depthV();
  shape.input = problem.query.type, shape.output = attention.output().type;
  shape.lse = attention.lse().has_value();
  return shape;
}

/// Keys that some query of a tile sees under named masks, found by looking at every pair.
analysis::VisibleKeys visibleKeys(mlir::fa::AttentionOp op) {
  std::vector<mlir::fa::MaskAttrInterface> masks;
  if (mlir::ArrayAttr named = op.getMasksAttr())
    for (mlir::Attribute attribute : named)
      masks.push_back(llvm::cast<mlir::fa::MaskAttrInterface>(attribute));
  if (masks.empty())
    return {};
  return [masks](const analysis::AttentionShape &shape, int64_t first, int64_t queries) {
    const auto seen = [&](int64_t j) {
      for (int64_t i = first; i < std::min(first + queries, shape.seqQ); ++i) {
        bool visible = true;
        for (mlir::fa::MaskAttrInterface mask : masks)
          visible = visible && mask.visible(i, j, shape.seqQ, shape.seqKv);
        if (visible)
          return true;
      }
      return false;
    };
    std::vector<analysis::KeyRange> ranges;
    for (int64_t j = 0; j < shape.seqKv; ++j) {
      if (!seen(j))
        continue;
      if (!ranges.empty() && ranges.back().end == j)
        ranges.back().end = j + 1;
      else
        ranges.push_back({j, j + 1});
    }
    return ranges;
  };
}

/// The type in which the naive form stores scores.
DType storedType(const analysis::AttentionShape &shape) { return shape.input == DType::F64 ? DType::F64 : DType::F32; }

} // namespace

Expected<std::optional<RunTraffic>> trafficOf(const Program &program, const AttentionProblem &problem,
                                              const CompileReport &compiled) {
  mlir::fa::AttentionOp op = program.attention();
  if (!op.getMask().empty() || compiled.tileQ == 0)
    return std::optional<RunTraffic>();
  const analysis::AttentionShape shape = shapeOf(problem);
  const analysis::TiledForm form{compiled.tileQ, compiled.tileKv, visibleKeys(op)};
  Expected<analysis::Traffic> kernel =
      compiled.order == "key_outer" ? analysis::keyOuterTraffic(shape, form) : analysis::queryOuterTraffic(shape, form);
  if (!kernel)
    return kernel.error();
  Expected<analysis::Traffic> naive = analysis::naiveTraffic(shape, storedType(shape));
  if (!naive)
    return naive.error();
  return std::optional(RunTraffic{*kernel, *naive});
}

Expected<std::string> trafficTables(const Program &program, const AttentionProblem &problem,
                                    const CompileReport &compiled) {
  Expected<std::optional<RunTraffic>> traffic = trafficOf(program, problem, compiled);
  if (!traffic)
    return traffic.error();
  if (!*traffic)
    return makeError(
        "expected --traffic with a tiled lowering and named masks only: the keys that a mask region hides may "
        "differ by batch and head");
  const analysis::AttentionShape shape = shapeOf(problem);
  const analysis::TiledForm form{compiled.tileQ, compiled.tileKv, visibleKeys(program.attention())};
  Expected<std::string> lengths =
      analysis::trafficTable(shape, form, analysis::defaultTrafficLengths(), storedType(shape));
  if (!lengths)
    return lengths.error();
  return "\ntraffic of this run, tiles of " + std::to_string(form.tileQ) + " queries and " +
         std::to_string(form.tileKv) + " keys:\n" + (*traffic)->kernel.table() +
         "\ntraffic of all forms by length N:\n" + *lengths;
}

} // namespace fa::execution
