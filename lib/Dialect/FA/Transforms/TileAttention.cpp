// fa-tile-attention: attention as loops over tiles, in the order of FlashAttention-2 or FlashAttention-1.
#include "fa/Dialect/FA/Transforms/Passes.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include <cmath>

namespace mlir::fa {
#define GEN_PASS_DEF_TILEATTENTIONPASS
#include "fa/Dialect/FA/Transforms/Passes.h.inc"
} // namespace mlir::fa

using namespace mlir;
using namespace mlir::fa;

namespace {
/// Builds the tiled form of one attention.
class Tiler {
public:
  Tiler(AttentionOp op) : op(op), builder(op), loc(op.getLoc()), schedule(op.getScheduleAttr()) {
    stateType =
        StateType::get(op.getContext(), schedule.getTileQ(), op.getValueType().getDimSize(3), op.getAccumulatorType());
    queryTiles = tiles(op.getQuery(), schedule.getTileQ());
    keyTiles = tiles(op.getKey(), schedule.getTileKv());
  }

  void tile() {
    if (schedule.getSplitKv() > 1)
      tileSplitKeys();
    else if (schedule.getOrder() == LoopOrder::QueryOuter)
      tileQueryOuter();
    else
      tileKeyOuter();
  }

private:
  //===--------------------------------------------------------------------===//
  // Sizes and loops
  //===--------------------------------------------------------------------===//

  OpFoldResult size(Value shaped, int64_t dim) { return memref::getMixedSize(builder, loc, shaped, dim); }
  Value index(OpFoldResult value) { return getValueOrCreateConstantIndexOp(builder, loc, value); }
  Value index(int64_t value) { return arith::ConstantIndexOp::create(builder, loc, value); }

  /// ceildiv(sequence length, tile).
  OpFoldResult tiles(Value shaped, int64_t tile) {
    AffineExpr length = builder.getAffineDimExpr(0);
    return affine::makeComposedFoldedAffineApply(builder, loc, length.ceilDiv(tile), {size(shaped, 2)});
  }

  /// kv head = head floordiv (heads_q / heads_kv). Emitted inside the loop over heads, so heads_kv is not 0.
  Value keyHead(Value head) {
    OpFoldResult headsQ = size(op.getQuery(), 1), headsKv = size(op.getKey(), 1);
    std::optional<int64_t> q = getConstantIntValue(headsQ), kv = getConstantIntValue(headsKv);
    if (q && kv) {
      if (*q == *kv)
        return head;
      AffineExpr expr = builder.getAffineDimExpr(0).floorDiv(std::max<int64_t>(*kv ? *q / *kv : 1, 1));
      return index(affine::makeComposedFoldedAffineApply(builder, loc, expr, {OpFoldResult(head)}));
    }
    Value group = arith::DivUIOp::create(builder, loc, index(headsQ), index(headsKv));
    return arith::DivUIOp::create(builder, loc, head, group);
  }

  void forall(ArrayRef<OpFoldResult> bounds, function_ref<void(ValueRange)> body) {
    auto loop = scf::ForallOp::create(builder, loc, bounds, ValueRange(), std::nullopt);
    loop->setAttr(scheduleAttrName, schedule);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(loop.getTerminator());
    body(loop.getInductionVars());
  }

  /// for iv = 0 .. count
  void forEach(OpFoldResult count, function_ref<void(Value)> body) {
    auto loop = scf::ForOp::create(builder, loc, index(0), index(count), index(1));
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(loop.getBody()->getTerminator());
    body(loop.getInductionVar());
  }

  //===--------------------------------------------------------------------===//
  // Tile operations
  //===--------------------------------------------------------------------===//

  Value step(Value state, Value batch, Value head, Value kvHead, Value queryTile, Value keyTile) {
    FloatAttr scale = op.getScaleAttr();
    if (!scale && !op.getDynamicScale())
      scale = builder.getF64FloatAttr(1.0 / std::sqrt(static_cast<double>(op.getQueryType().getDimSize(3))));
    auto stepOp = StepOp::create(builder, loc, stateType, state, op.getQuery(), batch, head, queryTile, op.getKey(),
                                 op.getValue(), batch, kvHead, keyTile, op.getDynamicScale(), scale,
                                 builder.getI64IntegerAttr(schedule.getTileKv()), /*full=*/UnitAttr());
    IRMapping mapping;
    op.getScore().cloneInto(&stepOp.getScore(), mapping);
    op.getMask().cloneInto(&stepOp.getMask(), mapping);
    return stepOp.getResult();
  }

