// Integers of a mask region as guarded affine pieces. An operation is read exactly or not at all: the value
// of every piece must fit the type, or arithmetic that wraps would be mistaken for arithmetic that does not.
#include "MaskReader.h"
#include "mlir/Analysis/FlatLinearValueConstraints.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::fa;

static constexpr unsigned kMaxPieces = 8;
static constexpr unsigned kMaxIntegerDepth = 500;
static constexpr __int128 kWideLimit = __int128(1) << 62;

/// The least and greatest value that may stand in a type; 64 bits are kept a factor of two away.
static std::pair<__int128, __int128> limitsOf(Type type) {
  unsigned width = type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
  __int128 limit = width >= 64 ? kWideLimit : __int128(1) << (width - 1);
  return {-limit, limit - 1};
}

MaskReader::Interval MaskReader::rangeOf(Type type) {
  auto [lower, upper] = limitsOf(type);
  if (upper > kMaxOperand)
    return {-__int128(kMaxOperand), kMaxOperand};
  return {lower, upper};
}

/// Interval arithmetic; every sub-expression was checked against limitsOf, so products fit.
MaskReader::Interval MaskReader::rangeOf(AffineExpr expr) {
  switch (expr.getKind()) {
  case AffineExprKind::Constant: {
    int64_t value = cast<AffineConstantExpr>(expr).getValue();
    return {value, value};
  }
  case AffineExprKind::DimId: {
    Interval length = symbolRanges[cast<AffineDimExpr>(expr).getPosition()];
    return {0, std::max<__int128>(length.upper - 1, 0)};
  }
  case AffineExprKind::SymbolId:
    return symbolRanges[cast<AffineSymbolExpr>(expr).getPosition()];
  default:
    break;
  }
  auto binary = cast<AffineBinaryOpExpr>(expr);
  Interval a = rangeOf(binary.getLHS()), b = rangeOf(binary.getRHS());
  if (expr.getKind() == AffineExprKind::Add)
    return {a.lower + b.lower, a.upper + b.upper};
  // The right side is a constant from here on.
  int64_t factor = static_cast<int64_t>(b.lower);
  auto floorDivide = [&](__int128 x) { return x >= 0 ? x / factor : -((-x + factor - 1) / factor); };
  switch (expr.getKind()) {
  case AffineExprKind::Mul:
    return {std::min(a.lower * factor, a.upper * factor), std::max(a.lower * factor, a.upper * factor)};
  case AffineExprKind::FloorDiv:
    return {floorDivide(a.lower), floorDivide(a.upper)};
  case AffineExprKind::CeilDiv:
    return {floorDivide(a.lower), floorDivide(a.upper) + 1};
  default:
    return {0, factor - 1};
  }
}

bool MaskReader::fits(const Pieces &pieces, Type type) {
  auto [lower, upper] = limitsOf(type);
  return llvm::all_of(pieces, [&, lower = lower, upper = upper](const Piece &piece) {
    Interval range = rangeOf(piece.value);
    return range.lower >= lower && range.upper <= upper;
  });
}

/// By intervals, else by 0 <= i < Sq and 0 <= j < Sk.
bool MaskReader::isNonNegative(AffineExpr expr) {
  if (rangeOf(expr).lower >= 0)
    return true;
  AffineExpr i = getAffineDimExpr(0, context), j = getAffineDimExpr(1, context);
  AffineExpr sq = getAffineSymbolExpr(kMaskSq, context), sk = getAffineSymbolExpr(kMaskSk, context);
  std::vector<SmallVector<int64_t, 8>> rows;
  FlatLinearConstraints constraints;
  AffineMap map = AffineMap::get(2, kFirstMaskOperand + reading.operands.size(),
                                 {i, j, sq - 1 - i, sk - 1 - j, -expr - 1}, context);
  if (affineMagnitude(expr) > kMaxAffineMagnitude || failed(getFlattenedAffineExprs(map, &rows, &constraints)))
    return false;
  for (const SmallVector<int64_t, 8> &row : rows)
    constraints.addInequality(row);
  return constraints.isEmpty();
}

