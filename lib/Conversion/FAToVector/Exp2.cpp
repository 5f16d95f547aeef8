// Polynomials: relative minimax of 2^f with the constant term fixed to 1 (utils/exp2_coefficients.py).
#include "Exp2.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace mlir::fa::cpu;

namespace {

// f in [0, 1): vreduce rounds down.
constexpr double positiveF32[] = {0.693151312, 0.24016445, 0.0557999132, 0.00901703022, 0.00186713011};
constexpr double positiveF64[] = {0.6931471805599453,     0.24022650695909673,    0.05550410866498067,
                                  0.009618129105151757,   0.001333355834393728,   0.00015403521219107733,
                                  1.5252998899728418e-05, 1.3210583477765189e-06, 1.0236023803275179e-07,
                                  6.634445866251414e-09,  6.123092916826387e-10};
// f in [-1/2, 1/2]: the portable form rounds to nearest.
constexpr double centredF32[] = {0.693146978, 0.240222421, 0.0555073374, 0.00967151266, 0.00132647269};
constexpr double centredF64[] = {0.6931471805599453,     0.240226506959101,      0.05550410866482153,
                                 0.009618129107606555,   0.0013333558146441213,  0.00015403530442294533,
                                 1.5252733798955124e-05, 1.3215442248864971e-06, 1.0178078236206027e-07,
                                 7.072653491297324e-09,  4.452168551638733e-10};

/// 1 + c0 f + c1 f^2 + ...
Value polynomial(Emitter &e, Value f, ArrayRef<double> coefficients) {
  Value result = e.splat(coefficients.back());
  for (double coefficient : llvm::reverse(coefficients.drop_back()))
    result = e.multiplyAdd(result, f, e.splat(coefficient));
  return e.multiplyAdd(result, f, e.splat(1.0));
}

Value intrinsic(Emitter &e, llvm::StringRef name, ValueRange operands) {
  return LLVM::CallIntrinsicOp::create(e.builder, e.loc, e.vectorType, e.builder.getStringAttr(name), operands)
      .getResult(0);
}

Value constantInt(Emitter &e, unsigned bits, int64_t value) {
  return arith::ConstantOp::create(e.builder, e.loc, e.builder.getIntegerAttr(e.builder.getIntegerType(bits), value));
}

/// VREDUCE gives x - floor(x) (0 at infinities), VSCALEF p * 2^floor(x) (0 at -inf): no clamp, no integer arithmetic.
Value emitAvx512(Emitter &e, Value x, bool isF32) {
  std::string suffix = isF32 ? ".ps.512" : ".pd.512";
  Value everyLane = constantInt(e, isF32 ? 16 : 8, -1);
  Value currentRounding = constantInt(e, 32, 4);
  Value roundDown = constantInt(e, 32, 9);
  Value f = intrinsic(e, "llvm.x86.avx512.mask.reduce" + suffix, {x, roundDown, x, everyLane, currentRounding});
  Value p = isF32 ? polynomial(e, f, positiveF32) : polynomial(e, f, positiveF64);
  return intrinsic(e, "llvm.x86.avx512.mask.scalef" + suffix, {p, x, p, everyLane, currentRounding});
}

/// Adding 1.5 * 2^(mantissa bits) leaves round(x) in the low bits; they are shifted into the exponent of the
/// polynomial.
Value emitPortable(Emitter &e, Value x, bool isF32) {
  const int64_t mantissa = isF32 ? 23 : 52;
  Value magic = e.splat(isF32 ? 0x1.8p23 : 0x1.8p52);
  Value largest = e.splat(isF32 ? 126.0 : 1022.0);
  Value limited = e.smaller(x, largest);
  Value shifted = e.addf(limited, magic);
  Value f = e.subf(limited, e.subf(shifted, magic));
  Value p = isF32 ? polynomial(e, f, centredF32) : polynomial(e, f, centredF64);
  auto bits = VectorType::get({e.table.lanes}, e.builder.getIntegerType(isF32 ? 32 : 64));
  Value amount = arith::ConstantOp::create(
      e.builder, e.loc, DenseElementsAttr::get(bits, e.builder.getIntegerAttr(bits.getElementType(), mantissa)));
  Value exponent =
      arith::ShLIOp::create(e.builder, e.loc, arith::BitcastOp::create(e.builder, e.loc, bits, shifted), amount);
  Value sum = arith::AddIOp::create(e.builder, e.loc, arith::BitcastOp::create(e.builder, e.loc, bits, p), exponent);
  Value scaled = arith::BitcastOp::create(e.builder, e.loc, e.vectorType, sum);
  Value tiny = arith::CmpFOp::create(e.builder, e.loc, arith::CmpFPredicate::OLT, x, e.splat(isF32 ? -126.0 : -1022.0));
  Value bounded = e.select(tiny, e.splat(0.0), scaled);
  // Integer addition can carry a NaN out of its exponent.
  Value unordered = arith::CmpFOp::create(e.builder, e.loc, arith::CmpFPredicate::UNO, x, x);
  return e.select(unordered, x, bounded);
}

} // namespace

Value mlir::fa::cpu::emitExp2(Emitter &e, Value x) {
  bool isF32 = e.type.isF32();
  return e.table.avx512 ? emitAvx512(e, x, isF32) : emitPortable(e, x, isF32);
}
