// Ranges decide whether a mask fits the lanes; its operations are then repeated on vectors.
#include "LaneMask.h"
#include "fa/Dialect/FA/IR/FA.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fa::cpu;

namespace {

/// More would be longer than the loop over rows that other masks take.
constexpr int64_t mostOperations = 8;

IntegerType laneType(const Emitter &e) { return IntegerType::get(e.type.getContext(), e.type.getIntOrFloatBitWidth()); }

Value splat(Emitter &e, int64_t value) {
  auto type = VectorType::get({e.table.lanes}, laneType(e));
  return arith::ConstantOp::create(e.builder, e.loc,
                                   DenseElementsAttr::get(type, e.builder.getIntegerAttr(laneType(e), value)));
}

std::optional<int64_t> constantOf(Value value) {
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant)))
    return constant.getSExtValue();
  return std::nullopt;
}

/// Bounds of the index values of a mask. All of them must fit 32 bits, the narrower kind of lane: their products then
/// fit 64.
class Ranges {
public:
  struct Range {
    int64_t lower, upper;
    bool fits() const { return llvm::isInt<32>(lower) && llvm::isInt<32>(upper); }
  };

  bool fit(Region &mask, Range queries, Range keys) {
    Block &body = mask.front();
    known[body.getArgument(2)] = queries;
    known[body.getArgument(3)] = keys;
    int64_t operations = 0;
    for (Operation &op : body.without_terminator()) {
      if (op.hasTrait<OpTrait::ConstantLike>())
        continue;
      if (++operations > mostOperations || !add(op))
        return false;
    }
    return conditions.contains(cast<YieldOp>(body.getTerminator()).getValue());
  }

private:
  std::optional<Range> rangeOf(Value value) {
    if (std::optional<int64_t> constant = constantOf(value))
      return Range{*constant, *constant};
    auto found = known.find(value);
    return found == known.end() ? std::nullopt : std::optional(found->second);
  }

  bool isCondition(Value value) { return constantOf(value) || conditions.contains(value); }

  /// False for an operation that lanes do not have, or operands that are not positions, constants or conditions.
  bool add(Operation &op) {
    if (isa<arith::AndIOp, arith::OrIOp, arith::XOrIOp>(op)) {
      conditions.insert(op.getResult(0));
      return isCondition(op.getOperand(0)) && isCondition(op.getOperand(1));
    }
    if (!isa<arith::AddIOp, arith::SubIOp, arith::MulIOp, arith::MinSIOp, arith::MaxSIOp, arith::CmpIOp>(op) ||
        !op.getOperand(0).getType().isIndex())
      return false;
    std::optional<Range> a = rangeOf(op.getOperand(0)), b = rangeOf(op.getOperand(1));
    if (!a || !b || !a->fits() || !b->fits())
      return false;
    if (isa<arith::CmpIOp>(op))
      return conditions.insert(op.getResult(0)).second;
    Range result = combine(op, *a, *b);
    known[op.getResult(0)] = result;
    return result.fits();
  }

  static Range combine(Operation &op, Range a, Range b) {
    return TypeSwitch<Operation *, Range>(&op)
        .Case([&](arith::AddIOp) { return Range{a.lower + b.lower, a.upper + b.upper}; })
        .Case([&](arith::SubIOp) { return Range{a.lower - b.upper, a.upper - b.lower}; })
        .Case([&](arith::MinSIOp) { return Range{std::min(a.lower, b.lower), std::min(a.upper, b.upper)}; })
        .Case([&](arith::MaxSIOp) { return Range{std::max(a.lower, b.lower), std::max(a.upper, b.upper)}; })
        .Default([&](Operation *) {
          auto products = {a.lower * b.lower, a.lower * b.upper, a.upper * b.lower, a.upper * b.upper};
          return Range{std::min(products), std::max(products)};
        });
  }

  llvm::DenseMap<Value, Range> known;
  llvm::DenseSet<Value> conditions;
};

} // namespace

std::optional<LaneMask> LaneMask::of(Region *mask, int64_t seqQ, int64_t seqKv, const Emitter &e) {
  if (!mask)
    return LaneMask(mask);
  if (ShapedType::isDynamic(seqQ) || ShapedType::isDynamic(seqKv))
    return std::nullopt;
  // Lanes past the last query and keys past the last one have positions too.
  constexpr int64_t past = 4096;
  const Ranges::Range queries{0, seqQ + past}, keys{0, seqKv + past};
  if (!queries.fits() || !keys.fits() || !Ranges().fit(*mask, queries, keys))
    return std::nullopt;
  return LaneMask(mask);
}

Value LaneMask::broadcast(Emitter &e, Value base) const {
  return e.broadcast(arith::IndexCastOp::create(e.builder, e.loc, laneType(e), base));
}

Value LaneMask::positions(Emitter &e, Value base) const {
  auto type = VectorType::get({e.table.lanes}, laneType(e));
  SmallVector<Attribute> steps;
  for (int64_t lane = 0; lane < e.table.lanes; ++lane)
    steps.push_back(e.builder.getIntegerAttr(laneType(e), lane));
  Value numbers = arith::ConstantOp::create(e.builder, e.loc, DenseElementsAttr::get(type, steps));
  return arith::AddIOp::create(e.builder, e.loc, broadcast(e, base), numbers);
}

Value LaneMask::offset(Emitter &e, Value positions, int64_t offset) const {
  return offset == 0 ? positions : arith::AddIOp::create(e.builder, e.loc, positions, splat(e, offset)).getResult();
}

Value LaneMask::visible(Emitter &e, Value queries, Value keys) const {
  Block &body = mask->front();
  IRMapping mapping;
  mapping.map(body.getArgument(2), queries);
  mapping.map(body.getArgument(3), keys);
  auto onLanes = [&](Value value) -> Value {
    std::optional<int64_t> constant = constantOf(value);
    if (!constant)
      return mapping.lookup(value);
    if (value.getType().isIndex())
      return splat(e, *constant);
    auto type = VectorType::get({e.table.lanes}, e.builder.getI1Type());
    return arith::ConstantOp::create(e.builder, e.loc, DenseElementsAttr::get(type, *constant != 0));
  };
  for (Operation &op : body.without_terminator()) {
    if (op.hasTrait<OpTrait::ConstantLike>())
      continue;
    // `index` arithmetic has no flags that a narrower type would violate: ranges show that nothing wraps.
    OperationState state(op.getLoc(), op.getName());
    for (Value operand : op.getOperands())
      state.operands.push_back(onLanes(operand));
    Type element = isa<IndexType>(op.getResult(0).getType()) ? Type(laneType(e)) : op.getResult(0).getType();
    state.types.push_back(VectorType::get({e.table.lanes}, element));
    state.propertiesAttr = op.getPropertiesAsAttribute();
    mapping.map(op.getResult(0), e.builder.create(state)->getResult(0));
  }
  return mapping.lookup(cast<YieldOp>(body.getTerminator()).getValue());
}
