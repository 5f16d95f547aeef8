// Booleans of a mask region, and the entry point. Integers: MaskReaderIntegers.cpp.
#include "MaskReader.h"
#include "fa/Dialect/FA/IR/ScalarRegion.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::fa;

static constexpr unsigned kMaxDepth = 500;

MaskReader::MaskReader(Region &region, const MaskLengths &lengths) : context(region.getContext()), lengths(lengths) {
  Block &block = region.front();
  for (unsigned position : {0u, 1u}) {
    Value argument = block.getArgument(2 + position);
    integers[argument] = Pieces{{MaskPredicate::constant(true), getAffineDimExpr(position, context)}};
    varying.insert(argument);
  }
  for (std::optional<int64_t> length : {lengths.sq, lengths.sk})
    symbolRanges.push_back({length.value_or(0), length.value_or(kMaxLength)});
  findVarying(block);
}

void MaskReader::findVarying(Block &block) {
  for (Operation &op : block) {
    bool varies = false;
    op.walk([&](Operation *nested) {
      varies |= llvm::any_of(nested->getOperands(), [&](Value operand) { return varying.contains(operand); });
    });
    if (varies)
      varying.insert(op.result_begin(), op.result_end());
  }
}

void MaskReader::giveUp(Operation *op, std::string reason) {
  if (llvm::none_of(reading.unread, [&](const MaskReading::Unread &unread) { return unread.op == op; }))
    reading.unread.push_back({op, std::move(reason)});
}

MaskReading MaskReader::read(Value yielded) {
  reading.predicate = readBoolean(yielded);
  if (reading.predicate.hasUnknown() && reading.unread.empty())
    giveUp(yielded.getDefiningOp(), "the mask is too large to be read as one formula");
  dropUnusedOperands();
  return std::move(reading);
}

static void markSymbols(const MaskPredicate &predicate, llvm::SmallBitVector &used) {
  if (AffineExpr expr = predicate.expr())
    expr.walk([&](AffineExpr part) {
      if (auto symbol = dyn_cast<AffineSymbolExpr>(part))
        used.set(symbol.getPosition());
    });
  for (const MaskPredicate &operand : predicate.operands())
    markSymbols(operand, used);
}

/// Symbols of attempts that came to nothing are left out, the others renumbered.
void MaskReader::dropUnusedOperands() {
  llvm::SmallBitVector used(kFirstMaskOperand + reading.operands.size());
  markSymbols(reading.predicate, used);
  SmallVector<AffineExpr> renumbered = {getAffineSymbolExpr(kMaskSq, context), getAffineSymbolExpr(kMaskSk, context)};
  SmallVector<Value> kept;
  for (auto [position, operand] : llvm::enumerate(reading.operands)) {
    renumbered.push_back(getAffineSymbolExpr(kFirstMaskOperand + kept.size(), context));
    if (!used.test(kFirstMaskOperand + position))
      continue;
    Interval range = symbolRanges[kFirstMaskOperand + position];
    if (range.lower >= 0)
      reading.facts.push_back(renumbered.back() - static_cast<int64_t>(range.lower));
    if (range.upper <= 1)
      reading.facts.push_back(static_cast<int64_t>(range.upper) - renumbered.back());
    reading.calculatedWith.push_back(calculatedWith.contains(kFirstMaskOperand + position));
    kept.push_back(operand);
  }
  reading.predicate = reading.predicate.replace({}, renumbered);
  reading.operands = std::move(kept);
}

MaskPredicate MaskReader::readBoolean(Value value) {
  if (auto it = booleans.find(value); it != booleans.end())
    return it->second;
  if (depth >= kMaxDepth) {
    if (Operation *op = value.getDefiningOp())
      giveUp(op, "the mask is nested too deeply");
    return MaskPredicate::unknown();
  }
  ++depth;
  size_t numUnread = reading.unread.size();
  MaskPredicate result = readBooleanUncached(value);
  --depth;
  if (result.hasUnknown() && !varying.contains(value)) {
    reading.unread.truncate(numUnread); // opaque, but the same for every pair: an operand that is 0 or 1
    result = MaskPredicate::nonNegative(symbolFor(value, {0, 1}) - 1);
  }
  booleans.try_emplace(value, result);
  return result;
}

MaskPredicate MaskReader::readBooleanUncached(Value value) {
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant)))
    return MaskPredicate::constant(!constant.isZero());
  Operation *op = value.getDefiningOp();
  if (!op)
    return MaskPredicate::unknown();
  if (isa<arith::CmpIOp>(op))
    return readComparison(op);
  if (isa<arith::AndIOp, arith::OrIOp, arith::XOrIOp>(op)) {
    MaskPredicate a = readBoolean(op->getOperand(0)), b = readBoolean(op->getOperand(1));
    return isa<arith::AndIOp>(op) ? a & b : isa<arith::OrIOp>(op) ? a | b : (a & !b) | (!a & b);
  }
  if (auto select = dyn_cast<arith::SelectOp>(op)) {
    MaskPredicate condition = readBoolean(select.getCondition());
    MaskPredicate then = readBoolean(select.getTrueValue()), otherwise = readBoolean(select.getFalseValue());
    using Kind = MaskPredicate::Kind;
    if (then.kind() == Kind::True) // shorter than the general form
      return condition | otherwise;
    if (otherwise.kind() == Kind::True)
      return !condition | then;
    return (condition & then) | (!condition & otherwise);
  }
  giveUp(op, ("'" + op->getName().getStringRef() + "' depends on the query or key position and is not affine").str());
  return MaskPredicate::unknown();
}

