// The consumers: scores, softmax and the product with the values, one tile after another or overlapped.
#include "KernelBuilder.h"
#include "fa/Dialect/FA/IR/ScalarRegion.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fa::hopper;

constexpr double infinity = std::numeric_limits<double>::infinity();

Value KernelBuilder::zeroFragment(VectorType type, double value) {
  return arith::ConstantOp::create(b, DenseElementsAttr::get(type, b.getF32FloatAttr(value)));
}

KernelBuilder::State KernelBuilder::emptyState() {
  auto rows = VectorType::get({2}, b.getF32Type());
  return {zeroFragment(plan.outputFragment()), {zeroFragment(rows, -infinity), zeroFragment(rows)}, {}, {}};
}

Value KernelBuilder::rescale(Value output, Value factor) {
  return arith::MulFOp::create(b, output, RowBroadcastOp::create(b, output.getType(), factor));
}

static Value addIndex(ImplicitLocOpBuilder &b, Value x, Value y) {
  if (matchPattern(x, m_Zero()))
    return y;
  return matchPattern(y, m_Zero()) ? x : arith::AddIOp::create(b, x, y).getResult();
}

//===- one tile ------------------------------------------------------------------===//

Value KernelBuilder::startScores(Value key) {
  return GemmSSOp::create(b, pendingOf(plan.scoreFragment()), query, tileRow, key, Value{}, /*transposeA=*/false,
                          /*transposeB=*/true, softmax->negatesQuery());
}

/// Waits for the scores, gives the key slot back, applies scale, score function and mask.
Value KernelBuilder::finishScores(Block &block, StepOp step, IRMapping &mapping, Value pending, Value use,
                                  int64_t stillPending, bool checkBounds) {
  Value scores =
      WaitGemmsOp::create(b, TypeRange{plan.scoreFragment()}, stillPending, pending, ValueRange{}).getResult(0);
  ReleaseOp::create(b, keyRing, use);
  return applyRegions(block, step, mapping, scores, checkBounds);
}

static bool readsMemory(Region &region) {
  return region.walk([](memref::LoadOp) { return WalkResult::interrupt(); }).wasInterrupted();
}

Value KernelBuilder::applyRegions(Block &block, StepOp step, IRMapping &mapping, Value scores, bool checkBounds) {
  if (softmax->needsScaledScores())
    scores = softmax->scaleScores(b, scores);
  bool hasMask = !step.getFull() && !step.getMask().empty();
  checkBounds &= !step.getFull();
  if (step.getScore().empty() && !hasMask && !checkBounds)
    return scores;
  auto indices = VectorType::get(plan.scoreFragment().getShape(), b.getIndexType());
  Value first = arith::MulIOp::create(b, mapping.lookupOrDefault(step.getKeyTile()), constant(plan.tileKv()));
  Value keys = FragmentColumnsOp::create(b, indices, first);
  Value last = arith::SubIOp::create(b, keyLength, constant(1));
  // A region may load at (i, j): never past the end.
  bool reads = readsMemory(step.getScore()) || (hasMask && readsMemory(step.getMask()));
  Value j = checkBounds && reads
                ? arith::MinSIOp::create(b, keys, vector::BroadcastOp::create(b, indices, last)).getResult()
                : keys;
  Value i = RowBroadcastOp::create(b, indices, clampedRows);
  auto gather = [](OpBuilder &builder, Location loc, Value memref, ValueRange position, VectorType type) -> Value {
    return GatherOp::create(builder, loc, type, memref, position);
  };
  // The regions' captures are values of the fa kernel: clone them with the step, then read them off the clone.
  IRMapping scratch = mapping;
  auto clone = cast<StepOp>(b.clone(*step.getOperation(), scratch));
  Value result = scores;
  if (!clone.getScore().empty()) {
    FailureOr<Value> scored = cloneScalarRegion(b, clone.getScore(), {scores, block.batch, block.head, i, j}, gather);
    result = succeeded(scored) ? *scored : Value{};
  }
  Value keep;
  if (result && hasMask) {
    FailureOr<Value> mask = cloneScalarRegion(b, clone.getMask(), {block.batch, block.head, i, j}, gather);
    keep = succeeded(mask) ? *mask : Value{};
    result = keep ? result : Value{};
  }
  clone.erase();
  if (!result)
    return {};
  if (checkBounds) {
    Value exists =
        arith::CmpIOp::create(b, arith::CmpIPredicate::sle, keys, vector::BroadcastOp::create(b, indices, last));
    keep = keep ? arith::AndIOp::create(b, keep, exists).getResult() : exists;
  }
  if (!keep)
    return result;
  Value hidden = zeroFragment(plan.scoreFragment(), -infinity);
  return arith::SelectOp::create(b, keep, result, hidden);
}

