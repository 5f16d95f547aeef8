// The shape of a tiled kernel, the conditions of the target, and the tiles that follow.
#include "KernelPlan.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::fa;
using hopper::TileType;

/// wgmma multiplies 16 columns at a time; the tail arrives as zeros.
static int64_t paddedDepth(int64_t depth) { return llvm::alignTo(depth, 16); }

TileType KernelPlan::queryTile() const {
  return TileType::get(schedule.getContext(), tileQ(), paddedDepth(depth()), elementType());
}
TileType KernelPlan::keyTile() const {
  return TileType::get(schedule.getContext(), tileKv(), paddedDepth(depth()), elementType());
}
TileType KernelPlan::valueTile() const {
  return TileType::get(schedule.getContext(), tileKv(), depthV(), elementType());
}
TileType KernelPlan::outputTile() const {
  return TileType::get(schedule.getContext(), tileQ(), depthV(), elementType());
}
VectorType KernelPlan::scoreFragment() const {
  return VectorType::get({tileKv() / 2}, Float32Type::get(schedule.getContext()));
}
VectorType KernelPlan::outputFragment() const {
  return VectorType::get({depthV() / 2}, Float32Type::get(schedule.getContext()));
}

FailureOr<unsigned> fa::argumentNumber(Operation *user, Value memref) {
  auto argument = dyn_cast<BlockArgument>(memref);
  if (argument && isa<func::FuncOp>(argument.getOwner()->getParentOp()) && argument.getArgNumber() > 0)
    return argument.getArgNumber() - 1;
  InFlightDiagnostic diagnostic =
      user->emitError("expected tensors to be arguments of the function on sm_90a, but got ");
  if (Operation *producer = memref.getDefiningOp())
    diagnostic << "the result of '" << producer->getName() << "'";
  else
    diagnostic << "a block argument";
  diagnostic.attachNote() << "pass the view itself: its strides are read at launch";
  return failure();
}

//===- shape -------------------------------------------------------------------===//

/// The one operation of `block` that takes part in the chain of states, besides the terminator.
template <typename OpT> static OpT onlyOp(Block &block) {
  OpT found;
  for (OpT op : block.getOps<OpT>()) {
    if (found)
      return {};
    found = op;
  }
  return found;
}

static FailureOr<Segment> matchSegment(scf::ForOp loop) {
  Segment segment{loop, {}, {}, {loop.getUpperBound()}};
  auto refuse = [&](StringRef why) -> FailureOr<Segment> {
    return loop.emitError("expected a loop over key tiles with one step on sm_90a, but got ") << why, failure();
  };
  if (loop.getNumResults() != 1)
    return refuse("more than one loop-carried value");
  Block *block = loop.getBody();
  for (scf::IfOp test : block->getOps<scf::IfOp>())
    if (test.getNumResults() == 1 && isa<StateType>(test.getResult(0).getType()))
      segment.test = test;
  segment.step = onlyOp<StepOp>(segment.test ? *segment.test.thenBlock() : *block);
  if (!segment.step)
    return refuse("none or several");
  if (segment.step.getState() != loop.getRegionIterArg(0))
    return refuse("a step on another state");
  return segment;
}

static LogicalResult matchChain(KernelPlan &plan) {
  plan.finish = onlyOp<FinishOp>(plan.kernel.getBody().front());
  if (!plan.finish)
    return plan.kernel.emitError("expected one fa.finish in a kernel for sm_90a, but got none or several");
  Value state = plan.finish.getState();
  while (!state.getDefiningOp<InitOp>()) {
    if (auto step = state.getDefiningOp<StepOp>()) {
      plan.segments.push_back({{}, {}, step, {Value{}}});
      state = step.getState();
      continue;
    }
    auto loop = state.getDefiningOp<scf::ForOp>();
    if (!loop)
      return plan.kernel.emitError("expected the state to come from fa.init through loops on sm_90a");
    FailureOr<Segment> segment = matchSegment(loop);
    if (failed(segment))
      return failure();
    plan.segments.push_back(*segment);
    state = loop.getInitArgs()[0];
  }
  if (plan.segments.empty())
    return plan.kernel.emitError("expected a loop over key tiles in a kernel for sm_90a, but got none");
  std::reverse(plan.segments.begin(), plan.segments.end());
  plan.masked = plan.segments.front().step;
  for (Segment &segment : plan.segments)
    if (!segment.step.getFull())
      plan.masked = segment.step;
  return success();
}

