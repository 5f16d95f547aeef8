// Positions of a fragment as one value per row plus a constant per column, so that a comparison of positions is one
// against an immediate: j <= i becomes column <= i - j0, with i - j0 computed once per row.
#include "KernelLowering.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/InferIntRangeInterface.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::fa::hopper;
using arith::CmpIPredicate;

//===- ranges --------------------------------------------------------------------===//

constexpr int64_t smallest = std::numeric_limits<int32_t>::min(), largest = std::numeric_limits<int32_t>::max();
constexpr SignedRange anyIndex{smallest, largest};

/// What a 32-bit computation with this exact result can give: all values if it can wrap.
static SignedRange orAny(SignedRange exact) {
  return exact.first >= smallest && exact.second <= largest ? exact : anyIndex;
}

/// Index is 32 bits wide in a kernel (docs/Decisions/0300).
static bool isPositionType(Type type) { return type.isIndex() || type.isInteger(32); }

SignedRange KernelLowering::rangeOf(Value value, unsigned depth) {
  if (auto known = ranges.find(value); known != ranges.end())
    return known->second;
  auto op = value.getDefiningOp<InferIntRangeInterface>();
  constexpr unsigned deepest = 16;
  if (!op || !isPositionType(value.getType()) || depth == deepest)
    return anyIndex;
  SmallVector<ConstantIntRanges> operands;
  for (Value operand : op->getOperands()) {
    unsigned width = ConstantIntRanges::getStorageBitwidth(operand.getType());
    if (!isPositionType(operand.getType())) {
      operands.push_back(ConstantIntRanges::maxRange(width));
      continue;
    }
    auto [lo, hi] = rangeOf(operand, depth + 1);
    operands.push_back(ConstantIntRanges::fromSigned(APInt(width, lo, true), APInt(width, hi, true)));
  }
  SignedRange result = anyIndex;
  op.inferResultRanges(operands, [&](Value inferred, const ConstantIntRanges &range) {
    if (inferred == value)
      result = orAny({range.smin().getSExtValue(), range.smax().getSExtValue()});
  });
  return ranges[value] = result;
}

//===- positions -----------------------------------------------------------------===//

int64_t fa::hopper::columnOf(int64_t element) { return 8 * (element / 4) + element % 2; }

/// `combine` for both rows; once if they do not differ.
template <typename Combine> static RowPair forRows(const RowPair &a, const RowPair &b, Combine combine) {
  Value first = combine(a[0], b[0]);
  return {first, a[0] == a[1] && b[0] == b[1] ? first : combine(a[1], b[1])};
}

void KernelLowering::setPositions(Value vector, RowPair rows, int64_t step, SignedRange range) {
  positions[vector] = {rows, step, range};
}

/// The vector as positions, null if it is anything else.
const Positions *KernelLowering::positionsOf(Value vector) {
  auto found = positions.find(vector);
  return found == positions.end() ? nullptr : &found->second;
}

static bool isFragmentOf(Type type, function_ref<bool(Type)> isElement) {
  auto vector = dyn_cast<VectorType>(type);
  return vector && vector.getRank() == 1 && vector.getNumElements() % 4 == 0 && isElement(vector.getElementType());
}

/// A small factor that is the same for all elements.
static std::optional<int64_t> constantFactor(const Positions &positions) {
  APInt factor;
  if (positions.step != 0 || positions.rows[0] != positions.rows[1] ||
      !matchPattern(positions.rows[0], m_ConstantInt(&factor)) || factor.abs().sgt(1 << 10))
    return std::nullopt;
  return factor.getSExtValue();
}

template <typename OpT>
static std::optional<Positions> combined(LocBuilder &b, const Positions &x, const Positions &y, int64_t step,
                                         SignedRange exact) {
  RowPair rows = forRows(x.rows, y.rows, [&](Value p, Value q) { return OpT::create(b, p, q).getResult(); });
  return Positions{rows, step, orAny(exact)};
}

/// The operation on positions `x` and `y`, if its result is one value per row plus a multiple of the column.
static std::optional<Positions> combine(LocBuilder &b, Operation *op, const Positions &x, const Positions &y) {
  auto [xLo, xHi] = x.range;
  auto [yLo, yHi] = y.range;
  if (isa<arith::AddIOp>(op))
    return combined<arith::AddIOp>(b, x, y, x.step + y.step, {xLo + yLo, xHi + yHi});
  if (isa<arith::SubIOp>(op))
    return combined<arith::SubIOp>(b, x, y, x.step - y.step, {xLo - yHi, xHi - yLo});
  if (isa<arith::MinSIOp>(op) && x.step == y.step)
    return combined<arith::MinSIOp>(b, x, y, x.step, {std::min(xLo, yLo), std::min(xHi, yHi)});
  if (isa<arith::MaxSIOp>(op) && x.step == y.step)
    return combined<arith::MaxSIOp>(b, x, y, x.step, {std::max(xLo, yLo), std::max(xHi, yHi)});
  if (isa<arith::MulIOp>(op)) {
    std::optional<int64_t> factor = constantFactor(y);
    const Positions &other = factor ? x : y;
    if (!factor)
      factor = constantFactor(x);
    constexpr int64_t largestStep = 1 << 16; // times a column: an immediate
    if (!factor || std::abs(other.step * *factor) > largestStep)
      return std::nullopt;
    auto [lo, hi] = std::minmax({other.range.first * *factor, other.range.second * *factor});
    return combined<arith::MulIOp>(b, x, y, other.step * *factor, {lo, hi});
  }
  return std::nullopt;
}