/// Scores, softmax, product with the values; nothing is in flight between tiles.
KernelBuilder::State KernelBuilder::emitSerialTile(Block &block, Value use, StepOp step, IRMapping &mapping,
                                                   State state) {
  Value key = WaitOp::create(b, TypeRange{plan.keyTile()}, keyRing, use).getTiles()[0];
  Value pending = startScores(key);
  Value scores = finishScores(block, step, mapping, pending, use, 0, /*checkBounds=*/true);
  if (!scores)
    return {};
  TileSoftmax tile = softmax->tile(b, scores, state.rows, plan.isMainLoop(step));
  Value packed = PackOp::create(b, packedScores(), tile.probabilities, plan.elementType());
  Value output = rescale(state.output, tile.factor);
  Value value = WaitOp::create(b, TypeRange{plan.valueTile()}, valueRing, use).getTiles()[0];
  Value product = GemmRSOp::create(b, pendingOf(plan.outputFragment()), packed, value, output, false, false);
  output = WaitGemmsOp::create(b, TypeRange{plan.outputFragment()}, 0, product, ValueRange{}).getResult(0);
  ReleaseOp::create(b, valueRing, use);
  return {output, tile.state, {}, {}};
}

/// Starts the scores of this tile and the product of the one before; the softmax of this tile runs under the latter.
/// With two buffers of probabilities they are rounded under it as well; else only after it, since the old ones are its
/// operand (ptxas C7513).
KernelBuilder::State KernelBuilder::emitOverlappedTile(Block &block, Value use, StepOp step, IRMapping &mapping,
                                                       State state, bool twoBuffers) {
  Value previous = arith::SubIOp::create(b, use, constant(1));
  Value key = WaitOp::create(b, TypeRange{plan.keyTile()}, keyRing, use).getTiles()[0];
  Value pending = startScores(key);
  Value value = WaitOp::create(b, TypeRange{plan.valueTile()}, valueRing, previous).getTiles()[0];
  Value product =
      GemmRSOp::create(b, pendingOf(plan.outputFragment()), state.packed, value, state.output, false, false);
  Value scores = finishScores(block, step, mapping, pending, use, 1, /*checkBounds=*/!plan.descends);
  if (!scores)
    return {};
  TileSoftmax tile = softmax->tile(b, scores, state.rows, plan.isMainLoop(step));
  auto pack = [&] { return PackOp::create(b, packedScores(), tile.probabilities, plan.elementType()).getResult(); };
  Value packed = twoBuffers ? pack() : Value{};
  if (plan.target.getSchedulingFence())
    ScheduleFenceOp::create(b, tile.state.sum);
  ValueRange keeping = twoBuffers ? ValueRange(state.packed) : ValueRange();
  Value output = WaitGemmsOp::create(b, TypeRange{plan.outputFragment()}, 0, product, keeping).getResult(0);
  ReleaseOp::create(b, valueRing, previous);
  if (!packed)
    packed = pack();
  return {rescale(output, tile.factor), tile.state, packed, {}};
}

//===- loops -----------------------------------------------------------------------===//

KernelBuilder::State KernelBuilder::emitSerialLoops(Block &block) {
  State state = emptyState();
  state.uses = block.firstUse;
  auto pack = [](State s) { return SmallVector<Value>{s.output, s.rows.max, s.rows.sum, s.uses}; };
  auto unpack = [](ValueRange v) { return State{v[0], {v[1], v[2]}, {}, v[3]}; };
  for (auto [segment, upper] : llvm::zip_equal(plan.segments, block.uppers)) {
    auto loop = scf::ForOp::create(b, lowerBound(block, segment), upper, stepOf(block, segment), pack(state));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    IRMapping mapping = bodyScalars(block, segment, loop.getInductionVar());
    State current = unpack(loop.getRegionIterArgs());
    auto tile = [&]() -> bool {
      State next = emitSerialTile(block, current.uses, segment.step, mapping, current);
      if (!next.output)
        return false;
      next.uses = arith::AddIOp::create(b, current.uses, constant(1));
      scf::YieldOp::create(b, pack(next));
      return true;
    };
    if (segment.test) {
      auto test =
          scf::IfOp::create(b, TypeRange(ValueRange(pack(current))), mapping.lookup(segment.test.getCondition()), true);
      OpBuilder::InsertionGuard inner(b);
      b.setInsertionPointToStart(test.thenBlock());
      cloneScalars(*segment.test.thenBlock(), mapping);
      if (!tile())
        return {};
      b.setInsertionPointToStart(test.elseBlock());
      scf::YieldOp::create(b, pack(current));
      b.setInsertionPointAfter(test);
      scf::YieldOp::create(b, test.getResults());
    } else if (!tile()) {
      return {};
    }
    state = unpack(loop.getResults());
  }
  return state;
}

