// Queries and outputs are transposed in registers; columns that fill no vector move element by element. Beside the
// shuffles goes what waits for a cache: requests for the rows of the next vector of queries.
#include "QueryTile.h"
#include "PartFunction.h"
#include "TileRows.h"
#include "Transpose.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace mlir::fa::cpu;

namespace {

/// Every query tile of the tensor has all its rows, on as many lanes.
bool hasWholeTiles(Value tensor, const KernelShape &shape) {
  auto type = cast<MemRefType>(tensor.getType());
  return !type.isDynamicDim(2) && type.getDimSize(2) % shape.tileQ == 0 && shape.tileQ == shape.numLanes();
}

/// One vector of queries: its rows in the tensor, and the rows of Q^T and O^T that hold it from `column` on.
struct QueryVector {
  Value firstLane, firstRow, queries, output, column;

  /// Vector `i` of a sub-tile.
  QueryVector(Emitter &e, const KernelShape &shape, const TileRows &tile, Value subTile, Value i) {
    column = e.mul(i, e.table.lanes);
    firstLane = e.add(e.mul(subTile, e.table.subTile()), column);
    firstRow = e.add(tile.row, firstLane);
    queries = e.mul(subTile, shape.depth);
    output = e.mul(subTile, shape.depthV);
  }
};

/// Packs columns [c, c + group) of `rowOf(0), rowOf(1), ...`.
void packColumns(Emitter &e, const Scratch &scratch, const TileRows &queries, llvm::function_ref<Value(int64_t)> rowOf,
                 Value c, Value scale, const QueryVector &to) {
  const int64_t lanes = e.table.lanes, group = groupOf(e);
  SmallVector<Value> block;
  for (int64_t k = 0; k < group; ++k) {
    SmallVector<Value> pieces;
    for (int64_t lane = k; lane < lanes; lane += group)
      pieces.push_back(loadPiece(e, queries, rowOf(lane), c, group));
    block.push_back(widen(e, emitJoin(e, pieces)));
  }
  emitGroupTranspose(e, block);
  for (int64_t d = 0; d < group; ++d)
    e.store(e.mulf(block[d], scale), scratch.queries, e.add(e.add(to.queries, c), d), to.column);
}

/// Iteration c of a vector of queries asks for its share of the next one.
void prefetchQueries(Emitter &e, const TileRows &queries, Value nextRow, Value c) {
  const int64_t group = groupOf(e), bits = cast<MemRefType>(queries.tensor.getType()).getElementTypeBitWidth();
  const int64_t iterations = 64 * 8 / bits / group, share = std::max<int64_t>(e.table.lanes / iterations, 1);
  Value iteration = arith::DivUIOp::create(e.builder, e.loc, c, e.index(group));
  Value part = arith::RemUIOp::create(e.builder, e.loc, iteration, e.index(iterations));
  prefetchRows(e, queries, e.add(nextRow, e.mul(part, share)), share, c, /*isWrite=*/false);
}

} // namespace

static void packQueries(Emitter &e, const Scratch &scratch, const KernelShape &shape, const TileRows &queries,
                        Value seqQ, Value subTile) {
  const int64_t lanes = e.table.lanes, vectors = e.table.queryVectors, group = groupOf(e);
  const int64_t columns = vectorColumns(queries.tensor, shape.depth, group);
  const bool whole = hasWholeTiles(queries.tensor, shape);
  Value zero = e.index(0), last = e.sub(seqQ, e.index(1));
  Value factor = memref::LoadOp::create(e.builder, e.loc, scratch.factor, zero), scale = e.broadcast(factor);
  // One iteration packs one vector of queries.
  e.loop(zero, e.index(vectors), 1, [&](Value i) {
    QueryVector to(e, shape, queries, subTile, i);
    auto rowOf = [&](Value lane) {
      Value row = e.add(to.firstRow, lane);
      return whole ? row : e.min(row, last);
    };
    if (columns > 0)
      e.loop(zero, e.index(columns), group, [&](Value counter) {
        Value c = e.opaque(counter);
        prefetchQueries(e, queries, e.add(to.firstRow, lanes), c);
        packColumns(e, scratch, queries, [&](int64_t lane) { return rowOf(e.index(lane)); }, c, scale, to);
      });
    if (columns < shape.depth)
      e.loop(e.index(columns), e.index(shape.depth), 1, [&](Value c) {
        e.loop(zero, e.index(lanes), 1, [&](Value lane) {
          Value element = e.mulf(loadElement(e, queries, rowOf(lane), c), factor);
          memref::StoreOp::create(e.builder, e.loc, element, scratch.queries,
                                  ValueRange{e.add(to.queries, c), e.add(to.column, lane)});
        });
      });
  });
}