//===- comparisons ---------------------------------------------------------------===//

/// x - y, at the end of the range where it does not fit 32 bits.
static Value difference(LocBuilder &b, Value x, Value y, bool canWrap) {
  if (!canWrap)
    return arith::SubIOp::create(b, x, y);
  auto cast = [&](Type type, Value value) -> Value {
    return type == value.getType() ? value : arith::IndexCastOp::create(b, type, value).getResult();
  };
  Value clamped = LLVM::SSubSat::create(b, cast(b.getI32Type(), x), cast(b.getI32Type(), y));
  return cast(x.getType(), clamped);
}

bool KernelLowering::lowerComparison(LocBuilder &b, arith::CmpIOp op) {
  const Positions *x = positionsOf(op.getLhs()), *y = positionsOf(op.getRhs());
  CmpIPredicate predicate = op.getPredicate();
  switch (predicate) {
  case CmpIPredicate::ult:
  case CmpIPredicate::ule:
  case CmpIPredicate::ugt:
  case CmpIPredicate::uge:
    return false;
  case CmpIPredicate::slt:
  case CmpIPredicate::sgt:
    if (x && y && x->step < y->step)
      predicate = predicate == CmpIPredicate::slt ? CmpIPredicate::sgt : CmpIPredicate::slt;
    break;
  case CmpIPredicate::sle:
  case CmpIPredicate::sge:
    if (x && y && x->step < y->step)
      predicate = predicate == CmpIPredicate::sle ? CmpIPredicate::sge : CmpIPredicate::sle;
    break;
  default: // eq and ne hold modulo 2^32
    break;
  }
  if (!x || !y)
    return false;
  if (x->step < y->step)
    std::swap(x, y);
  if (x->step == y->step) {
    RowPair rows = forRows(x->rows, y->rows,
                           [&](Value p, Value q) { return arith::CmpIOp::create(b, predicate, p, q).getResult(); });
    setElements(b, op.getResult(), broadcastRows(rows, cast<VectorType>(op.getType()).getNumElements()));
    return true;
  }
  // x0 + step column <pred> y0 + ... becomes step column <pred> y0 - x0.
  SignedRange exact{y->range.first - x->range.second, y->range.second - x->range.first};
  bool isEquality = predicate == CmpIPredicate::eq || predicate == CmpIPredicate::ne;
  bool canWrap = !isEquality && orAny(exact) != exact;
  RowPair bounds = forRows(y->rows, x->rows, [&](Value p, Value q) { return difference(b, p, q, canWrap); });
  comparisons[op.getResult()] = {predicate, x->step - y->step, bounds, orAny(exact)};
  return true;
}

/// With `<=` or `>=`; nothing if the bound may be the last number there is.
static std::optional<Comparison> inclusive(LocBuilder &b, Comparison comparison) {
  bool isLess = comparison.predicate == CmpIPredicate::slt, isGreater = comparison.predicate == CmpIPredicate::sgt;
  if (!isLess && !isGreater)
    return comparison;
  int64_t by = isLess ? -1 : 1;
  SignedRange exact{comparison.range.first + by, comparison.range.second + by};
  if (orAny(exact) != exact)
    return std::nullopt;
  Value one = arith::ConstantOp::create(b, b.getIntegerAttr(comparison.bounds[0].getType(), by));
  comparison.bounds = forRows(comparison.bounds, {one, one},
                              [&](Value x, Value y) { return arith::AddIOp::create(b, x, y).getResult(); });
  comparison.predicate = isLess ? CmpIPredicate::sle : CmpIPredicate::sge;
  comparison.range = exact;
  return comparison;
}