/// The first tile that the block visits, whichever segment it belongs to, under the checks of all of them. Returns in
/// `firstSegment` the number of that segment.
KernelBuilder::State KernelBuilder::emitFirstTile(Block &block, Value &firstSegment) {
  Value keyTile;
  for (size_t i = plan.segments.size(); i-- > 0;) {
    Segment &segment = plan.segments[i];
    IRMapping mapping = bodyScalars(block, segment, {});
    Value ofSegment = mapping.lookupOrDefault(segment.step.getKeyTile());
    if (!keyTile) {
      keyTile = ofSegment;
      firstSegment = constant(i);
      continue;
    }
    // Nonempty if the next one starts later.
    Value isNonempty = arith::CmpIOp::create(b, arith::CmpIPredicate::sgt, block.starts[i + 1], block.starts[i]);
    keyTile = arith::SelectOp::create(b, isNonempty, ofSegment, keyTile);
    firstSegment = arith::SelectOp::create(b, isNonempty, constant(i), firstSegment);
  }
  IRMapping mapping = block.mapping;
  for (Segment &segment : plan.segments)
    if (segment.step == plan.masked)
      mapping = bodyScalars(block, segment, {});
  mapping.map(plan.masked.getKeyTile(), keyTile);
  Value key = WaitOp::create(b, TypeRange{plan.keyTile()}, keyRing, block.firstUse).getTiles()[0];
  Value scores = finishScores(block, plan.masked, mapping, startScores(key), block.firstUse, 0,
                              /*checkBounds=*/true);
  if (!scores)
    return {};
  TileSoftmax tile = softmax->tile(b, scores, {}, /*isMainLoop=*/false);
  Value packed = PackOp::create(b, packedScores(), tile.probabilities, plan.elementType());
  return {zeroFragment(plan.outputFragment()), tile.state, packed, {}};
}

static SmallVector<Value> carried(Value output, RowState rows, Value packed) {
  return {output, rows.max, rows.sum, packed};
}

/// The tiles of a segment after the block's first one: one in each iteration, or two and perhaps one more after the
/// loop.
KernelBuilder::State KernelBuilder::emitOverlappedLoop(Block &block, size_t number, Value firstSegment, State state) {
  Segment &segment = plan.segments[number];
  auto pack = [](State s) { return carried(s.output, s.rows, s.packed); };
  auto unpack = [](ValueRange v) { return State{v[0], {v[1], v[2]}, v[3], {}}; };
  Value lower = lowerBound(block, segment), upper = block.uppers[number], step = stepOf(block, segment);
  Value isFirst = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, firstSegment, constant(number));
  Value start = arith::SelectOp::create(b, isFirst, addIndex(b, lower, step), lower);
  bool twoBuffers = plan.unrolls(segment);
  auto tile = [&](Value iv, State current, bool inPair) -> State {
    IRMapping mapping = bodyScalars(block, segment, iv);
    Value count = matchPattern(lower, m_Zero()) ? iv : arith::SubIOp::create(b, iv, lower).getResult();
    if (!matchPattern(step, m_One()))
      count = arith::DivUIOp::create(b, count, step);
    Value use = addIndex(b, addIndex(b, block.firstUse, block.starts[number]), count);
    return emitOverlappedTile(block, use, segment.step, mapping, current, inPair);
  };
  Value end = upper, stride = step, left;
  if (twoBuffers) {
    left = arith::MaxSIOp::create(b, arith::SubIOp::create(b, upper, start), constant(0));
    if (!matchPattern(step, m_One()))
      left = arith::CeilDivSIOp::create(b, left, step);
    Value even = arith::AndIOp::create(b, left, constant(-2));
    end = arith::AddIOp::create(b, start, arith::MulIOp::create(b, even, step));
    stride = arith::AddIOp::create(b, step, step);
  }
  auto loop = scf::ForOp::create(b, start, end, stride, pack(state));
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    State next = tile(loop.getInductionVar(), unpack(loop.getRegionIterArgs()), twoBuffers);
    if (twoBuffers && next.output)
      next = tile(arith::AddIOp::create(b, loop.getInductionVar(), step), next, twoBuffers);
    if (!next.output)
      return {};
    scf::YieldOp::create(b, pack(next));
  }
  if (!twoBuffers)
    return unpack(loop.getResults());
  Value isOdd =
      arith::CmpIOp::create(b, arith::CmpIPredicate::ne, arith::AndIOp::create(b, left, constant(1)), constant(0));
  auto last = scf::IfOp::create(b, loop.getResultTypes(), isOdd, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(last.elseBlock());
  scf::YieldOp::create(b, loop.getResults());
  b.setInsertionPointToStart(last.thenBlock());
  // Its probabilities go where the pairs' are, so not before the wait.
  State next = tile(end, unpack(loop.getResults()), /*inPair=*/false);
  if (!next.output)
    return {};
  scf::YieldOp::create(b, pack(next));
  return unpack(last.getResults());
}

