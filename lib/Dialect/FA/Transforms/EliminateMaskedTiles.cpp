// fa-eliminate-masked-tiles: the bounds of tile loops from the mask, one loop per run of visible tiles.
#include "TileLoop.h"
#include "fa/Dialect/FA/Transforms/Passes.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace mlir::fa {
#define GEN_PASS_DEF_ELIMINATEMASKEDTILESPASS
#include "fa/Dialect/FA/Transforms/Passes.h.inc"
} // namespace mlir::fa

using namespace mlir;
using namespace mlir::fa;

namespace {
/// Rewrites one tile loop.
class Eliminator : TileLoopRewriter {
public:
  Eliminator(const TileLoop &tiles, const MaskAnalysis &analysis, bool useTest)
      : TileLoopRewriter(tiles), analysis(analysis), useTest(useTest && analysis.wantsTest()) {}

  void run() {
    bool everyTile = tiles.coversEveryTile();
    MaskAnalysis::Symbols symbols = analysis.materializeSymbols(builder, loc, tiles.context(builder));
    std::vector<std::vector<TileSegment<Value>>> runs = analysis.materializeRuns(builder, loc, symbols);
    for (auto [number, run] : llvm::enumerate(runs)) {
      Value lower = run.front().lower, upper = run.back().upper;
      if (!everyTile) { // the loop walked a part of the tiles: it keeps to it
        lower = arith::MaxSIOp::create(builder, loc, lower, tiles.loop.getLowerBound());
        upper = arith::MinSIOp::create(builder, loc, upper, tiles.loop.getUpperBound());
      }
      scf::ForOp loop = appendLoop();
      loop.setLowerBound(lower);
      loop.setUpperBound(upper);
      if (everyTile && !analysis.isFallback())
        loop->setAttr(runAttrName, builder.getI64IntegerAttr(number));
      if (useTest)
        guardBody(loop, symbols);
    }
    replaceLoop();
  }

private:
  const MaskAnalysis &analysis;
  bool useTest;

  /// Puts the body under the per-tile test; a skipped tile passes the state on.
  void guardBody(scf::ForOp loop, const MaskAnalysis::Symbols &symbols) {
    OpBuilder::InsertionGuard guard(builder);
    Block *body = loop.getBody();
    builder.setInsertionPointToStart(body);
    Operation *firstOfBody = &body->front();
    Value visible = analysis.materializeTest(builder, loc, symbols, loop.getInductionVar());
    auto yield = cast<scf::YieldOp>(body->getTerminator());
    bool carries = yield.getNumOperands() != 0;
    auto choice = scf::IfOp::create(builder, loc, loop.getResultTypes(), visible, carries);
    Block *then = choice.thenBlock();
    if (carries) {
      builder.setInsertionPointToEnd(choice.elseBlock());
      scf::YieldOp::create(builder, loc, loop.getRegionIterArgs());
    } else {
      then->getTerminator()->erase();
    }
    then->getOperations().splice(then->end(), body->getOperations(), firstOfBody->getIterator(), body->end());
    builder.setInsertionPointToEnd(body);
    scf::YieldOp::create(builder, loc, choice.getResults());
  }
};

struct EliminateMaskedTilesPass : fa::impl::EliminateMaskedTilesPassBase<EliminateMaskedTilesPass> {
  using EliminateMaskedTilesPassBase::EliminateMaskedTilesPassBase;

  void runOnOperation() override {
    for (TileLoop tiles : findTileLoops(getOperation())) {
      FailureOr<MaskAnalysis> analysis = tiles.analyze(prove ? std::optional(ProofScope::RemovedTiles) : std::nullopt);
      if (failed(analysis))
        return signalPassFailure();
      if (tiles.step.getMask().empty()) // nothing is hidden: nothing to eliminate
        continue;
      remarkBounds(tiles.step, *analysis);
      Eliminator(tiles, *analysis, tileTest).run();
    }
  }
};
} // namespace
