// fa-select-schedule: tile sizes and target, from the machine model or the user.
#include "ShapeOf.h"
#include "fa/Analysis/MachineModel.h"
#include "fa/Dialect/FA/Transforms/Passes.h"
#include "mlir/AsmParser/AsmParser.h"

namespace mlir::fa {
#define GEN_PASS_DEF_SELECTSCHEDULEPASS
#include "fa/Dialect/FA/Transforms/Passes.h.inc"
} // namespace mlir::fa

using namespace mlir;
using namespace mlir::fa;
using namespace ::fa::analysis;

/// A length that is not known when compiling is taken to be long.
static constexpr int64_t longSequence = 1 << 20;

/// True if kernels cannot read rows of keys or values where they are. Rows whose stride is not known are taken to be
/// contiguous.
static bool copiesTiles(AttentionOp op) {
  return llvm::any_of(ValueRange{op.getKey(), op.getValue()}, [](Value tensor) {
    auto type = dyn_cast<MemRefType>(tensor.getType());
    if (!type)
      return false;
    auto [strides, offset] = type.getStridesAndOffset();
    int64_t row = strides[2], depth = type.getDimSize(3);
    return type.getElementType().getIntOrFloatBitWidth() < 32 || (!ShapedType::isDynamic(row) && row != depth);
  });
}

/// Another CPU than this one has the caches of the model's defaults, so that the schedule does not depend on where it
/// is chosen.
static ScheduleAttr pickForCpu(AttentionOp op, int64_t vectorBits) {
  CpuModel machine = vectorBits ? CpuModel() : CpuModel::host();
  if (vectorBits)
    machine.vectorBytes = vectorBits / 8;
  CpuTiles tiles = chooseTiles(machine, shapeOf(op, longSequence), copiesTiles(op));
  auto target = CPUAttr::get(op.getContext(), machine.vectorBytes * 8, tiles.depthLanes ? Lanes::Depth : Lanes::Query);
  return ScheduleAttr::get(op.getContext(), tiles.tileQ, tiles.tileKv, LoopOrder::QueryOuter, tiles.splitKv, target);
}

static ScheduleAttr pickForHopper(AttentionOp op) {
  ::fa::Expected<HopperTiles> tiles = chooseTiles(HopperModel(), shapeOf(op, longSequence));
  if (!tiles) {
    op.emitOpError("no schedule fits: ") << tiles.message();
    return {};
  }
  auto target = HopperAttr::get(op.getContext(), tiles->stages, tiles->warpgroups, /*overlap=*/tiles->stages > 1,
                                /*ping_pong=*/tiles->warpgroups == 2, /*persistent=*/false,
                                /*scheduling_fence=*/true, /*unroll=*/tiles->unroll, /*heavy_first=*/true);
  return ScheduleAttr::get(op.getContext(), tiles->tileQ, tiles->tileKv, LoopOrder::QueryOuter, /*split_kv=*/1, target);
}

/// Refuses a schedule that needs more than the target has.
static LogicalResult checkFits(AttentionOp op, ScheduleAttr schedule) {
  auto hopper = dyn_cast<HopperAttr>(schedule.getTarget());
  if (!hopper)
    return success();
  HopperTiles tiles{schedule.getTileQ(), schedule.getTileKv(), hopper.getStages(), hopper.getWarpgroups(),
                    hopper.getUnroll()};
  ::fa::Status fits = checkTiles(HopperModel(), shapeOf(op, longSequence), tiles);
  if (!fits)
    return op.emitOpError("schedule does not fit: ") << fits.message();
  return success();
}

namespace {
struct SelectSchedulePass : mlir::fa::impl::SelectSchedulePassBase<SelectSchedulePass> {
  using SelectSchedulePassBase::SelectSchedulePassBase;

  void runOnOperation() override {
    if (failed(parseOptions()))
      return signalPassFailure();
    WalkResult result = getOperation()->walk([&](AttentionOp op) {
      ScheduleAttr picked = pick(op);
      if (!picked || failed(checkFits(op, picked)))
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
    if (vectorBits != 0 && vectorBits != 128 && vectorBits != 256 && vectorBits != 512)
      return emitError(loc) << "expected vector-bits of 128, 256 or 512 (0: this machine), but got " << vectorBits;
    if (!order.empty() && !symbolizeLoopOrder(order))
      return emitError(loc) << "expected order query_outer or key_outer, but got '" << order << "'";
    return success();
  }

  ScheduleAttr pick(AttentionOp op) {
    ScheduleAttr base = wholeOverride ? wholeOverride : op.getScheduleAttr();
    if (!base)
      base = target == "cpu" ? pickForCpu(op, vectorBits) : pickForHopper(op);
    if (!base)
      return {};
    TargetAttrInterface targetAttr = base.getTarget();
    if (!targetAttr) {
      ScheduleAttr picked = target == "cpu" ? pickForCpu(op, vectorBits) : pickForHopper(op);
      if (!picked)
        return {};
      targetAttr = picked.getTarget();
    }
    const int64_t rows = tileQ ? int64_t(tileQ) : base.getTileQ();
    const LoopOrder loopOrder = order.empty() ? base.getOrder() : *symbolizeLoopOrder(order);
    // What the machine model picked gives way to what the user wants.
    const bool given = wholeOverride || op.getScheduleAttr();
    const int64_t split = given || (splitKeys && loopOrder == LoopOrder::QueryOuter) ? base.getSplitKv() : 1;
    if (!given || !base.getTarget())
      targetAttr = withLanesFor(targetAttr, rows);
    if (targetAttr.getTargetName() != target) {
      op.emitOpError("expected a schedule for target ") << target << ", but got one for " << targetAttr.getTargetName();
      return {};
    }
    return ScheduleAttr::getChecked([&] { return op.emitOpError("schedule does not fit: "); }, op.getContext(), rows,
                                    tileKv ? tileKv : base.getTileKv(), loopOrder, split, targetAttr);
  }

  /// A tile that the user made larger than depth on lanes takes has queries there.
  static TargetAttrInterface withLanesFor(TargetAttrInterface target, int64_t rows) {
    auto cpu = dyn_cast<CPUAttr>(target);
    if (!cpu || cpu.getLanes() == Lanes::Query || rows <= CPUAttr::maxRowsOfDepthLanes)
      return target;
    return CPUAttr::get(cpu.getContext(), cpu.getVectorBits(), Lanes::Query);
  }

  ScheduleAttr wholeOverride;
};
} // namespace
