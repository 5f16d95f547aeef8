// Arguments, coordinates of a block, and the producer.
#include "KernelBuilder.h"
#include "ScalarExpansion.h"
#include "fa/Conversion/FAToHopper/KernelArguments.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fa::hopper;

/// What setmaxnreg gives each role, by number of consumer warpgroups: together they fill the register file.
static std::pair<int64_t, int64_t> registersFor(int64_t warpgroups) {
  switch (warpgroups) {
  case 1:
    return {56, 256};
  case 2:
    return {24, 240};
  default:
    return {32, 160};
  }
}

//===- arguments ---------------------------------------------------------------===//

/// Arguments in a fixed order: tensor maps, memrefs, sizes, scalars, number of blocks.
LogicalResult KernelBuilder::createArguments() {
  StepOp step = plan.masked;
  Type element = plan.elementType();
  int64_t panel = plan.queryTile().getPanelColumns();
  SmallVector<std::pair<Value *, Value>> maps = {{&queryMap, step.getQuery()},
                                                 {&keyMap, step.getKey()},
                                                 {&valueMap, step.getValue()},
                                                 {&outputMap, plan.finish.getOutput()}};
  SmallVector<int64_t> rows = {plan.tileQ(), plan.tileKv(), plan.tileKv(), fragmentRows};
  SmallVector<Value *> slots;
  auto add = [&](Value *slot, Type type, const Twine &source) {
    slots.push_back(slot);
    argumentTypes.push_back(type);
    sources.push_back(source.str());
  };
  for (auto [entry, rowCount] : llvm::zip_equal(maps, rows)) {
    FailureOr<unsigned> number = argumentNumber(step, entry.second);
    if (failed(number))
      return failure();
    add(entry.first, TensorMapType::get(b.getContext(), rowCount, panel, element), "tensor_map " + Twine(*number));
  }
  // Memrefs that something reads element by element, and the log-sum-exp.
  SmallVector<std::pair<BlockArgument, Value>> memrefs;
  SmallVector<BlockArgument> scalars;
  for (BlockArgument argument : plan.kernel.getArguments().drop_front()) {
    if (!isa<MemRefType>(argument.getType())) {
      if (!argument.use_empty())
        scalars.push_back(argument);
      continue;
    }
    bool isRead = llvm::any_of(argument.getUsers(), [](Operation *user) { return isa<memref::LoadOp>(user); });
    if (isRead || argument == plan.finish.getLse())
      memrefs.push_back({argument, {}});
  }
  if (plan.finish.getLse() && failed(argumentNumber(plan.finish, plan.finish.getLse())))
    return failure();
  for (auto &[argument, value] : memrefs)
    add(&value, argument.getType(), "memref " + Twine(argument.getArgNumber() - 1));
  dimValues.resize(plan.dims.size());
  for (auto [dim, value] : llvm::zip_equal(plan.dims, dimValues))
    add(&value, b.getIndexType(), "dim " + Twine(dim.argument) + " " + Twine(dim.dim));
  SmallVector<Value> scalarValues(scalars.size());
  for (auto [argument, value] : llvm::zip_equal(scalars, scalarValues))
    add(&value, argument.getType(), "scalar " + Twine(argument.getArgNumber() - 1));
  if (plan.target.getPersistent())
    add(&blocks, b.getIndexType(), "blocks");

  int64_t threads = threadsPerWarpgroup * (plan.target.getWarpgroups() + 1);
  kernel = gpu::GPUFuncOp::create(b, plan.kernel.getName(), b.getFunctionType(argumentTypes, {}));
  kernel->setAttr(gpu::GPUDialect::getKernelFuncAttrName(), b.getUnitAttr());
  kernel.setKnownBlockSizeAttr(b.getDenseI32ArrayAttr({static_cast<int32_t>(threads), 1, 1}));
  if (plan.target.getPersistent())
    kernel->setAttr(persistentAttrName, b.getUnitAttr());
  if (plan.target.getPingPong() && plan.target.getWarpgroups() > 1 && !plan.hasTests())
    kernel->setAttr(pingPongAttrName, b.getUnitAttr());
  for (auto [i, source] : llvm::enumerate(sources))
    kernel.setArgAttr(i, argumentSourceAttrName, b.getStringAttr(source));
  for (Value &value : dimValues)
    kernel.setArgAttr(llvm::find(slots, &value) - slots.begin(), lengthAttrName, b.getUnitAttr());
  for (auto [slot, argument] : llvm::zip_equal(slots, kernel.getArguments()))
    *slot = argument;
  for (auto [argument, value] : memrefs)
    base.map(argument, value);
  for (auto [argument, value] : llvm::zip_equal(scalars, scalarValues))
    base.map(argument, value);
  if (plan.finish.getLse())
    lse = base.lookup(plan.finish.getLse());
  return success();
}

Value KernelBuilder::sizeOf(Value memref, int64_t dim) {
  auto type = cast<MemRefType>(memref.getType());
  if (!type.isDynamicDim(dim))
    return constant(type.getDimSize(dim));
  DimArgument wanted{cast<BlockArgument>(memref).getArgNumber() - 1, dim};
  return dimValues[llvm::find(plan.dims, wanted) - plan.dims.begin()];
}