namespace {
/// A key tile's number as base + offset; a constant has no base.
struct TileNumber {
  Value base;
  int64_t offset = 0;
  bool operator==(const TileNumber &) const = default;
};
} // namespace

static std::optional<int64_t> constantOf(Value value) {
  APInt constant;
  return matchPattern(value, m_ConstantInt(&constant)) ? std::optional(constant.getSExtValue()) : std::nullopt;
}

static TileNumber tileNumber(Value value) {
  if (std::optional<int64_t> constant = constantOf(value))
    return {{}, *constant};
  if (auto difference = value.getDefiningOp<arith::SubIOp>())
    if (std::optional<int64_t> constant = constantOf(difference.getRhs()))
      return {difference.getLhs(), -*constant};
  return {value, 0};
}

/// The first key tile of a segment that goes down from it: `first - iv`, or a step alone.
static std::optional<TileNumber> firstOfDescending(Segment segment) {
  if (!segment.loop)
    return tileNumber(segment.step.getKeyTile());
  auto difference = segment.step.getKeyTile().getDefiningOp<arith::SubIOp>();
  if (!difference || difference.getRhs() != segment.loop.getInductionVar() ||
      constantOf(segment.loop.getLowerBound()) != 0 || constantOf(segment.loop.getStep()) != 1)
    return std::nullopt;
  return tileNumber(difference.getLhs());
}

/// The tile after the last one of a segment that goes down.
static std::optional<TileNumber> nextAfter(Segment segment, TileNumber first) {
  std::optional<int64_t> count = segment.loop ? constantOf(segment.loop.getUpperBound()) : 1;
  if (count)
    return TileNumber{first.base, first.offset - *count};
  // T - U tiles down from T - 1 end at U; what comes next is U - 1.
  if (auto difference = segment.loop.getUpperBound().getDefiningOp<arith::SubIOp>();
      difference && first == TileNumber{difference.getLhs(), -1}) {
    TileNumber end = tileNumber(difference.getRhs());
    return TileNumber{end.base, end.offset - 1};
  }
  return std::nullopt;
}

/// Whether each segment goes down and starts where the one before stopped.
static bool allDescend(ArrayRef<Segment> segments) {
  std::optional<TileNumber> expected;
  for (size_t i = 0; i < segments.size(); ++i) {
    std::optional<TileNumber> first = firstOfDescending(segments[i]);
    if (!first || (i > 0 && expected != first))
      return false;
    expected = nextAfter(segments[i], *first);
  }
  return true;
}

/// Two descending loops in a row whose steps have nothing to check after the first tile are one loop.
static void joinUnmaskedLoops(SmallVectorImpl<Segment> &segments) {
  auto isUnmasked = [](Segment &segment) {
    return segment.loop && (segment.step.getFull() || segment.step.getMask().empty());
  };
  for (size_t i = 0; i + 1 < segments.size();) {
    if (!isUnmasked(segments[i]) || !isUnmasked(segments[i + 1])) {
      ++i;
      continue;
    }
    llvm::append_range(segments[i].uppers, segments[i + 1].uppers);
    segments.erase(segments.begin() + i + 1);
  }
}

//===- conditions of the target --------------------------------------------------===//

static LogicalResult checkTypes(KernelPlan &plan) {
  func::FuncOp kernel = plan.kernel;
  Type type = plan.elementType();
  if (!hopper::isSixteenBitFloat(type)) {
    InFlightDiagnostic diagnostic = kernel.emitError("expected bf16 or f16 inputs on sm_90a, but got ") << type;
    if (type.isF32())
      diagnostic.attachNote() << "the tensor cores would round f32 to TF32; convert to bf16, or compile for the CPU";
    return diagnostic;
  }
  if (plan.finish.getOutput().getType().getElementType() != type)
    return kernel.emitError("expected the output to be ")
           << type << " on sm_90a, but got " << plan.finish.getOutput().getType().getElementType();
  for (auto [name, depth] : {std::pair("query and key", plan.depth()), std::pair("value", plan.depthV())})
    if (depth % 8 != 0 || depth > 256) {
      InFlightDiagnostic diagnostic = kernel.emitError("expected the depth of ")
                                      << name << " to be a multiple of 8 up to 256 on sm_90a, but got " << depth;
      diagnostic.attachNote() << "TMA moves rows of 16-byte units; pad the tensors and keep the scale";
      return diagnostic;
    }
  return success();
}

