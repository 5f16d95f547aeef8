// fa.init -> state without history, fa.step -> call of a private function, fa.finish -> normalise and store.
#include "StateLowering.h"
#include "DecodeStep.h"
#include "PartFunction.h"
#include "QueryTile.h"
#include "TileMemory.h"
#include "fa/Dialect/FA/IR/KernelScratch.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/RegionUtils.h"
#include <cmath>

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fa::cpu;

namespace {

bool sameRegion(Region &a, Region &b) {
  return OperationEquivalence::isRegionEquivalentTo(&a, &b, OperationEquivalence::IgnoreLocations);
}

double staticScale(StepOp step) {
  if (FloatAttr scale = step.getScaleAttr())
    return scale.getValueAsDouble();
  return 1.0 / std::sqrt(static_cast<double>(step.getQuery().getType().getDimSize(3)));
}

/// A score function needs the scaled logit, and a scale of (almost) 0 no exponent: 0 * -inf is NaN.
bool staysInExponent(StepOp step) {
  return !step.getDynamicScale() && step.getScore().empty() && std::abs(staticScale(step)) > 1e-20;
}

class StateLowering {
public:
  StateLowering(StateChain &chain, const VectorUnit &unit) : chain(chain), unit(unit), builder(chain.init) {}

  LogicalResult lower();

private:
  LogicalResult checkSteps();
  KernelShape shapeOf();
  bool hasDepthOnLanes();
  Value allocateScratch(MemRefType type);
  void lowerInit();
  LogicalResult lowerStep(StepOp step);
  void lowerFinish(FinishOp finish);
  Value viewOutputTile(Emitter &e);
  FailureOr<func::FuncOp> stepFunction(StepOp step, ArrayRef<Value> captured);
  LogicalResult emitStepBody(StepOp step, const StepOperands &operands);
  Value scaleFactor(Emitter &e, StepOp step);
  std::string uniqueName(StringRef suffix);

  /// One function for the steps that differ only in `full` and coordinates.
  struct Shared {
    StepOp step;
    SmallVector<Value> captured;
    func::FuncOp function;
  };
  FailureOr<Shared *> sharedFunction(StepOp step);