AffineExpr MaskReader::symbolFor(Value value, Interval range) {
  AffineExpr symbol = getAffineSymbolExpr(kFirstMaskOperand + reading.operands.size(), context);
  reading.operands.push_back(value);
  symbolRanges.push_back(range);
  return symbol;
}

/// Sq or Sk for the dimension 2 of a query or key buffer.
std::optional<AffineExpr> MaskReader::lengthFor(Value value) {
  Operation *op = value.getDefiningOp();
  if (!isa_and_nonnull<memref::DimOp, tensor::DimOp>(op))
    return std::nullopt;
  APInt position;
  if (!matchPattern(op->getOperand(1), m_ConstantInt(&position)) || position != 2)
    return std::nullopt;
  if (llvm::is_contained(lengths.queryBuffers, op->getOperand(0)))
    return getAffineSymbolExpr(kMaskSq, context);
  if (llvm::is_contained(lengths.keyBuffers, op->getOperand(0)))
    return getAffineSymbolExpr(kMaskSk, context);
  return std::nullopt;
}

std::optional<MaskReader::Pieces> MaskReader::readInteger(Value value) {
  if (auto it = integers.find(value); it != integers.end())
    return it->second;
  if (depth >= kMaxIntegerDepth || value.getType().isInteger(1)) // booleans are formulas, not numbers
    return std::nullopt;
  ++depth;
  std::optional<Pieces> result = readAffine(value);
  --depth;
  // Not affine but the same for every pair: an operand.
  bool isOperand =
      value.getType().isIndex() || (value.getType().isInteger() && value.getType().getIntOrFloatBitWidth() <= 64);
  if (!result && isOperand && !varying.contains(value) && !matchPattern(value, m_Constant()))
    result = Pieces{{MaskPredicate::constant(true), symbolFor(value, rangeOf(value.getType()))}};
  integers[value] = result;
  return result;
}

std::optional<MaskReader::Pieces> MaskReader::readAffine(Value value) {
  if (std::optional<AffineExpr> length = lengthFor(value))
    return Pieces{{MaskPredicate::constant(true), *length}};
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant))) {
    if (constant.getSignificantBits() > 62)
      return std::nullopt;
    return Pieces{{MaskPredicate::constant(true), getAffineConstantExpr(constant.getSExtValue(), context)}};
  }
  Operation *op = value.getDefiningOp();
  if (!op || !(value.getType().isIndex() || value.getType().isInteger()))
    return std::nullopt;
  std::optional<Pieces> pieces = readOperation(op);
  if (!pieces)
    return std::nullopt;
  noteCalculation(op, *pieces);
  auto flags = dyn_cast<arith::ArithIntegerOverflowFlagsInterface>(op);
  bool wraps = !flags || !flags.hasNoSignedWrap();
  if (!fits(*pieces, value.getType()) && (wraps || value.getType().isIndex())) {
    if (varying.contains(value))
      giveUp(op, ("'" + op->getName().getStringRef() +
                  "' may overflow its type at these lengths: compute in index, or promise overflow<nsw>")
                     .str());
    return std::nullopt;
  }
  return pieces;
}

void MaskReader::noteCalculation(Operation *op, const Pieces &pieces) {
  if (isa<arith::IndexCastOp, arith::ExtSIOp, arith::SelectOp, arith::MinSIOp, arith::MaxSIOp>(op))
    return;
  for (const Piece &piece : pieces)
    piece.value.walk([&](AffineExpr part) {
      if (auto symbol = dyn_cast<AffineSymbolExpr>(part))
        calculatedWith.insert(symbol.getPosition());
    });
}

std::optional<MaskReader::Pieces> MaskReader::combine(Operation *op, Combine function) {
  std::optional<Pieces> lhs = readInteger(op->getOperand(0)), rhs = readInteger(op->getOperand(1));
  if (!lhs || !rhs || lhs->size() * rhs->size() > kMaxPieces)
    return std::nullopt;
  Pieces result;
  for (const Piece &x : *lhs)
    for (const Piece &y : *rhs) {
      AffineExpr value = function(x.value, y.value);
      if (!value)
        return std::nullopt;
      result.push_back({x.where & y.where, value});
    }
  return result;
}