//===- one block -----------------------------------------------------------------===//

/// Clones what computes coordinates and bounds; states and steps are built anew.
void KernelBuilder::cloneScalars(mlir::Block &from, IRMapping &mapping) {
  auto holdsState = [](Operation &op) {
    return llvm::any_of(op.getResultTypes(), [](Type type) { return isa<StateType>(type); });
  };
  for (Operation &op : from.without_terminator()) {
    if (isa<FADialect>(op.getDialect()) || holdsState(op))
      continue;
    if (auto dim = dyn_cast<memref::DimOp>(op)) {
      mapping.map(dim.getResult(), sizeOf(dim.getSource(), *dim.getConstantIndex()));
      continue;
    }
    if (SmallVector<Value> expanded = expandScalar(b, &op, mapping); !expanded.empty())
      mapping.map(op.getResults(), expanded);
    else
      b.clone(op, mapping);
  }
}

Value KernelBuilder::lowerBound(Block &block, Segment &segment) {
  return segment.loop ? block.mapping.lookupOrDefault(segment.loop.getLowerBound()) : constant(0);
}

Value KernelBuilder::stepOf(Block &block, Segment &segment) {
  return segment.loop ? block.mapping.lookupOrDefault(segment.loop.getStep()) : constant(1);
}

IRMapping KernelBuilder::bodyScalars(Block &block, Segment &segment, Value inductionVariable) {
  IRMapping mapping = block.mapping;
  if (!segment.loop)
    return mapping;
  mapping.map(segment.loop.getInductionVar(), inductionVariable ? inductionVariable : lowerBound(block, segment));
  cloneScalars(*segment.loop.getBody(), mapping);
  return mapping;
}

KernelBuilder::Block KernelBuilder::emitBlock(Value number, Value firstUse, Value queryUse) {
  Block block;
  block.mapping = base;
  block.firstUse = firstUse;
  block.queryUse = queryUse;
  block.mapping.map(plan.kernel.getArgument(0), number);
  cloneScalars(plan.kernel.getBody().front(), block.mapping);
  auto mapped = [&](Value value) { return block.mapping.lookupOrDefault(value); };
  block.batch = mapped(plan.finish.getBatch());
  block.head = mapped(plan.finish.getHead());
  block.queryRow = arith::MulIOp::create(b, mapped(plan.finish.getQueryTile()), constant(plan.tileQ()));
  for (Segment &segment : plan.segments) {
    Value upper = segment.loop ? mapped(segment.uppers[0]) : constant(1);
    for (Value more : ArrayRef(segment.uppers).drop_front())
      upper = arith::AddIOp::create(b, upper, mapped(more));
    block.uppers.push_back(upper);
  }
  if (plan.hasTests())
    return block;
  // Ring uses are numbered through all segments; an empty loop has none.
  Value total = constant(0);
  for (auto [segment, upper] : llvm::zip_equal(plan.segments, block.uppers)) {
    block.starts.push_back(total);
    Value lower = lowerBound(block, segment), step = stepOf(block, segment);
    Value count = matchPattern(lower, m_Zero()) ? upper : arith::SubIOp::create(b, upper, lower).getResult();
    if (!matchPattern(step, m_One()))
      count = arith::CeilDivSIOp::create(b, count, step);
    count = arith::MaxSIOp::create(b, count, constant(0));
    total = matchPattern(total, m_Zero()) ? count : arith::AddIOp::create(b, total, count).getResult();
  }
  block.total = total;
  return block;
}

/// Blocks with larger numbers do more work when `heavyFirst`: they go first.
Value KernelBuilder::inOrder(Value number, Value count) {
  if (!plan.heavyFirst)
    return number;
  Value last = arith::SubIOp::create(b, count, constant(1));
  return arith::SubIOp::create(b, last, number);
}

/// The only block of a kernel that is not persistent, computed once for both roles.
void KernelBuilder::emitOnlyBlock() {
  Value number = gpu::BlockIdOp::create(b, gpu::Dimension::x);
  if (plan.heavyFirst)
    number = inOrder(number, gpu::GridDimOp::create(b, gpu::Dimension::x));
  Value zero = constant(0);
  onlyBlock = emitBlock(number, zero, zero);
}

/// One block, or in a persistent kernel all blocks this thread block takes; `body` returns the ring uses of the block.
void KernelBuilder::forEachBlock(function_ref<SmallVector<Value>(Block &)> body) {
  if (onlyBlock) {
    body(*onlyBlock);
    return;
  }
  Value zero = constant(0), one = constant(1);
  Value first = gpu::BlockIdOp::create(b, gpu::Dimension::x), step = gpu::GridDimOp::create(b, gpu::Dimension::x);
  auto loop = scf::ForOp::create(b, first, blocks, step, ValueRange{zero, zero});
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Block block = emitBlock(inOrder(loop.getInductionVar(), blocks), loop.getRegionIterArg(0), loop.getRegionIterArg(1));
  SmallVector<Value> uses = body(block);
  if (uses.empty()) // an error was reported
    uses.push_back(zero);
  Value nextQuery = arith::AddIOp::create(b, loop.getRegionIterArg(1), one);
  scf::YieldOp::create(b, ValueRange{arith::AddIOp::create(b, block.firstUse, uses[0]), nextQuery});
}