/// c <= x and c <= y is c <= min(x, y), and so on: one comparison per element instead of two.
bool KernelLowering::joinComparisons(LocBuilder &b, Operation *op) {
  auto x = comparisons.find(op->getOperand(0)), y = comparisons.find(op->getOperand(1));
  if (x == comparisons.end() || y == comparisons.end() || x->second.step != y->second.step ||
      x->second.bounds[0].getType() != y->second.bounds[0].getType())
    return false;
  std::optional<Comparison> p = inclusive(b, x->second), q = inclusive(b, y->second);
  if (!p || !q || p->predicate != q->predicate)
    return false;
  if (p->predicate != CmpIPredicate::sle && p->predicate != CmpIPredicate::sge)
    return false;
  bool takesSmaller = isa<arith::AndIOp>(op) == (p->predicate == CmpIPredicate::sle);
  Comparison joined = *p;
  joined.bounds = forRows(p->bounds, q->bounds, [&](Value v, Value w) -> Value {
    return takesSmaller ? arith::MinSIOp::create(b, v, w).getResult() : arith::MaxSIOp::create(b, v, w).getResult();
  });
  joined.range = {std::min(p->range.first, q->range.first), std::max(p->range.second, q->range.second)};
  comparisons[op->getResult(0)] = joined;
  return true;
}

//===- dispatch ------------------------------------------------------------------===//

/// Keeps an operation on positions in its short form; false if it has none.
bool KernelLowering::lowerPositionOp(LocBuilder &b, Operation *op) {
  if (op->getNumResults() != 1)
    return false;
  Value result = op->getResult(0);
  if (isFragmentOf(result.getType(), [](Type type) { return type.isInteger(1); })) {
    if (auto comparison = dyn_cast<arith::CmpIOp>(op))
      return lowerComparison(b, comparison);
    return isa<arith::AndIOp, arith::OrIOp>(op) && joinComparisons(b, op);
  }
  if (!isFragmentOf(result.getType(), isPositionType))
    return false;
  if (auto constantOp = dyn_cast<arith::ConstantOp>(op)) {
    auto dense = cast<DenseElementsAttr>(constantOp.getValue());
    if (!dense.isSplat())
      return false;
    Value splat = arith::ConstantOp::create(b, cast<TypedAttr>(dense.getSplatValue<Attribute>()));
    setPositions(result, {splat, splat}, 0, rangeOf(splat));
    return true;
  }
  if (auto broadcast = dyn_cast<vector::BroadcastOp>(op); broadcast && !isa<VectorType>(broadcast.getSourceType())) {
    Value source = broadcast.getSource();
    setPositions(result, {source, source}, 0, rangeOf(source));
    return true;
  }
  if (auto indexCast = dyn_cast<arith::IndexCastOp>(op)) {
    const Positions *from = positionsOf(indexCast.getIn());
    if (!from)
      return false;
    Positions positions = *from;
    Type type = cast<VectorType>(result.getType()).getElementType();
    RowPair rows = forRows(positions.rows, positions.rows,
                           [&](Value row, Value) -> Value { return arith::IndexCastOp::create(b, type, row); });
    setPositions(result, rows, positions.step, positions.range);
    return true;
  }
  if (op->getNumOperands() != 2)
    return false;
  const Positions *x = positionsOf(op->getOperand(0)), *y = positionsOf(op->getOperand(1));
  std::optional<Positions> joined = x && y ? combine(b, op, *x, *y) : std::nullopt;
  if (joined)
    positions[result] = *joined;
  return joined.has_value();
}

/// One value or comparison per element, for whoever asks for them.
std::optional<SmallVector<Value>> KernelLowering::expandPositions(LocBuilder &b, Value vector) {
  int64_t length = cast<VectorType>(vector.getType()).getNumElements();
  SmallVector<Value> values;
  auto number = [&](Value like, int64_t value) {
    return arith::ConstantOp::create(b, b.getIntegerAttr(like.getType(), value));
  };
  if (auto found = comparisons.find(vector); found != comparisons.end()) {
    const Comparison &comparison = found->second;
    for (int64_t v = 0; v < length; ++v) {
      Value bound = comparison.bounds[rowOf(v)];
      values.push_back(
          arith::CmpIOp::create(b, comparison.predicate, number(bound, comparison.step * columnOf(v)), bound));
    }
    return values;
  }
  const Positions *known = positionsOf(vector);
  if (!known)
    return std::nullopt;
  for (int64_t v = 0; v < length; ++v) {
    Value row = known->rows[rowOf(v)];
    int64_t offset = known->step * columnOf(v);
    values.push_back(offset ? add(b, row, number(row, offset)) : row);
  }
  return values;
}

/// Elements for positions that control flow carries on.
void KernelLowering::expandEscapingPositions() {
  DenseSet<Operation *> lowered(replaced.begin(), replaced.end());
  auto escapes = [&](Value vector) {
    return llvm::any_of(vector.getUsers(), [&](Operation *user) { return !lowered.contains(user); });
  };
  SmallVector<Value> escaping;
  for (Operation *op : replaced)
    for (Value result : op->getResults())
      if ((positions.contains(result) || comparisons.contains(result)) && escapes(result))
        escaping.push_back(result);
  for (Value vector : escaping) {
    SmallVector<Value> values = elementsOf(vector);
    LocBuilder b(vector.getLoc(), vector.getContext());
    b.setInsertionPointAfter(values.back().getDefiningOp());
    setElements(b, vector, values);
  }
}