  StateChain &chain;
  VectorUnit unit;
  OpBuilder builder;
  KernelShape shape;
  std::optional<DecodeShape> decode; ///< with depth on lanes
  Value arena, copies;
  Value outputTile; ///< where the one finish stores, if its rows are contiguous and known where the state begins
  func::FuncOp kernel;
  StepFunctions called;
  std::vector<Shared> functions;
};

LogicalResult StateLowering::lower() {
  kernel = chain.init->getParentOfType<func::FuncOp>();
  if (!kernel)
    return chain.init.emitOpError("expected an enclosing func.func");
  if (failed(checkSteps()))
    return failure();
  shape = shapeOf();
  OpBuilder types(kernel);
  if (!chain.steps.empty() && hasDepthOnLanes())
    decode = decodeShape(shape, chain.steps);
  arena = allocateScratch(decode ? DecodeScratch::arenaType(types, *decode) : Scratch::arenaType(types, shape));
  copies = allocateScratch(decode ? MemRefType::get({0}, types.getI8Type()) : Scratch::copiesType(types, shape));
  lowerInit();
  // A masked step first: `full` ones then share its function.
  for (bool full : {false, true})
    for (StepOp step : chain.steps)
      if (step.getFull() == full && failed(lowerStep(step)))
        return failure();
  for (FinishOp finish : chain.finishes)
    lowerFinish(finish);
  builder.setInsertionPoint(chain.init);
  Value token = arith::ConstantIndexOp::create(builder, chain.init.getLoc(), 0);
  chain.init.getState().replaceAllUsesWith(token);
  chain.init.erase();
  return success();
}

/// Queries are packed once, by the first step that visits them, as it is known at fa.init: every step must use the
/// same tile.
LogicalResult StateLowering::checkSteps() {
  DominanceInfo dominance(kernel);
  for (StepOp step : chain.steps) {
    StepOp first = chain.steps.front();
    if (step.getQuery() != first.getQuery() || step.getQueryBatch() != first.getQueryBatch() ||
        step.getQueryHead() != first.getQueryHead() || step.getQueryTile() != first.getQueryTile() ||
        step.getTileKv() != first.getTileKv() || step.getScaleAttr() != first.getScaleAttr() ||
        step.getDynamicScale() != first.getDynamicScale() || step.getScore().empty() != first.getScore().empty())
      return step.emitOpError("expected the query tile, scale and tile_kv of the state's first step, but got others; "
                              "use convert-fa-to-loops");
    SmallVector<Value> neededEarly{step.getQuery(), step.getQueryBatch(), step.getQueryHead(), step.getQueryTile(),
                                   step.getDynamicScale()};
    for (Value value : neededEarly)
      if (value && !dominance.properlyDominates(value, chain.init))
        return step.emitOpError("expected a query tile that is known where its state begins, but got one that is "
                                "computed later; use convert-fa-to-loops");
  }
  return success();
}

KernelShape StateLowering::shapeOf() {
  KernelShape result;
  StateType state = chain.init.getState().getType();
  result.type = state.getElementType();
  result.tileQ = state.getRows();
  result.depthV = state.getDepth();
  result.depth = result.tileKv = 1;
  if (!chain.steps.empty()) {
    StepOp step = chain.steps.front();
    result.depth = step.getQuery().getType().getDimSize(3);
    result.tileKv = step.getTileKv();
    result.scoresAreExponents = step.getScore().empty() && !hasDepthOnLanes();
    if (result.scoresAreExponents)
      result.exponentScale = 1.0;
    else if (staysInExponent(step))
      result.exponentScale *= std::abs(staticScale(step));
  }
  result.table = selectBlockTable(unit.bits, unit.avx512, result.type, result.tileQ, result.tileKv);
  for (StepOp step : chain.steps) {
    result.copyKeys |= classifyTile(step.getKey().getType(), result.type, result.table.keys) != TileAccess::InPlace;
    result.copyValues |= classifyTile(step.getValue().getType(), result.type, /*readRows=*/1) != TileAccess::InPlace;
  }
  return result;
}

/// The choice of the schedule of the kernel.
bool StateLowering::hasDepthOnLanes() {
  auto schedule = kernel->getAttrOfType<ScheduleAttr>(scheduleAttrName);
  auto target = schedule ? dyn_cast_if_present<CPUAttr>(schedule.getTarget()) : CPUAttr();
  return target && target.getLanes() == Lanes::Depth &&
         chain.init.getState().getType().getRows() <= CPUAttr::maxRowsOfDepthLanes;
}

/// From the runtime for a kernel; a function that nobody launches has the heap.
Value StateLowering::allocateScratch(MemRefType type) {
  Location loc = chain.init.getLoc();
  if (kernel->hasAttr(kernelAttrName)) {
    int64_t offset = addScratchBytes(kernel, type.getDimSize(0));
    OpBuilder entry = OpBuilder::atBlockBegin(&kernel.getBody().front());
    Value start = arith::ConstantIndexOp::create(entry, loc, offset);
    return memref::ViewOp::create(entry, loc, type, kernel.getArguments().back(), start, ValueRange{});
  }
  OpBuilder entry = OpBuilder::atBlockBegin(&kernel.getBody().front());
  Value memory = memref::AllocOp::create(entry, loc, type, ValueRange{}, entry.getI64IntegerAttr(64));
  kernel.walk([&](func::ReturnOp returnOp) {
    OpBuilder exit(returnOp);
    memref::DeallocOp::create(exit, loc, memory);
  });
  return memory;
}

/// dynamic * factor, rounded once.
static Value productOf(Emitter &e, Value dynamic, double factor) {
  Type f64 = e.builder.getF64Type();
  Value wide = e.type == f64 ? dynamic : arith::ExtFOp::create(e.builder, e.loc, f64, dynamic);
  Value product = e.mulf(wide, arith::ConstantOp::create(e.builder, e.loc, e.builder.getFloatAttr(f64, factor)));
  return e.type == f64 ? product : arith::TruncFOp::create(e.builder, e.loc, e.type, product);
}

/// What queries are multiplied by when they are packed. What stays in the exponent (shapeOf) leaves its sign.
Value StateLowering::scaleFactor(Emitter &e, StepOp step) {
  auto constant = [&](double value) -> Value {
    return arith::ConstantOp::create(builder, e.loc, builder.getFloatAttr(shape.type, value));
  };
  const double unit = shape.scoresAreExponents ? log2OfE : 1.0;
  if (Value dynamic = step.getDynamicScale())
    return unit == 1.0 ? dynamic : productOf(e, dynamic, unit);
  const double scale = staticScale(step);
  return constant(!shape.scoresAreExponents && staysInExponent(step) ? std::copysign(1.0, scale) : scale * unit);
}

void StateLowering::lowerInit() {
  builder.setInsertionPoint(chain.init);
  if (decode) {
    Emitter e(builder, chain.init.getLoc(), shape.type, decode->kernel.table);
    StepOp step = chain.steps.front();
    return emitDecodeInit(e, *decode, arena, step, scaleFactor(e, step));
  }
  Emitter e(builder, chain.init.getLoc(), shape.type, shape.table);
  Scratch scratch(e, arena, Value(), shape);
  Value zero = e.index(0), zeros = e.splat(0.0);
  const int64_t lanes = shape.table.lanes;
  e.loop(zero, e.index(shape.numLanes()), lanes, [&](Value lane) {
    e.store(zeros, scratch.reference, lane);
    e.store(zeros, scratch.shift, lane);
    e.store(zeros, scratch.sum, lane);
  });
  e.loop(zero, e.index(shape.numSubTiles()), 1, [&](Value subTile) { e.set(scratch.started, subTile, false); });
  if (chain.steps.empty())
    return;
  memref::StoreOp::create(builder, e.loc, scaleFactor(e, chain.steps.front()), scratch.factor, zero);
  outputTile = viewOutputTile(e);
}

/// Steps ask for it beside their products.
Value StateLowering::viewOutputTile(Emitter &e) {
  if (decode || chain.finishes.size() != 1)
    return Value();
  FinishOp finish = chain.finishes.front();
  auto type = cast<MemRefType>(finish.getOutput().getType());
  if (classifyTile(type, type.getElementType(), /*readRows=*/1) != TileAccess::InPlace)
    return Value();
  DominanceInfo dominance(kernel);
  SmallVector<Value> neededEarly{finish.getOutput(), finish.getBatch(), finish.getHead(), finish.getQueryTile()};
  for (Value value : neededEarly)
    if (!dominance.properlyDominates(value, chain.init))
      return Value();
  TileRows rows{finish.getOutput(), finish.getBatch(), finish.getHead(), e.mul(finish.getQueryTile(), shape.tileQ),
                e.index(shape.tileQ)};
  return emitTileInPlace(e, rows, shape.depthV);
}

std::string StateLowering::uniqueName(StringRef suffix) {
  SymbolTable symbols(kernel->getParentOp());
  std::string name = (kernel.getName() + suffix).str();
  for (unsigned n = 1; symbols.lookup(name); ++n)
    name = (kernel.getName() + suffix + "_" + Twine(n)).str();
  return name;
}

namespace {

/// Constants, dims and index arithmetic are repeated in the step's function, where the mask analysis can read them.
bool isRepeated(Operation *op) {
  return op && op->getNumRegions() == 0 && isMemoryEffectFree(op) &&
         (op->hasTrait<OpTrait::ConstantLike>() || isa<memref::DimOp>(op) ||
          isa<arith::ArithDialect>(op->getDialect()));
}

/// What `value` is computed from, as far as operations are repeated.
void collectLeaves(Value value, SetVector<Value> &leaves) {
  Operation *def = value.getDefiningOp();
  if (!isRepeated(def))
    leaves.insert(value);
  else
    for (Value operand : def->getOperands())
      collectLeaves(operand, leaves);
}

Value repeat(OpBuilder &builder, Value value, IRMapping &mapping) {
  if (Value known = mapping.lookupOrNull(value))
    return known;
  Operation *def = value.getDefiningOp();
  for (Value operand : def->getOperands())
    repeat(builder, operand, mapping);
  builder.clone(*def, mapping);
  return mapping.lookup(value);
}

/// A copy of `step` whose regions capture values of the builder's function only. Not a valid operation (its state is
/// elsewhere): the caller erases it.
StepOp importStep(OpBuilder &builder, StepOp step, IRMapping &mapping) {
  for (Region *region : {&step.getScore(), &step.getMask()}) {
    SetVector<Value> used;
    getUsedValuesDefinedAbove(*region, used);
    for (Value value : used)
      repeat(builder, value, mapping);
  }
  return cast<StepOp>(builder.clone(*step, mapping));
}

} // namespace

FailureOr<StateLowering::Shared *> StateLowering::sharedFunction(StepOp step) {
  for (Shared &shared : functions) {
    StepOp other = shared.step;
    bool sameTensors = other.getKey() == step.getKey() && other.getValue() == step.getValue();
    bool sameMask = step.getFull() ||
                    (step.getMask().empty() == other.getMask().empty() && sameRegion(step.getMask(), other.getMask()));
    if (sameTensors && sameMask && sameRegion(step.getScore(), other.getScore()))
      return &shared;
  }
  SetVector<Value> leaves;
  for (Region *region : {&step.getScore(), &step.getMask()}) {
    SetVector<Value> used;
    getUsedValuesDefinedAbove(*region, used);
    for (Value value : used)
      collectLeaves(value, leaves);
  }
  for (Value tensor : {step.getQuery(), step.getKey(), step.getValue()})
    leaves.remove(tensor);
  SmallVector<Value> captured = leaves.takeVector();
  FailureOr<func::FuncOp> function = stepFunction(step, captured);
  if (failed(function))
    return failure();
  functions.push_back({step, captured, *function});
  return &functions.back();
}

FailureOr<func::FuncOp> StateLowering::stepFunction(StepOp step, ArrayRef<Value> captured) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(kernel);
  Location loc = step.getLoc();
  if (!called.rebase && decode)
    called.rebase = emitDecodeRaiseFunction(builder, loc, uniqueName("_raise"), *decode);
  else if (!called.rebase)
    called = {emitPackFunction(builder, loc, uniqueName("_pack"), shape, step.getQuery().getType()),
              emitRebaseFunction(builder, loc, uniqueName("_rebase"), shape)};
  Type index = builder.getIndexType();
  SmallVector<Type> types{arena.getType(), copies.getType(), step.getQuery().getType(), step.getKey().getType(),
                          step.getValue().getType()};
  types.append(7, index);
  types.push_back(builder.getI1Type());
  for (Value value : captured)
    types.push_back(value.getType());
  if (outputTile)
    types.push_back(outputTile.getType());
  func::FuncOp function = beginPartFunction(builder, loc, uniqueName("_step"), types);
  Block *entry = &function.front();
  auto argument = [&](unsigned n) { return entry->getArgument(n); };
  StepOperands operands{argument(0), argument(1), argument(2), argument(3),  argument(4),  argument(5),  argument(6),
                        argument(7), argument(8), argument(9), argument(10), argument(11), argument(12), Value()};
  IRMapping mapping;
  mapping.map(ArrayRef<Value>{step.getQuery(), step.getKey(), step.getValue()},
              ArrayRef<Value>{operands.query, operands.key, operands.value});
  for (auto [n, value] : llvm::enumerate(captured))
    mapping.map(value, entry->getArgument(13 + n));
  if (outputTile)
    operands.output = entry->getArguments().back();
  StepOp imported = importStep(builder, step, mapping);
  LogicalResult result = emitStepBody(imported, operands);
  imported.erase();
  if (failed(result))
    return failure();
  func::ReturnOp::create(builder, loc);
  return function;
}