  Value init() { return InitOp::create(builder, loc, stateType); }

  void finish(Value state, Value batch, Value head, Value queryTile) {
    FinishOp::create(builder, loc, state, op.getOutput(), op.getLse(), batch, head, queryTile);
  }

  /// The state of a query tile after the key tiles [first, end).
  Value stepOver(Value first, Value end, Value batch, Value head, Value queryTile) {
    Value kvHead = keyHead(head);
    auto loop = scf::ForOp::create(builder, loc, first, end, index(1), ValueRange(init()));
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    Value next = step(loop.getRegionIterArg(0), batch, head, kvHead, queryTile, loop.getInductionVar());
    scf::YieldOp::create(builder, loc, next);
    return loop.getResult(0);
  }

  //===--------------------------------------------------------------------===//
  // Orders
  //===--------------------------------------------------------------------===//

  /// FlashAttention-2: a query tile stays, key tiles pass by.
  void tileQueryOuter() {
    forall({size(op.getQuery(), 0), size(op.getQuery(), 1), queryTiles}, [&](ValueRange ivs) {
      Value batch = ivs[0], head = ivs[1], queryTile = ivs[2];
      finish(stepOver(index(0), index(keyTiles), batch, head, queryTile), batch, head, queryTile);
    });
  }

  /// Flash-Decoding: a block for each part of the keys, then a block for each head that joins the parts.
  void tileSplitKeys() {
    OpFoldResult batches = size(op.getQuery(), 0), heads = size(op.getQuery(), 1), queries = size(op.getQuery(), 2);
    const int64_t parts = schedule.getSplitKv();
    OpFoldResult depth = builder.getIndexAttr(stateType.getDepth());
    Value outputs = allocate({builder.getIndexAttr(parts), batches, heads, queries, depth});
    Value lses = allocate({builder.getIndexAttr(parts), batches, heads, queries});
    forall({builder.getIndexAttr(parts), batches, heads, queryTiles}, [&](ValueRange ivs) {
      Value part = ivs[0], batch = ivs[1], head = ivs[2], queryTile = ivs[3];
      AffineExpr number = builder.getAffineDimExpr(0), tiles = builder.getAffineSymbolExpr(0);
      AffineExpr first = number * tiles.ceilDiv(parts), end = first + tiles.ceilDiv(parts);
      SmallVector<OpFoldResult> operands{part, keyTiles};
      Value lower = index(affine::makeComposedFoldedAffineApply(builder, loc, first, operands));
      Value upper = index(affine::makeComposedFoldedAffineMin(
          builder, loc, AffineMap::get(1, 1, {end, tiles}, builder.getContext()), operands));
      Value state = stepOver(lower, upper, batch, head, queryTile);
      FinishOp::create(builder, loc, state, slice(outputs, {part}, /*drop=*/true), slice(lses, {part}, /*drop=*/true),
                       batch, head, queryTile);
    });
    forall({batches, heads}, [&](ValueRange ivs) {
      Value batch = ivs[0], head = ivs[1];
      CombineOp::create(builder, loc, slice(outputs, {Value(), batch, head}), slice(lses, {Value(), batch, head}),
                        slice(op.getOutput(), {batch, head}),
                        op.getLse() ? slice(op.getLse(), {batch, head}) : Value());
    });
    for (Value memory : {outputs, lses})
      memref::DeallocOp::create(builder, loc, memory);
  }

  /// Memory of the accumulator's type.
  Value allocate(ArrayRef<OpFoldResult> sizes) {
    SmallVector<int64_t> shape;
    SmallVector<Value> dynamic;
    dispatchIndexOpFoldResults(sizes, dynamic, shape);
    return memref::AllocOp::create(builder, loc, MemRefType::get(shape, stateType.getElementType()), dynamic);
  }