static LogicalResult checkSchedule(KernelPlan &plan) {
  func::FuncOp kernel = plan.kernel;
  int64_t warpgroups = plan.target.getWarpgroups();
  if (warpgroups < 1 || warpgroups > 3)
    return kernel.emitError("expected 1, 2 or 3 consumer warpgroups, but got ") << warpgroups;
  if (plan.tileQ() != warpgroups * hopper::fragmentRows)
    return kernel.emitError("expected tile_q = ") << warpgroups * hopper::fragmentRows << " (64 rows for each of "
                                                  << warpgroups << " warpgroups), but got " << plan.tileQ();
  if (plan.tileKv() % 16 != 0 || plan.tileKv() > 256)
    return kernel.emitError("expected tile_kv to be a multiple of 16 up to 256 on sm_90a, but got ") << plan.tileKv();
  if (plan.target.getStages() < 1 || plan.target.getStages() > 8)
    return kernel.emitError("expected 1 to 8 stages, but got ") << plan.target.getStages();
  if (plan.overlap() && plan.target.getStages() < 2)
    return kernel.emitError(
               "expected at least 2 stages with overlap: the product of the next tile runs while the value "
               "of this one is read, but got ")
           << plan.target.getStages();
  return success();
}

/// Lets the user see what would fit: the largest key tile whose rings fit beside the query.
static LogicalResult checkSharedMemory(KernelPlan &plan) {
  constexpr int64_t available = 232448; // 227 KB: CUDA C++ Programming Guide, compute capability 9.0
  int64_t stages = plan.target.getStages(), query = plan.queryTile().getBytes();
  int64_t staging = plan.outputTile().getBytes() > query ? plan.outputTile().getBytes() : 0;
  int64_t barriers = 16 * (2 * stages + 2);
  auto needed = [&](int64_t keys) {
    int64_t perKey = (plan.keyTile().getBytes() + plan.valueTile().getBytes()) / plan.tileKv();
    return query + staging + barriers + stages * keys * perKey;
  };
  if (needed(plan.tileKv()) <= available)
    return success();
  InFlightDiagnostic diagnostic = plan.kernel.emitError("expected at most ")
                                  << available << " bytes of shared memory, but got " << needed(plan.tileKv());
  for (int64_t keys = plan.tileKv() - 16; keys > 0; keys -= 16)
    if (needed(keys) <= available) {
      diagnostic.attachNote() << "tile_kv = " << keys << " with " << stages << " stages needs " << needed(keys);
      return diagnostic;
    }
  diagnostic.attachNote() << "no key tile fits with " << stages << " stages";
  return diagnostic;
}

//===- sizes -----------------------------------------------------------------------===//

static LogicalResult collectDims(KernelPlan &plan) {
  auto add = [&](Operation *user, Value memref, int64_t dim) -> LogicalResult {
    if (!cast<MemRefType>(memref.getType()).isDynamicDim(dim))
      return success();
    FailureOr<unsigned> argument = argumentNumber(user, memref);
    if (failed(argument))
      return failure();
    if (!llvm::is_contained(plan.dims, DimArgument{*argument, dim}))
      plan.dims.push_back({*argument, dim});
    return success();
  };
  WalkResult result = plan.kernel.walk([&](memref::DimOp op) {
    if (!op.getConstantIndex()) {
      op.emitError("expected a constant dimension in a kernel for sm_90a");
      return WalkResult::interrupt();
    }
    return WalkResult(add(op, op.getSource(), *op.getConstantIndex()));
  });
  if (result.wasInterrupted() || failed(add(plan.masked, plan.masked.getQuery(), 2)) ||
      failed(add(plan.masked, plan.masked.getKey(), 2)))
    return failure();
  return success();
}

FailureOr<KernelPlan> fa::planKernel(func::FuncOp kernel, ScheduleAttr schedule) {
  KernelPlan plan;
  plan.kernel = kernel;
  plan.schedule = schedule;
  plan.target = cast<HopperAttr>(schedule.getTarget());
  if (failed(matchChain(plan)) || failed(checkTypes(plan)) || failed(checkSchedule(plan)) ||
      failed(checkSharedMemory(plan)) || failed(collectDims(plan)))
    return failure();
  plan.descends = !plan.hasTests() && allDescend(plan.segments);
  if (plan.descends && plan.overlap())
    joinUnmaskedLoops(plan.segments);
  if (plan.target.getUnroll() == 2 &&
      llvm::none_of(plan.segments, [&](Segment &segment) { return plan.unrolls(segment); }))
    kernel.emitRemark("no unrolling: every loop over key tiles has a mask or a test");
  return plan;
}
