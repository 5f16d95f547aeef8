// Math ops on scalars as approximate instructions or short formulas on them; no device library.
#include "KernelLowering.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::fa::hopper;

static Value call(LocBuilder &b, StringRef intrinsic, Value x) {
  return LLVM::CallIntrinsicOp::create(b, x.getType(), b.getStringAttr(intrinsic), ValueRange{x}).getResults();
}
/// 2^x with 2 ulp, subnormal results flushed (PTX ISA: ex2.approx.ftz).
static Value exp2Of(LocBuilder &b, Value x) { return call(b, "llvm.nvvm.ex2.approx.ftz.f32", x); }
static Value log2Of(LocBuilder &b, Value x) { return call(b, "llvm.nvvm.lg2.approx.ftz.f", x); }
static Value reciprocal(LocBuilder &b, Value x) { return call(b, "llvm.nvvm.rcp.approx.ftz.f", x); }
static Value real(LocBuilder &b, float value) { return arith::ConstantOp::create(b, b.getF32FloatAttr(value)); }
static Value times(LocBuilder &b, Value x, float y) { return arith::MulFOp::create(b, x, real(b, y)); }

constexpr float log2e = 1.44269504088896341f, ln2 = 0.693147180559945309f;

/// 1 - 2 / (1 + e^(2x)): absolute error of a few 2^-24 everywhere, exact limits, NaN stays NaN.
static Value tanhOf(LocBuilder &b, Value x) {
  Value denominator = arith::AddFOp::create(b, exp2Of(b, times(b, x, 2 * log2e)), real(b, 1));
  Value quotient = arith::MulFOp::create(b, real(b, -2), reciprocal(b, denominator));
  return arith::AddFOp::create(b, real(b, 1), quotient);
}

Value fa::hopper::lowerMath(LocBuilder &b, Operation *op) {
  Value x = op->getOperand(0);
  bool isF32 = x.getType().isF32();
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case([&](math::FmaOp fma) -> Value { return LLVM::FMAOp::create(b, fma.getA(), fma.getB(), fma.getC()); })
      .Case([&](math::AbsFOp) -> Value { return LLVM::FAbsOp::create(b, x); })
      .Case([&](math::FloorOp) -> Value { return LLVM::FFloorOp::create(b, x); })
      .Case([&](math::CeilOp) -> Value { return LLVM::FCeilOp::create(b, x); })
      .Case([&](math::SqrtOp) -> Value { return LLVM::SqrtOp::create(b, x); })
      .Case([&](math::AbsIOp) -> Value {
        Value zero = arith::ConstantOp::create(b, b.getIntegerAttr(x.getType(), 0));
        return arith::MaxSIOp::create(b, x, arith::SubIOp::create(b, zero, x));
      })
      .Case([&](math::Exp2Op) -> Value { return isF32 ? exp2Of(b, x) : Value{}; })
      .Case([&](math::ExpOp) -> Value { return isF32 ? exp2Of(b, times(b, x, log2e)) : Value{}; })
      .Case([&](math::Log2Op) -> Value { return isF32 ? log2Of(b, x) : Value{}; })
      .Case([&](math::LogOp) -> Value { return isF32 ? times(b, log2Of(b, x), ln2) : Value{}; })
      .Case([&](math::TanhOp) -> Value { return isF32 ? tanhOf(b, x) : Value{}; })
      .Case([&](math::RsqrtOp) -> Value { return isF32 ? call(b, "llvm.nvvm.rsqrt.approx.ftz.f", x) : Value{}; })
      .Default([](Operation *) { return Value{}; });
}