func::FuncOp mlir::fa::cpu::emitPackFunction(OpBuilder &builder, Location loc, StringRef name, const KernelShape &shape,
                                             MemRefType query) {
  Type index = builder.getIndexType();
  SmallVector<Type> types{Scratch::arenaType(builder, shape), query, index, index, index, index};
  OpBuilder::InsertionGuard guard(builder);
  func::FuncOp function = beginPartFunction(builder, loc, name, types);
  Block *entry = &function.front();
  Emitter e(builder, loc, shape.type, shape.table);
  Scratch scratch(e, entry->getArgument(0), Value(), shape);
  Value tensor = entry->getArgument(1), seqQ = memref::DimOp::create(builder, loc, tensor, 2);
  TileRows queries{tensor, entry->getArgument(2), entry->getArgument(3), e.mul(entry->getArgument(4), shape.tileQ),
                   Value()};
  packQueries(e, scratch, shape, queries, seqQ, entry->getArgument(5));
  func::ReturnOp::create(builder, loc);
  return function;
}

void mlir::fa::cpu::emitClearOutput(Emitter &e, const Scratch &scratch, Value firstRow, int64_t rows) {
  e.loop(firstRow, e.add(firstRow, rows), 1, [&](Value row) {
    for (int64_t i = 0; i < e.table.queryVectors; ++i)
      e.store(e.splat(0.0), scratch.output, row, e.index(i * e.table.lanes));
  });
}

namespace {

/// LSE of one vector of queries; `valid` lanes of it exist.
void storeLse(Emitter &e, const Scratch &scratch, double exponentScale, Value lse, const TileRows &queries,
              Value firstLane, Value valid) {
  constexpr double ln2 = 0.693147180559945309417;
  Value log = math::Log2Op::create(e.builder, e.loc, e.load(scratch.sum, firstLane));
  // What P was computed with. A reference may be the largest number: no power of two holds it.
  Value shift = e.load(scratch.shift, firstLane), reference = e.load(scratch.reference, firstLane);
  Value none = e.compare(arith::CmpFPredicate::UNO, shift, shift);
  Value large = e.multiplyAdd(reference, e.splat(exponentScale * ln2), e.mulf(log, e.splat(ln2)));
  Value natural = e.select(none, large, e.mulf(e.subf(log, shift), e.splat(ln2)));
  // The reference is not needed any more: its place holds the results, so that a loop can store those that exist.
  e.store(natural, scratch.reference, firstLane);
  e.loop(e.index(0), valid, 1, [&](Value lane) {
    Value position = e.add(firstLane, lane);
    Value element = memref::LoadOp::create(e.builder, e.loc, scratch.reference, ValueRange{position});
    memref::StoreOp::create(e.builder, e.loc, element, lse,
                            ValueRange{queries.batch, queries.head, e.add(queries.row, position)});
  });
}

/// Columns [c, c + lanes) of `group` queries from `lane` on, divided by their sums. Only lanes before `valid` (may be
/// null: all) are stored.
void storeColumns(Emitter &e, const Scratch &scratch, const TileRows &output, const QueryVector &from, Value lane,
                  Value valid, Value c, Value inverse) {
  const int64_t lanes = e.table.lanes, group = groupOf(e);
  auto pieceType = VectorType::get({group}, e.type);
  SmallVector<Value> block;
  for (int64_t k = 0; k < group; ++k) {
    SmallVector<Value> pieces;
    for (int64_t d = k; d < lanes; d += group)
      pieces.push_back(vector::LoadOp::create(e.builder, e.loc, pieceType, scratch.output,
                                              ValueRange{e.add(e.add(from.output, c), d), e.add(from.column, lane)}));
    block.push_back(e.mulf(emitJoin(e, pieces), inverse));
  }
  emitGroupTranspose(e, block);
  Type element = cast<MemRefType>(output.tensor.getType()).getElementType();
  for (int64_t k = 0; k < group; ++k) {
    Value row = e.add(e.add(from.firstRow, lane), k);
    auto store = [&] {
      vector::StoreOp::create(e.builder, e.loc, narrow(e, block[k], element), output.tensor,
                              ValueRange{output.batch, output.head, row, c});
    };
    if (valid)
      e.when(e.compare(arith::CmpIPredicate::slt, e.add(lane, k), valid), store);
    else
      store();
  }
}

} // namespace

