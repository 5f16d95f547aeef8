// fa-peel-masked-tiles: tile loops cut into loops of full tiles, without any masking, and loops of partial ones.
#include "TileLoop.h"
#include "fa/Dialect/FA/Transforms/Passes.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace mlir::fa {
#define GEN_PASS_DEF_PEELMASKEDTILESPASS
#include "fa/Dialect/FA/Transforms/Passes.h.inc"
} // namespace mlir::fa

using namespace mlir;
using namespace mlir::fa;
using Segment = TileSegment<Value>;

namespace {
/// Rewrites one tile loop.
class Peeler : TileLoopRewriter {
public:
  Peeler(const TileLoop &tiles, const MaskAnalysis &analysis, bool descending)
      : TileLoopRewriter(tiles), analysis(analysis), descending(descending) {}

  void run() {
    std::vector<Segment> segments = materializeSegments();
    if (descending)
      std::reverse(segments.begin(), segments.end());
    for (const Segment &segment : segments)
      emitLoop(segment);
    replaceLoop();
  }

private:
  const MaskAnalysis &analysis;
  bool descending;

  std::vector<Segment> materializeSegments() {
    MaskAnalysis::Symbols symbols = analysis.materializeSymbols(builder, loc, tiles.context(builder));
    auto number = tiles.loop->getAttrOfType<IntegerAttr>(runAttrName);
    // A loop over every tile of a step without a mask is the only run there is.
    int64_t run = number ? number.getInt() : tiles.step.getMask().empty() && tiles.coversEveryTile() ? 0 : -1;
    if (run >= 0 && run < int64_t(analysis.getBounds().runs.size()))
      return analysis.materializeRuns(builder, loc, symbols)[run];
    return cutAtFullRanges(symbols);
  }

  /// Of a loop whose bounds are not those of a run: clamped at both ends.
  std::vector<Segment> cutAtFullRanges(const MaskAnalysis::Symbols &symbols) {
    Value begin = tiles.loop.getLowerBound(), upper = tiles.loop.getUpperBound();
    if (symbols.inRange)
      return {{TileKind::Partial, begin, upper}};
    std::vector<Segment> segments;
    auto cut = [&](TileKind kind, const TileBound &bound) {
      Value end = bound.materialize(builder, loc, symbols.values);
      end = arith::MaxSIOp::create(builder, loc, end, begin);
      end = arith::MinSIOp::create(builder, loc, end, upper);
      segments.push_back({kind, begin, end});
      begin = end;
    };
    for (const auto &[first, end] : analysis.getBounds().fullRanges) {
      if (first.constant() != 0)
        cut(TileKind::Partial, first);
      cut(TileKind::Full, end);
    }
    segments.push_back({TileKind::Partial, begin, upper});
    return segments;
  }

  void emitLoop(const Segment &segment) {
    scf::ForOp loop = appendLoop();
    loop->removeAttr(runAttrName);
    if (descending)
      walkDown(loop, segment);
    else {
      loop.setLowerBound(segment.lower);
      loop.setUpperBound(segment.upper);
    }
    StepOp step;
    loop.walk([&](StepOp inner) { step = inner; });
    if (segment.kind == TileKind::Full) {
      step.getMask().getBlocks().clear();
      step.setFull(true);
    }
  }

  /// From the diagonal down: iv = 0 .. upper - lower, tile = upper - 1 - iv.
  void walkDown(scf::ForOp loop, const Segment &segment) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(loop);
    Value zero = arith::ConstantIndexOp::create(builder, loc, 0), one = arith::ConstantIndexOp::create(builder, loc, 1);
    Value count = isConstantIntValue(segment.lower, 0)
                      ? segment.upper
                      : builder.createOrFold<arith::SubIOp>(loc, segment.upper, segment.lower);
    Value last = builder.createOrFold<arith::SubIOp>(loc, segment.upper, one);
    loop.setLowerBound(zero);
    loop.setUpperBound(count);
    builder.setInsertionPointToStart(loop.getBody());
    Value iv = loop.getInductionVar();
    auto tile = arith::SubIOp::create(builder, loc, last, iv);
    iv.replaceAllUsesExcept(tile, tile);
  }
};

struct PeelMaskedTilesPass : fa::impl::PeelMaskedTilesPassBase<PeelMaskedTilesPass> {
  using PeelMaskedTilesPassBase::PeelMaskedTilesPassBase;

  void runOnOperation() override {
    if (order != "descending" && order != "ascending") {
      emitError(getOperation()->getLoc()) << "expected order to be descending or ascending, but got " << order;
      return signalPassFailure();
    }
    for (TileLoop tiles : findTileLoops(getOperation())) {
      if (tiles.step.getFull())
        continue;
      FailureOr<MaskAnalysis> analysis = tiles.analyze(prove ? std::optional(ProofScope::FullTiles) : std::nullopt);
      if (failed(analysis))
        return signalPassFailure();
      if (tiles.keyOuter && !wholeKeyTiles(tiles))
        tiles.step.emitRemark()
            << "not peeled: the last key tile reaches past the keys, and key tiles are the outer loop";
      else
        Peeler(tiles, *analysis, order == "descending").run();
    }
  }

  /// A full step reads a whole key tile; with key tiles outside, the last one must then be whole for all queries.
  static bool wholeKeyTiles(TileLoop &tiles) {
    std::optional<int64_t> sk = tiles.lengths().sk;
    return sk && *sk % int64_t(tiles.step.getTileKv()) == 0;
  }
};
} // namespace
