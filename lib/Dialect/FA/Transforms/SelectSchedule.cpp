// fa-select-schedule: tile sizes and target, from the machine model or the user.
#include "fa/Dialect/FA/Transforms/Passes.h"
#include "mlir/AsmParser/AsmParser.h"

namespace mlir::fa {
#define GEN_PASS_DEF_SELECTSCHEDULEPASS
#include "fa/Dialect/FA/Transforms/Passes.h.inc"
} // namespace mlir::fa

using namespace mlir;
using namespace mlir::fa;

/// A query or key length below the usual tile size needs no larger tile than itself.
static int64_t clampToLength(int64_t tile, ShapedType type, int64_t granule) {
  int64_t length = type.getDimSize(2);
  if (ShapedType::isDynamic(length) || length >= tile)
    return tile;
  return std::max<int64_t>(llvm::alignTo(length, granule), granule);
}

/// One tile of scores and the accumulator fit the second-level cache; key and value tiles stream through the first.
static ScheduleAttr pickForCpu(AttentionOp op) {
  int64_t tileQ = clampToLength(128, op.getQueryType(), 16);
  int64_t tileKv = clampToLength(128, op.getKeyType(), 16);
  return ScheduleAttr::get(op.getContext(), tileQ, tileKv, LoopOrder::QueryOuter,
                           CPUAttr::get(op.getContext(), /*vector_bits=*/512));
}

/// 64 query rows per consumer warpgroup; key tiles as large as two stages of K and V allow in shared memory.
static ScheduleAttr pickForHopper(AttentionOp op) {
  int64_t depth = std::max(op.getQueryType().getDimSize(3), op.getValueType().getDimSize(3));
  int64_t tileQ = depth <= 64 ? 192 : 128;
  int64_t tileKv = depth <= 128 ? 128 : depth <= 192 ? 96 : 80;
  auto target = HopperAttr::get(op.getContext(), /*stages=*/2, /*warpgroups=*/tileQ / 64, /*overlap=*/true,
                                /*ping_pong=*/true, /*persistent=*/false);
  return ScheduleAttr::get(op.getContext(), tileQ, tileKv, LoopOrder::QueryOuter, target);
}

namespace {
struct SelectSchedulePass : fa::impl::SelectSchedulePassBase<SelectSchedulePass> {
  using SelectSchedulePassBase::SelectSchedulePassBase;

  void runOnOperation() override {
    if (failed(parseOptions()))
      return signalPassFailure();
    WalkResult result = getOperation()->walk([&](AttentionOp op) {
      ScheduleAttr picked = pick(op);
      if (!picked)
        return WalkResult::interrupt();
      op.setScheduleAttr(picked);
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }

private:
  LogicalResult parseOptions() {
    Location loc = getOperation()->getLoc();
    if (target != "cpu" && target != "sm_90a")
      return emitError(loc) << "expected target cpu or sm_90a, but got '" << target << "'";
    wholeOverride = {};
    if (!schedule.empty()) {
      wholeOverride = dyn_cast_if_present<ScheduleAttr>(parseAttribute(schedule, &getContext()));
      if (!wholeOverride)
        return emitError(loc) << "expected an attribute such as #fa.schedule<tile_q = 64, tile_kv = 64>, but got '"
                              << schedule << "'";
    }
    if (tileQ < 0 || tileKv < 0)
      return emitError(loc) << "expected tile sizes of at least 1 (0: machine model), but got tile-q=" << tileQ
                            << " tile-kv=" << tileKv;
    if (!order.empty() && !symbolizeLoopOrder(order))
      return emitError(loc) << "expected order query_outer or key_outer, but got '" << order << "'";
    return success();
  }

  ScheduleAttr pick(AttentionOp op) {
    ScheduleAttr base = wholeOverride ? wholeOverride : op.getScheduleAttr();
    if (!base)
      base = target == "cpu" ? pickForCpu(op) : pickForHopper(op);
    TargetAttrInterface targetAttr = base.getTarget();
    if (!targetAttr)
      targetAttr = (target == "cpu" ? pickForCpu(op) : pickForHopper(op)).getTarget();
    if (targetAttr.getTargetName() != target) {
      op.emitOpError("expected a schedule for target ")
          << target << ", but got one for " << targetAttr.getTargetName();
      return {};
    }
    return ScheduleAttr::getChecked([&] { return op.emitOpError("schedule does not fit: "); }, op.getContext(),
                                    tileQ ? tileQ : base.getTileQ(), tileKv ? tileKv : base.getTileKv(),
                                    order.empty() ? base.getOrder() : *symbolizeLoopOrder(order), targetAttr);
  }

  ScheduleAttr wholeOverride;
};
} // namespace