void mlir::fa::cpu::emitStoreOutput(Emitter &e, const Scratch &scratch, const KernelShape &shape,
                                    const TileRows &queries, Value lse) {
  const int64_t lanes = e.table.lanes, group = groupOf(e);
  Type element = cast<MemRefType>(queries.tensor.getType()).getElementType();
  const int64_t columns = vectorColumns(queries.tensor, shape.depthV, lanes);
  const bool whole = hasWholeTiles(queries.tensor, shape);
  Value zero = e.index(0), count = whole ? e.index(shape.tileQ) : queries.count;
  Value numVectors = e.ceilDiv(count, lanes);
  e.loop(zero, e.ceilDiv(count, e.table.subTile()), 1, [&](Value subTile) {
    e.when(e.negate(e.isSet(scratch.started, subTile)),
           [&] { emitClearOutput(e, scratch, e.mul(subTile, shape.depthV), shape.depthV); });
  });
  e.loop(zero, numVectors, 1, [&](Value n) {
    // The last vector first: its accumulators were written last.
    Value v = e.sub(e.sub(numVectors, e.index(1)), n);
    Value vectors = e.index(e.table.queryVectors);
    QueryVector from(e, shape, queries, arith::DivUIOp::create(e.builder, e.loc, v, vectors),
                     arith::RemUIOp::create(e.builder, e.loc, v, vectors));
    Value valid = e.min(e.sub(count, from.firstLane), e.index(lanes));
    if (lse)
      storeLse(e, scratch, shape.exponentScale, lse, queries, from.firstLane, valid);
    Value sum = e.load(scratch.sum, from.firstLane);
    Value empty = arith::CmpFOp::create(e.builder, e.loc, arith::CmpFPredicate::OEQ, sum, e.splat(0.0));
    Value inverse = arith::DivFOp::create(e.builder, e.loc, e.splat(1.0), e.select(empty, e.splat(1.0), sum));
    if (columns > 0) {
      e.store(inverse, scratch.inverse, zero);
      Value nextRow = e.add(queries.row, e.max(e.sub(from.firstLane, e.index(lanes)), zero));
      e.loop(zero, e.index(lanes), group, [&](Value lane) {
        Value inverses = emitRepeated(e, scratch.inverse, lane);
        e.loop(zero, e.index(columns), lanes, [&](Value counter) {
          Value c = e.opaque(counter);
          prefetchRows(e, queries, e.add(nextRow, lane), group, c, /*isWrite=*/true);
          storeColumns(e, scratch, queries, from, lane, whole ? Value() : valid, c, inverses);
        });
      });
    }
    if (columns < shape.depthV)
      e.loop(e.index(columns), e.index(shape.depthV), 1, [&](Value c) {
        Value row = e.add(from.output, c);
        e.store(e.mulf(e.load(scratch.output, row, from.column), inverse), scratch.output, row, from.column);
        e.loop(zero, valid, 1, [&](Value lane) {
          Value value =
              memref::LoadOp::create(e.builder, e.loc, scratch.output, ValueRange{row, e.add(from.column, lane)});
          memref::StoreOp::create(e.builder, e.loc, narrow(e, value, element), queries.tensor,
                                  ValueRange{queries.batch, queries.head, e.add(from.firstRow, lane), c});
        });
      });
  });
}