KernelBuilder::Rows KernelBuilder::emitOverlappedLoops(Block &block) {
  Value isSome = arith::CmpIOp::create(b, arith::CmpIPredicate::sgt, block.total, constant(0));
  Type packedType = packedOutput(), rowsType = VectorType::get({2}, b.getF32Type());
  auto some = scf::IfOp::create(b, TypeRange{packedType, rowsType}, isSome, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(some.elseBlock());
  Value zeros = arith::ConstantOp::create(b, b.getZeroAttr(packedType));
  scf::YieldOp::create(b, ValueRange{zeros, zeroFragment(cast<VectorType>(rowsType), -infinity)});
  b.setInsertionPointToStart(some.thenBlock());
  Value firstSegment;
  State state = emitFirstTile(block, firstSegment);
  if (!state.output)
    return {};
  for (size_t i = 0; i < plan.segments.size(); ++i) {
    state = emitOverlappedLoop(block, i, firstSegment, state);
    if (!state.output)
      return {};
  }
  // The product of the last tile.
  Value last = addIndex(b, block.firstUse, arith::SubIOp::create(b, block.total, constant(1)));
  Value value = WaitOp::create(b, TypeRange{plan.valueTile()}, valueRing, last).getTiles()[0];
  Value product =
      GemmRSOp::create(b, pendingOf(plan.outputFragment()), state.packed, value, state.output, false, false);
  Value output = WaitGemmsOp::create(b, TypeRange{plan.outputFragment()}, 0, product, ValueRange{}).getResult(0);
  if (plan.target.getPersistent())
    ReleaseOp::create(b, valueRing, last);
  Rows rows = finishRows(output, state.rows);
  scf::YieldOp::create(b, ValueRange{rows.packed, rows.lse});
  return {some.getResult(0), some.getResult(1)};
}

//===- consumer ----------------------------------------------------------------------===//

void KernelBuilder::emitConsumerConstants(Block &block) {
  auto pair = VectorType::get({2}, b.getIndexType());
  tileRow = arith::MulIOp::create(b, warpgroup, constant(fragmentRows));
  Value firstRow = arith::AddIOp::create(b, block.queryRow, tileRow);
  queryRows = FragmentRowsOp::create(b, pair, firstRow);
  Value last = arith::SubIOp::create(b, queryLength, constant(1));
  clampedRows = arith::MinSIOp::create(b, queryRows, vector::BroadcastOp::create(b, pair, last));
  Value scale = dynamicScale ? block.mapping.lookupOrDefault(dynamicScale) : Value{};
  softmax.emplace(b, plan, scale);
}

/// Divides by the row sums and rounds to the output's type.
KernelBuilder::Rows KernelBuilder::finishRows(Value output, RowState state) {
  auto [inverse, lseRows] = softmax->finish(b, state);
  return {PackOp::create(b, packedOutput(), rescale(output, inverse), plan.elementType()), lseRows};
}

void KernelBuilder::emitEpilogue(Block &block, Rows rows) {
  if (lse)
    StoreRowsOp::create(b, rows.lse, lse, block.batch, block.head, queryRows, queryLength);
  // Nothing reads the warpgroup's own 64 query rows any more: they stage its output.
  Value tile = query;
  if (outputStaging)
    tile = outputStaging;
  else if (plan.outputTile() != plan.queryTile())
    tile = ViewOp::create(b, plan.outputTile(), query);
  StoreFragmentOp::create(b, rows.packed, tile, tileRow);
  Value row = arith::AddIOp::create(b, block.queryRow, tileRow);
  TmaStoreOp::create(b, tile, tileRow, outputMap, block.batch, block.head, row, warpgroup);
}

SmallVector<Value> KernelBuilder::emitConsumer(Block &block) {
  emitConsumerConstants(block);
  query = WaitOp::create(b, TypeRange{plan.queryTile()}, queryRing, block.queryUse).getTiles()[0];
  Rows rows;
  Value uses = block.total;
  if (plan.overlap()) {
    rows = emitOverlappedLoops(block);
  } else if (State state = emitSerialLoops(block); state.output) {
    rows = finishRows(state.output, state.rows);
    if (!uses)
      uses = arith::SubIOp::create(b, state.uses, block.firstUse);
  }
  if (!rows.packed)
    return {};
  emitEpilogue(block, rows);
  if (plan.target.getPersistent())
    ReleaseOp::create(b, queryRing, block.queryUse);
  return {uses};
}