LogicalResult StateLowering::emitStepBody(StepOp step, const StepOperands &operands) {
  const KernelShape &blocks = decode ? decode->kernel : shape;
  Emitter e(builder, step.getLoc(), shape.type, blocks.table);
  Region *score = step.getScore().empty() ? nullptr : &step.getScore();
  Region *mask = step.getMask().empty() ? nullptr : &step.getMask();
  std::optional<SubTileBounds> bounds;
  // With depth on lanes, a sub-tile is the whole query tile.
  if (mask && (!decode || shape.tileQ <= shape.table.lanes)) {
    auto computed = SubTileBounds::compute(*mask, blocks, operands.query, operands.key, operands.value, step.getLoc());
    if (failed(computed))
      return failure();
    if (*computed)
      bounds.emplace(std::move(**computed));
  }
  if (decode)
    return DecodeStep(e, *decode, operands, score, mask, called.rebase, bounds ? &*bounds : nullptr).emit();
  return StepBuilder(e, shape, operands, score, mask, called, bounds ? &*bounds : nullptr).emit();
}

LogicalResult StateLowering::lowerStep(StepOp step) {
  FailureOr<Shared *> shared = sharedFunction(step);
  if (failed(shared))
    return failure();
  builder.setInsertionPoint(step);
  Location loc = step.getLoc();
  Value full = arith::ConstantIntOp::create(builder, loc, builder.getI1Type(), step.getFull());
  SmallVector<Value> arguments{arena,
                               copies,
                               step.getQuery(),
                               step.getKey(),
                               step.getValue(),
                               step.getQueryBatch(),
                               step.getQueryHead(),
                               step.getKeyBatch(),
                               step.getKeyHead(),
                               step.getQueryTile(),
                               step.getKeyTile(),
                               arith::ConstantIndexOp::create(builder, loc, 0),
                               full};
  arguments.append((*shared)->captured);
  if (outputTile)
    arguments.push_back(outputTile);
  func::CallOp::create(builder, loc, (*shared)->function, arguments);
  return success();
}