std::optional<MaskReader::Pieces> MaskReader::readNonNegative(Value value) {
  std::optional<Pieces> pieces = readInteger(value);
  if (!pieces || !llvm::all_of(*pieces, [&](const Piece &piece) { return isNonNegative(piece.value); }))
    return std::nullopt;
  return pieces;
}

static bool isConstant(AffineExpr expr) { return isa<AffineConstantExpr>(expr); }

std::optional<MaskReader::Pieces> MaskReader::readOperation(Operation *op) {
  return TypeSwitch<Operation *, std::optional<Pieces>>(op)
      .Case<arith::IndexCastOp, arith::ExtSIOp, arith::TruncIOp>([&](auto cast) { return readInteger(cast.getIn()); })
      .Case<arith::IndexCastUIOp, arith::ExtUIOp>([&](auto cast) -> std::optional<Pieces> {
        if (!cast.getIn().getType().isInteger(1))
          return readNonNegative(cast.getIn());
        MaskPredicate isSet = readBoolean(cast.getIn());
        return Pieces{{isSet, getAffineConstantExpr(1, context)}, {!isSet, getAffineConstantExpr(0, context)}};
      })
      .Case([&](arith::AddIOp) { return combine(op, [](AffineExpr x, AffineExpr y) { return x + y; }); })
      .Case([&](arith::SubIOp) { return combine(op, [](AffineExpr x, AffineExpr y) { return x - y; }); })
      .Case([&](arith::MulIOp) {
        return combine(op, [](AffineExpr x, AffineExpr y) {
          return isConstant(x) ? y * x : isConstant(y) ? x * y : AffineExpr();
        });
      })
      .Case<arith::FloorDivSIOp, arith::CeilDivSIOp, arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp>(
          [&](auto) { return readDivision(op); })
      .Case<arith::ShRSIOp, arith::ShLIOp, arith::AndIOp>([&](auto) { return readBitOperation(op); })
      .Case([&](arith::MinSIOp) { return readExtremum(op, false, false); })
      .Case([&](arith::MaxSIOp) { return readExtremum(op, true, false); })
      .Case([&](arith::MinUIOp) { return readExtremum(op, false, true); })
      .Case([&](arith::MaxUIOp) { return readExtremum(op, true, true); })
      .Case([&](arith::SelectOp) { return readSelect(op); })
      .Case([&](affine::AffineApplyOp) { return readAffineApply(op); })
      .Default([](Operation *) { return std::nullopt; });
}

/// By a positive constant. Truncation towards zero is a floor above zero and a ceiling below; as unsigned
/// numbers only dividends known not to be negative are read, except for remainders of powers of two.
std::optional<MaskReader::Pieces> MaskReader::readDivision(Operation *op) {
  APInt constant;
  if (!matchPattern(op->getOperand(1), m_ConstantInt(&constant)) || !constant.isStrictlyPositive() ||
      constant.getSignificantBits() > 40)
    return std::nullopt;
  int64_t divisor = constant.getSExtValue();
  std::optional<Pieces> dividend = readInteger(op->getOperand(0));
  if (!dividend)
    return std::nullopt;
  Pieces result;
  for (const Piece &piece : *dividend) {
    AffineExpr x = piece.value, floor = x.floorDiv(divisor), mod = x % divisor;
    bool isRemainder = isa<arith::RemSIOp, arith::RemUIOp>(op);
    bool floors = isa<arith::FloorDivSIOp>(op) || (isa<arith::RemUIOp>(op) && llvm::isPowerOf2_64(divisor));
    if (isa<arith::CeilDivSIOp>(op)) {
      result.push_back({piece.where, x.ceilDiv(divisor)});
    } else if (floors || isNonNegative(x)) {
      result.push_back({piece.where, isRemainder ? mod : floor});
    } else if (isa<arith::DivUIOp, arith::RemUIOp>(op)) {
      return std::nullopt;
    } else {
      MaskPredicate above = MaskPredicate::nonNegative(x);
      AffineExpr mirrored = isRemainder ? -((-x) % divisor) : -((-x).floorDiv(divisor));
      result.push_back({piece.where & above, isRemainder ? mod : floor});
      result.push_back({piece.where & !above, mirrored});
    }
  }
  return result.size() <= kMaxPieces ? std::optional(result) : std::nullopt;
}