//===- producer --------------------------------------------------------------------===//

Value KernelBuilder::loadKeyTile(Block &block, Value use, StepOp step, IRMapping &mapping) {
  Value batch = mapping.lookupOrDefault(step.getKeyBatch()), head = mapping.lookupOrDefault(step.getKeyHead());
  Value row = arith::MulIOp::create(b, mapping.lookupOrDefault(step.getKeyTile()), constant(plan.tileKv()));
  Value number =
      matchPattern(block.firstUse, m_Zero()) ? use : arith::AddIOp::create(b, block.firstUse, use).getResult();
  Type barrier = BarrierType::get(b.getContext());
  auto key = AcquireOp::create(b, TypeRange{plan.keyTile()}, barrier, keyRing, number);
  TmaLoadOp::create(b, keyMap, batch, head, row, key.getTiles()[0], key.getFull());
  auto value = AcquireOp::create(b, TypeRange{plan.valueTile()}, barrier, valueRing, number);
  TmaLoadOp::create(b, valueMap, batch, head, row, value.getTiles()[0], value.getFull());
  return arith::AddIOp::create(b, use, constant(1));
}

SmallVector<Value> KernelBuilder::emitProducer(Block &block) {
  auto query =
      AcquireOp::create(b, TypeRange{plan.queryTile()}, BarrierType::get(b.getContext()), queryRing, block.queryUse);
  TmaLoadOp::create(b, queryMap, block.batch, block.head, block.queryRow, query.getTiles()[0], query.getFull());
  Value uses = constant(0);
  for (auto [i, segment] : llvm::enumerate(plan.segments)) {
    auto loop =
        scf::ForOp::create(b, lowerBound(block, segment), block.uppers[i], stepOf(block, segment), ValueRange{uses});
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    IRMapping mapping = bodyScalars(block, segment, loop.getInductionVar());
    Value use = loop.getRegionIterArg(0);
    if (segment.test) {
      auto test = scf::IfOp::create(b, TypeRange{b.getIndexType()}, mapping.lookup(segment.test.getCondition()), true);
      OpBuilder::InsertionGuard inner(b);
      b.setInsertionPointToStart(test.thenBlock());
      cloneScalars(*segment.test.thenBlock(), mapping);
      scf::YieldOp::create(b, loadKeyTile(block, use, segment.step, mapping));
      b.setInsertionPointToStart(test.elseBlock());
      scf::YieldOp::create(b, use);
      b.setInsertionPointAfter(test);
      scf::YieldOp::create(b, test.getResults());
    } else {
      scf::YieldOp::create(b, loadKeyTile(block, use, segment.step, mapping));
    }
    uses = loop.getResult(0);
  }
  return {uses};
}

//===- kernel ------------------------------------------------------------------------===//

void KernelBuilder::emitRoles() {
  int64_t warpgroups = plan.target.getWarpgroups(), stages = plan.target.getStages();
  auto ring = [&](int64_t count, TileType tile) -> Value {
    return RingOp::create(b, RingType::get(b.getContext(), count, {tile}), warpgroups, IntegerAttr{}, IntegerAttr{});
  };
  queryRing = ring(1, plan.queryTile());
  if (plan.outputTile().getBytes() > plan.queryTile().getBytes())
    outputStaging = AllocateOp::create(b, plan.outputTile(), IntegerAttr{});
  keyRing = ring(stages, plan.keyTile());
  valueRing = ring(stages, plan.valueTile());
  auto [producerRegisters, consumerRegisters] = registersFor(warpgroups);
  if (!plan.target.getPersistent())
    emitOnlyBlock();
  auto roles = WarpSpecializeOp::create(b, warpgroups, producerRegisters, consumerRegisters);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&roles.getProducer().front());
  forEachBlock([&](Block &block) { return emitProducer(block); });
  b.setInsertionPointToStart(&roles.getConsumers().front());
  warpgroup = roles.getWarpgroup();
  forEachBlock([&](Block &block) { return emitConsumer(block); });
}

FailureOr<gpu::GPUFuncOp> KernelBuilder::build() {
  OpBuilder::InsertionGuard guard(b);
  if (failed(createArguments()))
    return failure();
  b.setInsertionPointToStart(&kernel.getBody().front());
  queryLength = sizeOf(plan.masked.getQuery(), 2);
  keyLength = sizeOf(plan.masked.getKey(), 2);
  if (plan.masked.getDynamicScale())
    dynamicScale = plan.masked.getDynamicScale();
  emitRoles();
  gpu::ReturnOp::create(b, ValueRange{});
  return kernel;
}