void StateLowering::lowerFinish(FinishOp finish) {
  builder.setInsertionPoint(finish);
  if (decode) {
    Emitter e(builder, finish.getLoc(), shape.type, decode->kernel.table);
    return emitDecodeFinish(e, *decode, arena, finish);
  }
  Emitter e(builder, finish.getLoc(), shape.type, shape.table);
  Scratch scratch(e, arena, Value(), shape);
  Value seqQ = memref::DimOp::create(builder, e.loc, finish.getOutput(), 2);
  Value first = e.mul(finish.getQueryTile(), shape.tileQ);
  Value count = e.min(e.sub(seqQ, first), e.index(shape.tileQ));
  TileRows rows{finish.getOutput(), finish.getBatch(), finish.getHead(), first, count};
  emitStoreOutput(e, scratch, shape, rows, finish.getLse());
}

} // namespace

LogicalResult mlir::fa::cpu::lowerState(StateChain &chain, const VectorUnit &unit) {
  StateLowering lowering(chain, unit);
  if (failed(lowering.lower()))
    return failure();
  // A state that is lowered already is a token of another type.
  for (StepOp step : chain.steps) {
    step.getResult().replaceAllUsesWith(step.getStateMutable().get());
    step.erase();
  }
  for (FinishOp finish : chain.finishes)
    finish.erase();
  return success();
}