/// In two's complement, x >> n is x floordiv 2^n, x << n is x 2^n, and x & (2^n - 1) is x mod 2^n.
std::optional<MaskReader::Pieces> MaskReader::readBitOperation(Operation *op) {
  APInt constant;
  if (!matchPattern(op->getOperand(1), m_ConstantInt(&constant)) || constant.isNegative() ||
      constant.getSignificantBits() > 40)
    return std::nullopt;
  int64_t value = constant.getSExtValue();
  bool isAnd = isa<arith::AndIOp>(op);
  if (isAnd ? !llvm::isPowerOf2_64(value + 1) : value >= 32 || value >= int64_t(constant.getBitWidth()))
    return std::nullopt;
  std::optional<Pieces> pieces = readInteger(op->getOperand(0));
  if (!pieces)
    return std::nullopt;
  int64_t power = isAnd ? value + 1 : int64_t(1) << value;
  for (Piece &piece : *pieces)
    piece.value = isAnd                    ? piece.value % power
                  : isa<arith::ShLIOp>(op) ? piece.value * power
                                           : piece.value.floorDiv(power);
  return pieces;
}

std::optional<MaskReader::Pieces> MaskReader::readExtremum(Operation *op, bool isMax, bool isUnsigned) {
  auto readSide = [&](Value side) { return isUnsigned ? readNonNegative(side) : readInteger(side); };
  std::optional<Pieces> lhs = readSide(op->getOperand(0)), rhs = readSide(op->getOperand(1));
  if (!lhs || !rhs || 2 * lhs->size() * rhs->size() > kMaxPieces)
    return std::nullopt;
  Pieces result;
  for (const Piece &x : *lhs)
    for (const Piece &y : *rhs) {
      MaskPredicate first = MaskPredicate::nonNegative(isMax ? x.value - y.value : y.value - x.value);
      result.push_back({x.where & y.where & first, x.value});
      result.push_back({x.where & y.where & !first, y.value});
    }
  return result;
}

std::optional<MaskReader::Pieces> MaskReader::readSelect(Operation *op) {
  auto select = cast<arith::SelectOp>(op);
  std::optional<Pieces> then = readInteger(select.getTrueValue()), otherwise = readInteger(select.getFalseValue());
  if (!then || !otherwise || then->size() + otherwise->size() > kMaxPieces)
    return std::nullopt;
  MaskPredicate condition = readBoolean(select.getCondition());
  Pieces result;
  for (const Piece &piece : *then)
    result.push_back({piece.where & condition, piece.value});
  for (const Piece &piece : *otherwise)
    result.push_back({piece.where & !condition, piece.value});
  return result;
}

std::optional<MaskReader::Pieces> MaskReader::readAffineApply(Operation *op) {
  auto apply = cast<affine::AffineApplyOp>(op);
  AffineExpr expr = apply.getAffineMap().getResult(0);
  if (!expr.isPureAffine() || affineMagnitude(expr) > kMaxAffineMagnitude)
    return std::nullopt;
  SmallVector<AffineExpr> operands;
  MaskPredicate where = MaskPredicate::constant(true);
  for (Value operand : apply.getMapOperands()) {
    std::optional<Pieces> pieces = readInteger(operand);
    if (!pieces || pieces->size() != 1)
      return std::nullopt;
    where = where & pieces->front().where;
    operands.push_back(pieces->front().value);
  }
  unsigned numDims = apply.getAffineMap().getNumDims();
  AffineExpr value =
      expr.replaceDimsAndSymbols(ArrayRef(operands).take_front(numDims), ArrayRef(operands).drop_front(numDims));
  return Pieces{{where, value}};
}