/// remsi(x, D) == 0 has the zeros of the floor remainder whatever the sign of x.
std::optional<MaskPredicate> MaskReader::readRemainderIsZero(Operation *op) {
  auto comparison = cast<arith::CmpIOp>(op);
  auto remainder = comparison.getLhs().getDefiningOp<arith::RemSIOp>();
  auto predicate = comparison.getPredicate();
  bool isEquality = predicate == arith::CmpIPredicate::eq || predicate == arith::CmpIPredicate::ne;
  APInt divisor;
  if (!remainder || !isEquality || !matchPattern(comparison.getRhs(), m_Zero()) ||
      !matchPattern(remainder.getRhs(), m_ConstantInt(&divisor)) || !divisor.isStrictlyPositive())
    return std::nullopt;
  std::optional<Pieces> dividend = readInteger(remainder.getLhs());
  if (!dividend || dividend->size() != 1)
    return std::nullopt;
  MaskPredicate isZero = MaskPredicate::zero(dividend->front().value % divisor.getSExtValue());
  return predicate == arith::CmpIPredicate::eq ? isZero : !isZero;
}

/// x < y of two affine values, in each of the ten senses of arith.cmpi.
static MaskPredicate compare(arith::CmpIPredicate predicate, AffineExpr x, AffineExpr y) {
  using P = arith::CmpIPredicate;
  auto atLeast = [](AffineExpr a, AffineExpr b) { return MaskPredicate::nonNegative(a - b); };
  // As unsigned numbers, the negative ones come after the others.
  auto unsignedLess = [&](AffineExpr a, AffineExpr b) {
    MaskPredicate less = atLeast(b, a + 1), aNegative = MaskPredicate::nonNegative(-a - 1),
                  bNegative = MaskPredicate::nonNegative(-b - 1);
    return (!aNegative & (bNegative | less)) | (aNegative & bNegative & less);
  };
  switch (predicate) {
  case P::eq:
    return MaskPredicate::zero(x - y);
  case P::ne:
    return !MaskPredicate::zero(x - y);
  case P::slt:
    return atLeast(y, x + 1);
  case P::sle:
    return atLeast(y, x);
  case P::sgt:
    return atLeast(x, y + 1);
  case P::sge:
    return atLeast(x, y);
  case P::ult:
    return unsignedLess(x, y);
  case P::uge:
    return !unsignedLess(x, y);
  case P::ugt:
    return unsignedLess(y, x);
  case P::ule:
    return !unsignedLess(y, x);
  }
  return MaskPredicate::unknown();
}

MaskPredicate MaskReader::readComparison(Operation *op) {
  auto comparison = cast<arith::CmpIOp>(op);
  if (comparison.getLhs().getType().isInteger(1)) {
    MaskPredicate a = readBoolean(comparison.getLhs()), b = readBoolean(comparison.getRhs());
    MaskPredicate differ = (a & !b) | (!a & b);
    if (comparison.getPredicate() == arith::CmpIPredicate::ne)
      return differ;
    if (comparison.getPredicate() == arith::CmpIPredicate::eq)
      return !differ;
    giveUp(op, "an ordered comparison of booleans is not read");
    return MaskPredicate::unknown();
  }
  if (std::optional<MaskPredicate> result = readRemainderIsZero(op))
    return *result;
  std::optional<Pieces> lhs = readInteger(comparison.getLhs()), rhs = readInteger(comparison.getRhs());
  if (!lhs || !rhs) {
    giveUp(op, "a side of this comparison is not affine in the query and key position");
    return MaskPredicate::unknown();
  }
  MaskPredicate result = MaskPredicate::constant(false);
  for (const Piece &x : *lhs)
    for (const Piece &y : *rhs)
      result = result | (x.where & y.where & compare(comparison.getPredicate(), x.value, y.value));
  if (result.hasUnknown())
    giveUp(op, "the numbers in this comparison are too large to be read as affine");
  return result;
}

FailureOr<MaskReading> fa::readMaskRegion(Region &region, const MaskLengths &lengths,
                                          function_ref<InFlightDiagnostic()> emitError) {
  if (!region.hasOneBlock())
    return emitError() << "expected a mask region of one block, but got " << region.getBlocks().size();
  Block &block = region.front();
  if (block.getNumArguments() != 4 || !llvm::all_of(block.getArgumentTypes(), [](Type type) { return type.isIndex(); }))
    return emitError() << "expected a mask region with the arguments (index, index, index, index), but got ("
                       << block.getArgumentTypes() << ")";
  if (!block.mightHaveTerminator() || block.getTerminator()->getNumOperands() != 1 ||
      !block.getTerminator()->getOperand(0).getType().isInteger(1))
    return emitError() << "expected the mask region to yield one i1";
  if (Operation *effect = findSideEffect(region)) {
    InFlightDiagnostic diagnostic = emitError() << "expected a mask region without side effects, but got '"
                                                << effect->getName() << "'";
    diagnostic.attachNote(effect->getLoc()) << "a mask may only compute and read memory";
    return diagnostic;
  }
  return MaskReader(region, lengths).read(block.getTerminator()->getOperand(0));
}
