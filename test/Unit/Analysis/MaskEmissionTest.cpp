// Emitted bounds compute what the bounds evaluate to; tile maps draw and judge what loops visit.
#include "BruteForce.h"
#include "fa/Analysis/ScalarEvaluator.h"
#include "fa/Analysis/TileMap.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "gtest/gtest.h"

using namespace fa::test;
using namespace mlir::fa;

TEST(MaskEmission, EmittedBoundsAreTheEvaluatedOnes) {
  mlir::MLIRContext context;
  context.loadDialect<mlir::affine::AffineDialect, mlir::arith::ArithDialect, mlir::func::FuncDialect>();
  for (const TestMask &mask : testMasks(&context)) {
    TileProblem problem = makeProblem(&context, mask, 8, 4);
    MaskBounds bounds = computeMaskBounds(problem);
    TileTest test = computeTileTest(problem);
    mlir::OpBuilder builder(&context);
    mlir::Location loc = builder.getUnknownLoc();
    mlir::OwningOpRef<mlir::ModuleOp> module(mlir::ModuleOp::create(loc));
    builder.setInsertionPointToEnd(module->getBody());
    unsigned numSymbols = kFirstTileOperand + mask.numOperands();
    llvm::SmallVector<mlir::Type> types(numSymbols + 1, builder.getIndexType()); // the last one: a key tile
    auto function = mlir::func::FuncOp::create(builder, loc, "bounds", builder.getFunctionType(types, {}));
    mlir::Block *entry = function.addEntryBlock();
    builder.setInsertionPointToStart(entry);
    auto segments = bounds.materialize(builder, loc, entry->getArguments().take_front(numSymbols));
    mlir::Value visible = test.materializeVisible(builder, loc, entry->getArguments());
    ScalarEvaluator evaluator;
    for (int64_t sq : {0, 5, 13, 24})
      for (int64_t sk : {0, 3, 10, 24})
        for (const std::vector<int64_t> &operands : mask.operands)
          for (int64_t tile = 0; tile * 8 < sq; ++tile) {
            llvm::SmallVector<int64_t> symbols = {tile, std::min(tile * 8 + 8, sq) - 1, sq, sk};
            symbols.append(operands.begin(), operands.end());
            symbols.push_back(sk / 8);
            for (auto [argument, value] : llvm::zip_equal(entry->getArguments(), symbols))
              evaluator.bind(argument, value);
            auto expected = bounds.evaluate(llvm::ArrayRef(symbols).drop_back());
            ASSERT_EQ(segments.size(), expected.size());
            for (auto [emitted, value] : llvm::zip_equal(segments, expected)) {
              EXPECT_EQ(emitted.kind, value.kind) << mask.name;
              EXPECT_EQ(*evaluator.evaluateInteger(emitted.lower), value.lower) << mask.name;
              EXPECT_EQ(*evaluator.evaluateInteger(emitted.upper), value.upper) << mask.name;
            }
            EXPECT_EQ(*evaluator.evaluateInteger(visible) != 0, test.evaluate(symbols, 4).has_value()) << mask.name;
          }
  }
}

namespace {
/// Causal, 10 queries and 10 keys, tiles of 4 x 4.
TileMap causalMap() {
  TileMap map(TileGrid{1, 1, 10, 10, 4, 4});
  for (int64_t row = 0; row < 3; ++row)
    for (int64_t column = 0; column <= row; ++column)
      map.set(row, column, column < row ? TileUse::Full : TileUse::Partial);
  return map;
}
bool causal(int64_t, int64_t, int64_t i, int64_t j) { return j <= i; }
} // namespace

TEST(TileMap, DrawsAndCounts) {
  TileMap map = causalMap();
  EXPECT_EQ(map.toText(), "+..\n#+.\n##+\n# full, + partial, . skipped; a character is a tile of 4 queries x 4 keys\n");
  EXPECT_EQ(map.count().describe(), "6 of 9 tiles visited, 3 of them masked, 33.3 % of the work saved");
  EXPECT_EQ(map.toText(2).substr(0, 6), "+.\n#+\n"); // two by two tiles to a character
  std::string svg = map.toSvg("a < b & c");
  EXPECT_NE(svg.find("a &lt; b &amp; c"), std::string::npos);
  EXPECT_NE(svg.find("6 of 9 tiles visited"), std::string::npos);
  EXPECT_EQ(svg.substr(svg.size() - 7), "</svg>\n");
  // No queries, no keys: an empty grid is drawn all the same.
  EXPECT_NE(TileMap(TileGrid{1, 1, 0, 0, 4, 4}).toSvg("empty").find("0 of 0 tiles"), std::string::npos);
}

TEST(TileMap, ValidationNamesTileAndPair) {
  TileCounts counts;
  EXPECT_EQ(validateTiles({causalMap()}, causal, counts), std::nullopt);
  EXPECT_EQ(counts.empty, 0);
  TileMap removed = causalMap(), unmasked = causalMap(), wasted = causalMap(), past = causalMap();
  removed.set(1, 0, TileUse::Skipped);
  EXPECT_EQ(validateTiles({removed}, causal, counts),
            "query tile 1, key tile 0 of batch 0, head 0 was removed, but query 4 sees key 0");
  unmasked.set(1, 1, TileUse::Full);
  EXPECT_EQ(validateTiles({unmasked}, causal, counts),
            "query tile 1, key tile 1 of batch 0, head 0 runs without a mask, but query 4 must not see key 5");
  past.set(2, 2, TileUse::Full);
  EXPECT_EQ(validateTiles({past}, causal, counts),
            "query tile 2, key tile 2 of batch 0, head 0 runs without a mask, but reaches past the 10 keys");
  wasted.set(0, 2, TileUse::Partial);
  TileCounts withEmpty;
  EXPECT_EQ(validateTiles({wasted}, causal, withEmpty), std::nullopt);
  EXPECT_EQ(withEmpty.empty, 1);
}
