// fa-report-traffic: remarks with the bytes that the naive and the tiled forms move.
#include "ShapeOf.h"
#include "fa/Analysis/TrafficModel.h"
#include "fa/Dialect/FA/Transforms/Passes.h"
#include "fa/Support/Text.h"

namespace mlir::fa {
#define GEN_PASS_DEF_REPORTTRAFFICPASS
#include "fa/Dialect/FA/Transforms/Passes.h.inc"
} // namespace mlir::fa

using namespace mlir;
using namespace mlir::fa;
using namespace ::fa::analysis;

/// The keys that some query of a tile sees through the named masks, by asking for every pair.
static VisibleKeys visibleKeys(ArrayAttr masks) {
  if (!masks || masks.empty())
    return {};
  return [masks](const AttentionShape &shape, int64_t firstQuery, int64_t queries) {
    auto seen = [&](int64_t j) {
      for (int64_t i = firstQuery; i < std::min(firstQuery + queries, shape.seqQ); ++i)
        if (llvm::all_of(masks.getAsRange<MaskAttrInterface>(),
                         [&](MaskAttrInterface mask) { return mask.visible(i, j, shape.seqQ, shape.seqKv); }))
          return true;
      return false;
    };
    std::vector<KeyRange> runs;
    for (int64_t j = 0; j < shape.seqKv; ++j) {
      if (!seen(j))
        continue;
      if (runs.empty() || runs.back().end != j)
        runs.push_back({j, j});
      runs.back().end = j + 1;
    }
    return runs;
  };
}

static std::string describe(const ::fa::Expected<Traffic> &traffic) {
  if (!traffic)
    return traffic.message();
  std::string text = ::fa::formatBytes(traffic->once()) + " once, " + ::fa::formatBytes(traffic->issued()) +
                     " issued, " + ::fa::formatCount(traffic->squareTouches) + " N x N touches";
  if (traffic->allTiles)
    text += ", " + ::fa::formatCount(traffic->visitedTiles) + " of " + ::fa::formatCount(traffic->allTiles) + " tiles";
  return text;
}

static void report(AttentionOp op) {
  if (!hasStaticShape(op)) {
    op.emitRemark("traffic is not known for dynamic sizes");
    return;
  }
  if (!op.getScheduleAttr()) {
    op.emitRemark("traffic is not known without a schedule; run fa-select-schedule first");
    return;
  }
  AttentionShape shape = shapeOf(op, /*unknown=*/1);
  TiledForm form{op.getScheduleAttr().getTileQ(), op.getScheduleAttr().getTileKv(), visibleKeys(op.getMasksAttr())};
  ::fa::DType stored = op.getQueryType().getElementType().isF64() ? ::fa::DType::F64 : ::fa::DType::F32;
  bool keyOuter = op.getScheduleAttr().getOrder() == LoopOrder::KeyOuter;
  op.emitRemark("traffic, unfused: ") << describe(naiveTraffic(shape, stored));
  op.emitRemark("traffic, key_outer (FlashAttention-1)")
      << (keyOuter ? ", as scheduled: " : ": ") << describe(keyOuterTraffic(shape, form));
  op.emitRemark("traffic, query_outer (FlashAttention-2)")
      << (keyOuter ? ": " : ", as scheduled: ") << describe(queryOuterTraffic(shape, form));
  if (!op.getMask().empty())
    op.emitRemark("traffic counts every tile that the named masks leave; the mask region is not counted");
}

namespace {
struct ReportTrafficPass : mlir::fa::impl::ReportTrafficPassBase<ReportTrafficPass> {
  void runOnOperation() override {
    getOperation()->walk([](AttentionOp op) { report(op); });
    markAllAnalysesPreserved();
  }
};
} // namespace