  /// One element of each leading dim that has a position (null: all of them). `drop` removes the first dim.
  Value slice(Value memory, ArrayRef<Value> positions, bool drop = false) {
    auto type = cast<MemRefType>(memory.getType());
    SmallVector<OpFoldResult> offsets(type.getRank(), builder.getIndexAttr(0)), sizes,
        ones(type.getRank(), builder.getIndexAttr(1));
    for (int64_t dim = 0; dim < type.getRank(); ++dim) {
      const bool one = dim < int64_t(positions.size()) && positions[dim];
      sizes.push_back(one ? builder.getIndexAttr(1) : size(memory, dim));
      if (one)
        offsets[dim] = positions[dim];
    }
    if (!drop)
      return memref::SubViewOp::create(builder, loc, memory, offsets, sizes, ones);
    MemRefType reduced =
        memref::SubViewOp::inferRankReducedResultType(type.getShape().drop_front(), type, offsets, sizes, ones);
    return memref::SubViewOp::create(builder, loc, reduced, memory, offsets, sizes, ones);
  }

  /// FlashAttention-1: a key tile stays, the states of all query tiles pass by through memory.
  void tileKeyOuter() {
    forall({size(op.getQuery(), 0), size(op.getQuery(), 1)}, [&](ValueRange ivs) {
      Value batch = ivs[0], head = ivs[1];
      Value kvHead = keyHead(head), zero = index(0);
      Value acc = workspace(stateType.getDepth()), reference = workspace(), sum = workspace();
      auto load = [&](Value t) -> Value {
        return LoadStateOp::create(builder, loc, stateType, acc, reference, sum, zero, zero, t);
      };
      auto store = [&](Value state, Value t) {
        StoreStateOp::create(builder, loc, state, acc, reference, sum, zero, zero, t);
      };
      forEach(queryTiles, [&](Value t) { store(init(), t); });
      forEach(keyTiles, [&](Value j) {
        forEach(queryTiles, [&](Value t) { store(step(load(t), batch, head, kvHead, t, j), t); });
      });
      forEach(queryTiles, [&](Value t) { finish(load(t), batch, head, t); });
      for (Value memory : {acc, reference, sum})
        memref::DeallocOp::create(builder, loc, memory);
    });
  }

  /// Memory for the states of one head: [1, 1, Sq, depth], or [1, 1, Sq] without a depth.
  Value workspace(std::optional<int64_t> depth = std::nullopt) {
    OpFoldResult length = size(op.getQuery(), 2);
    SmallVector<int64_t> shape{1, 1, getConstantIntValue(length).value_or(ShapedType::kDynamic)};
    if (depth)
      shape.push_back(*depth);
    SmallVector<Value> dynamic;
    if (!getConstantIntValue(length))
      dynamic.push_back(index(length));
    return memref::AllocOp::create(builder, loc, MemRefType::get(shape, stateType.getElementType()), dynamic);
  }

  AttentionOp op;
  OpBuilder builder;
  Location loc;
  ScheduleAttr schedule;
  StateType stateType;
  OpFoldResult queryTiles, keyTiles;
};

struct TileAttentionPass : fa::impl::TileAttentionPassBase<TileAttentionPass> {
  void runOnOperation() override {
    SmallVector<AttentionOp> ops;
    getOperation()->walk([&](AttentionOp op) { ops.push_back(op); });
    for (AttentionOp op : ops) {
      if (failed(checkTileable(op)))
        return signalPassFailure();
      Tiler(op).tile();
      op.erase();
    }
  }

  static LogicalResult checkTileable(AttentionOp op) {
    if (op.hasTensorSemantics())
      return op.emitOpError("expected memrefs, but got tensors; run one-shot-bufferize first");
    if (op.getMasksAttr() && !op.getMasksAttr().empty())
      return op.emitOpError("expected no named masks; run fa-expand-masks first");
    if (!op.getScheduleAttr())
      return op.emitOpError("expected a schedule; run fa-select-schedule first");
    if (op.getQueryType().isDynamicDim(3) || op.getKeyType().isDynamicDim(3) || op.getValueType().isDynamicDim(3) ||
        cast<ShapedType>(op.getOutput().getType()).isDynamicDim(3))
      return op.emitOpError("expected static depths to tile, but got ")
             << op.getQueryType() << " and " << op.getValueType()
             << "; memref.cast the operands to the depths to compile for";
    return success();
  }
};
} // namespace
