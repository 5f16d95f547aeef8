// One register block of scores: dot products, exponentials, row sums.
#include "Exp2.h"
#include "MicroKernel.h"
#include "StepBuilder.h"
#include "TileMemory.h"

using namespace mlir;
using namespace mlir::fa::cpu;

SmallVector<Value> StepBuilder::emitDotProducts(const ScoreBlock &block) {
  const int64_t rows = e.table.keys, width = e.table.subTile();
  Value queryRows = e.mul(block.subTile, shape.depth);
  MicroKernel product;
  product.rows = rows;
  product.vectors = block.vectors;
  product.remainder = shape.depth % e.table.unroll != 0;
  product.scalar = {e.flat(keys), e.mul(block.key, shape.depth), 1, shape.depth};
  product.vector = {e.flat(scratch.queries), e.add(e.mul(queryRows, width), block.lane), width, e.table.lanes};
  const SmallVector<Value> nextRows = rowsOfNextTile(block);
  product.beside = [&](Value t) { prefetchBeside(nextRows, block.key, t); };
  SmallVector<Value> zeros(rows * block.vectors, e.splat(0.0));
  return product.emit(e, e.index(0), e.index(shape.depth), zeros);
}

/// Rows of the key tile below this one, which comes next, for the products of a block to ask for: a quarter of those
/// that lie where the block lies, another one for each of four sub-tiles. Under a mask most keys are new to the caches,
/// and the first sub-tile would wait for all of them.
SmallVector<Value> StepBuilder::rowsOfNextTile(const ScoreBlock &block) {
  constexpr int64_t parts = 4;
  const int64_t rows = e.table.keys / parts;
  SmallVector<Value> views;
  if (!mask || rows == 0 || !operands.copies) // edges: another function
    return views;
  Value part = arith::RemUIOp::create(e.builder, e.loc, block.subTile, e.index(parts));
  Value first = e.add(e.add(e.sub(firstKey, e.index(shape.tileKv)), block.key), e.mul(part, rows));
  for (Value tensor : {operands.key, operands.value})
    for (int64_t r = 0; r < rows; ++r)
      views.push_back(emitTileInPlace(e, {tensor, operands.keyBatch, operands.keyHead, e.add(first, r), e.index(1)},
                                      cast<MemRefType>(tensor.getType()).getDimSize(3)));
  return views;
}

/// Iteration t of the products of a block of keys asks for its share of the next block and of the values of this one,
/// where tensors are read in place, and of rows of the next tile. Requests in bursts would hold the line buffers that
/// other misses need.
void StepBuilder::prefetchBeside(ArrayRef<Value> nextRows, Value key, Value t) {
  constexpr int firstLevel = 3, secondLevel = 2; // of caches
  const int64_t rows = e.table.keys, lineElements = 64 * 8 / e.type.getIntOrFloatBitWidth();
  auto ask = [&](Value tensor, Value tile, Value row, int64_t depth, int locality) {
    if (classifyTile(cast<MemRefType>(tensor.getType()), e.type, rows) == TileAccess::Copy)
      return;
    const int64_t share = std::max<int64_t>(rows * depth / shape.depth, 1);
    Value first = e.add(e.mul(row, depth), e.mul(t, share));
    for (int64_t n = 0; n < share * e.table.unroll; n += lineElements)
      memref::PrefetchOp::create(e.builder, e.loc, e.flat(tile), ValueRange{e.add(first, n)}, /*isWrite=*/false,
                                 locality, /*isDataCache=*/true);
  };
  ask(operands.key, keys, e.add(key, rows), shape.depth, firstLevel);
  ask(operands.value, values, key, shape.depthV, secondLevel);
  for (Value row : nextRows)
    memref::PrefetchOp::create(e.builder, e.loc, e.flat(row), ValueRange{t}, /*isWrite=*/false, secondLevel,
                               /*isDataCache=*/true);
}

Value StepBuilder::laneOf(const ScoreBlock &block, int64_t i) { return e.add(block.lane, i * e.table.lanes); }

/// Lane of the query tile.
Value StepBuilder::positionOf(const ScoreBlock &block, int64_t i) {
  return e.add(e.mul(block.subTile, e.table.subTile()), laneOf(block, i));
}

void StepBuilder::storeScores(ArrayRef<Value> rows, const ScoreBlock &block) {
  for (auto [n, row] : llvm::enumerate(rows))
    e.store(row, scratch.scores, block.key, int64_t(n) / block.vectors, block.lane,
            int64_t(n) % block.vectors * e.table.lanes);
}

SmallVector<Value> StepBuilder::loadScores(const ScoreBlock &block) {
  SmallVector<Value> rows;
  for (int64_t r = 0; r < e.table.keys; ++r)
    for (int64_t i = 0; i < block.vectors; ++i)
      rows.push_back(e.load(scratch.scores, block.key, r, block.lane, i * e.table.lanes));
  return rows;
}

/// Stores P; returns the sums with it. The weight of a hidden pair is -0: that of a visible pair may underflow to 0,
/// and is told apart.
SmallVector<Value> StepBuilder::emitExponentials(ArrayRef<Value> scores, const ScoreBlock &block, Value shifted,
                                                 ValueRange sums) {
  auto shift = [&] {
    SmallVector<Value> exponents(scores);
    for (int64_t i = 0; i < block.vectors; ++i) {
      Value offset = e.load(scratch.shift, positionOf(block, i));
      for (int64_t r = 0; r < e.table.keys; ++r)
        exponents[r * block.vectors + i] = emitShifted(e, shape, exponents[r * block.vectors + i], offset);
    }
    return exponents;
  };
  SmallVector<Value> exponents =
      shape.scoresAreExponents ? e.choose(shifted, shift, [&] { return SmallVector<Value>(scores); }) : shift();
  SmallVector<Value> added(sums);
  for (int64_t i = 0; i < block.vectors; ++i)
    for (int64_t r = 0; r < e.table.keys; ++r) {
      Value x = exponents[r * block.vectors + i], p = emitExp2(e, x);
      if (block.mayHide)
        p = emitHiddenWeight(e, x, p);
      added[i] = e.addf(added[i], p);
      e.store(p, scratch.scores, block.key, r, block.lane, i * e.table.lanes);
    }
  return added;
}
