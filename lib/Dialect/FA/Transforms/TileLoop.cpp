// Matching of tile loops and the remarks about them.
#include "TileLoop.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace mlir::fa;

static std::optional<int64_t> staticLength(Value buffer) {
  auto type = cast<MemRefType>(buffer.getType());
  return type.isDynamicDim(2) ? std::nullopt : std::optional(type.getDimSize(2));
}

std::optional<TileLoop> TileLoop::match(StepOp step) {
  auto loop = dyn_cast<scf::ForOp>(step->getParentOp());
  if (!loop || !isConstantIntValue(loop.getStep(), 1) || llvm::range_size(loop.getOps<StepOp>()) != 1)
    return std::nullopt;
  Value iv = loop.getInductionVar();
  if (step.getKeyTile() == iv && loop.isDefinedOutsideOfLoop(step.getQueryTile()))
    return TileLoop{loop, step, /*keyOuter=*/false};
  if (step.getQueryTile() == iv && loop.isDefinedOutsideOfLoop(step.getKeyTile()))
    return TileLoop{loop, step, /*keyOuter=*/true};
  return std::nullopt;
}

SmallVector<TileLoop> fa::findTileLoops(Operation *root) {
  SmallVector<TileLoop> loops;
  root->walk([&](StepOp step) {
    if (std::optional<TileLoop> loop = TileLoop::match(step))
      loops.push_back(*loop);
  });
  return loops;
}

MaskLengths TileLoop::lengths() {
  MaskLengths lengths;
  lengths.sq = staticLength(step.getQuery());
  lengths.sk = staticLength(step.getKey());
  lengths.queryBuffers = {step.getQuery()};
  lengths.keyBuffers = {step.getKey(), step.getValue()};
  return lengths;
}

FailureOr<MaskAnalysis> TileLoop::analyze(std::optional<ProofScope> proof) {
  MaskAnalysis::Options options;
  options.queryTile = step.getState().getType().getRows();
  options.keyTile = step.getTileKv();
  options.keyOuter = keyOuter;
  options.proof = proof;
  return MaskAnalysis::compute(step.getMask(), lengths(), options, [&] { return step.emitOpError(); });
}

MaskAnalysis::Context TileLoop::context(OpBuilder &builder) {
  auto length = [&](Value buffer) {
    return getValueOrCreateConstantIndexOp(builder, step.getLoc(),
                                           memref::getMixedSize(builder, step.getLoc(), buffer, 2));
  };
  Value outerTile = keyOuter ? step.getKeyTile() : step.getQueryTile();
  return {step.getQueryBatch(), step.getQueryHead(), outerTile, length(step.getQuery()), length(step.getKey())};
}

bool TileLoop::coversEveryTile() {
  if (!isConstantIntValue(loop.getLowerBound(), 0))
    return false;
  Value buffer = keyOuter ? step.getQuery() : step.getKey();
  int64_t tile = keyOuter ? step.getState().getType().getRows() : int64_t(step.getTileKv());
  if (std::optional<int64_t> length = staticLength(buffer))
    return isConstantIntValue(loop.getUpperBound(), (*length + tile - 1) / tile);
  auto count = loop.getUpperBound().getDefiningOp<affine::AffineApplyOp>();
  if (!count || count.getMapOperands().size() != 1)
    return false;
  auto dim = count.getMapOperands().front().getDefiningOp<memref::DimOp>();
  AffineMap map = count.getAffineMap();
  AffineExpr size = map.getNumDims() ? getAffineDimExpr(0, map.getContext()) : getAffineSymbolExpr(0, map.getContext());
  return dim && dim.getSource() == buffer && dim.getConstantIndex() == 2 && map.getResult(0) == size.ceilDiv(tile);
}

TileLoopRewriter::TileLoopRewriter(const TileLoop &tiles)
    : tiles(tiles), builder(tiles.loop), loc(this->tiles.step.getLoc()), states(this->tiles.loop.getInitArgs()) {
  builder.setListener(this);
}

scf::ForOp TileLoopRewriter::appendLoop() {
  auto loop = cast<scf::ForOp>(builder.clone(*tiles.loop));
  loop.getInitArgsMutable().assign(states);
  states.assign(loop.result_begin(), loop.result_end());
  return loop;
}

void TileLoopRewriter::replaceLoop() {
  tiles.loop.replaceAllUsesWith(states);
  tiles.loop.erase();
  for (Operation *op : llvm::reverse(built))
    if (isOpTriviallyDead(op))
      op->erase();
}

void fa::remarkBounds(StepOp step, const MaskAnalysis &analysis) {
  step.emitRemark() << analysis.describe();
  if (analysis.isExact())
    return;
  InFlightDiagnostic remark = step.emitRemark() << "conservative: ";
  llvm::interleave(
      analysis.getBounds().notes, [&](const std::string &note) { remark << note; }, [&] { remark << "; "; });
  if (analysis.wantsTest())
    remark << "; a test per tile skips the rest";
  for (const MaskReading::Unread &unread : analysis.getReading().unread)
    if (unread.op)
      remark.attachNote(unread.op->getLoc()) << "not read: " << unread.reason;
}
