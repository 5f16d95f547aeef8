// The interpreter loop of scalar regions.
#include "fa/Execution/ScalarCode.h"
#include "fa/Support/Text.h"
#include <algorithm>
#include <bit>
#include <cmath>

namespace fa::execution {
namespace {

int64_t wrap(int64_t value, unsigned width) {
  if (width >= 64)
    return value;
  if (width == 1)
    return value & 1;
  const unsigned shift = 64 - width;
  return static_cast<int64_t>(static_cast<uint64_t>(value) << shift) >> shift;
}

uint64_t asUnsigned(int64_t value, unsigned width) {
  return static_cast<uint64_t>(value) & (width >= 64 ? ~uint64_t{0} : (uint64_t{1} << width) - 1);
}

/// An i1 that holds 1 is -1 when read as signed.
int64_t asSigned(int64_t value, unsigned width) { return width == 1 ? -(value & 1) : value; }

bool compareIntegers(int64_t predicate, int64_t x, int64_t y, unsigned width) {
  const int64_t sx = asSigned(x, width), sy = asSigned(y, width);
  const uint64_t ux = asUnsigned(x, width), uy = asUnsigned(y, width);
  switch (predicate) { // arith.cmpi: eq ne slt sle sgt sge ult ule ugt uge
  case 0:
    return x == y;
  case 1:
    return x != y;
  case 2:
    return sx < sy;
  case 3:
    return sx <= sy;
  case 4:
    return sx > sy;
  case 5:
    return sx >= sy;
  case 6:
    return ux < uy;
  case 7:
    return ux <= uy;
  case 8:
    return ux > uy;
  default:
    return ux >= uy;
  }
}

bool compareFloats(int64_t predicate, double x, double y) {
  // arith.cmpf: false oeq ogt oge olt ole one ord ueq ugt uge ult ule une uno true
  const bool unordered = std::isnan(x) || std::isnan(y);
  switch (predicate) {
  case 0:
    return false;
  case 1:
    return x == y;
  case 2:
    return x > y;
  case 3:
    return x >= y;
  case 4:
    return x < y;
  case 5:
    return x <= y;
  case 6:
    return !unordered && x != y;
  case 7:
    return !unordered;
  case 8:
    return unordered || x == y;
  case 9:
    return unordered || x > y;
  case 10:
    return unordered || x >= y;
  case 11:
    return unordered || x < y;
  case 12:
    return unordered || x <= y;
  case 13:
    return unordered || x != y;
  case 14:
    return unordered;
  default:
    return true;
  }
}

double minimum(double x, double y, bool propagateNaN) {
  if (propagateNaN && (std::isnan(x) || std::isnan(y)))
    return NAN;
  if (x == y)
    return std::signbit(x) ? x : y;
  return std::fmin(x, y);
}

double maximum(double x, double y, bool propagateNaN) {
  if (propagateNaN && (std::isnan(x) || std::isnan(y)))
    return NAN;
  if (x == y)
    return std::signbit(x) ? y : x;
  return std::fmax(x, y);
}

double roundTo(DType type, double value) {
  uint64_t bits = 0;
  storeFromDouble(type, &bits, value);
  return loadAsDouble(type, &bits);
}

/// Conversion of a value out of range is undefined in C++; here it saturates.
int64_t toInteger(double x) {
  if (std::isnan(x))
    return 0;
  return x >= 0x1p63 ? INT64_MAX : x <= -0x1p63 ? INT64_MIN : static_cast<int64_t>(x);
}

int64_t toUnsignedInteger(double x) {
  return x >= 0x1p63 ? static_cast<int64_t>(x >= 0x1p64 ? UINT64_MAX : static_cast<uint64_t>(x)) : toInteger(x);
}

} // namespace

ScalarMachine::ScalarMachine(const ScalarCode &code) : code(&code), registers(code.registers) { execute(code.once); }

Slot ScalarMachine::evaluate(double score, int64_t b, int64_t h, int64_t i, int64_t j) {
  if (i != rowQuery || h != rowHead || b != rowBatch) {
    registers[ScalarCode::batchSlot].i = rowBatch = b;
    registers[ScalarCode::headSlot].i = rowHead = h;
    registers[ScalarCode::querySlot].i = rowQuery = i;
    execute(code->row);
  }
  registers[ScalarCode::scoreSlot].f = score;
  registers[ScalarCode::keySlot].i = j;
  execute(code->element);
  return registers[code->result];
}

void ScalarMachine::execute(const std::vector<Instruction> &instructions) {
  for (size_t pc = 0; pc < instructions.size(); ++pc) {
    const Instruction &x = instructions[pc];
    switch (x.op) {
    case Opcode::Jump:
      pc = static_cast<size_t>(x.immediate) - 1;
      break;
    case Opcode::JumpUnless:
      if (!registers[x.a].i)
        pc = static_cast<size_t>(x.immediate) - 1;
      break;
    case Opcode::Copy:
      registers[x.result] = registers[x.a];
      break;
    case Opcode::Select:
      registers[x.result] = registers[x.a].i ? registers[x.b] : registers[x.c];
      break;
    case Opcode::Load:
      load(x);
      break;
    default:
      x.op <= Opcode::AbsI ? executeInteger(x) : executeFloat(x);
    }
  }
}

void ScalarMachine::load(const Instruction &x) {
  const LoadSite &site = code->loads[static_cast<size_t>(x.immediate)];
  int64_t offset = 0;
  for (size_t d = 0; d < site.indices.size(); ++d) {
    const int64_t index = registers[site.indices[d]].i;
    if (index < 0 || index >= site.tensor.sizes[d]) {
      if (fault.empty())
        fault = site.what + ": expected index " + std::to_string(d) + " of a load between 0 and " +
                std::to_string(site.tensor.sizes[d] - 1) + ", but got " + std::to_string(index) + " for query " +
                std::to_string(registers[ScalarCode::querySlot].i) + " and key " +
                std::to_string(registers[ScalarCode::keySlot].i);
      registers[x.result].i = 0;
      return;
    }
    offset += index * site.tensor.strides[d];
  }
  const auto *element = reinterpret_cast<const std::byte *>(site.tensor.address()) +
                        offset * static_cast<int64_t>(sizeOf(site.tensor.type));
  if (site.isFloat)
    registers[x.result].f = loadAsDouble(site.tensor.type, element);
  else if (site.tensor.type == DType::I64) // float64 would lose bits
    registers[x.result].i = *reinterpret_cast<const int64_t *>(element);
  else
    registers[x.result].i = wrap(static_cast<int64_t>(loadAsDouble(site.tensor.type, element)), x.width);
}

int64_t ScalarMachine::divide(const Instruction &x, int64_t a, int64_t b) {
  if (asUnsigned(b, x.width) == 0) {
    if (fault.empty())
      fault = "expected a divisor other than 0 in a region, but got 0 for query " +
              std::to_string(registers[ScalarCode::querySlot].i) + " and key " +
              std::to_string(registers[ScalarCode::keySlot].i);
    return 0;
  }
  const uint64_t ua = asUnsigned(a, x.width), ub = asUnsigned(b, x.width);
  switch (x.op) {
  case Opcode::DivUI:
    return static_cast<int64_t>(ua / ub);
  case Opcode::RemUI:
    return static_cast<int64_t>(ua % ub);
  case Opcode::CeilDivUI:
    return static_cast<int64_t>(ua / ub + (ua % ub != 0));
  default:
    break;
  }
  if (b == -1)
    return x.op == Opcode::RemSI ? 0 : static_cast<int64_t>(-static_cast<uint64_t>(a));
  const int64_t quotient = a / b, remainder = a % b;
  switch (x.op) {
  case Opcode::RemSI:
    return remainder;
  case Opcode::CeilDivSI:
    return quotient + (remainder != 0 && (remainder < 0) == (b < 0));
  case Opcode::FloorDivSI:
    return quotient - (remainder != 0 && (remainder < 0) != (b < 0));
  default:
    return quotient;
  }
}

void ScalarMachine::executeInteger(const Instruction &x) {
  const int64_t a = registers[x.a].i, b = registers[x.b].i;
  const auto ua = static_cast<uint64_t>(a), ub = static_cast<uint64_t>(b);
  const int64_t sa = asSigned(a, x.width), sb = asSigned(b, x.width);
  const bool unsignedLess = asUnsigned(a, x.width) < asUnsigned(b, x.width);
  const bool shiftsOut = asUnsigned(b, x.width) >= x.width;
  int64_t r = 0;
  switch (x.op) {
  case Opcode::AddI:
    r = static_cast<int64_t>(ua + ub);
    break;
  case Opcode::SubI:
    r = static_cast<int64_t>(ua - ub);
    break;
  case Opcode::MulI:
    r = static_cast<int64_t>(ua * ub);
    break;
  case Opcode::DivSI:
  case Opcode::DivUI:
  case Opcode::RemSI:
  case Opcode::RemUI:
  case Opcode::CeilDivSI:
  case Opcode::CeilDivUI:
  case Opcode::FloorDivSI:
    r = divide(x, a, b);
    break;
  case Opcode::And:
    r = a & b;
    break;
  case Opcode::Or:
    r = a | b;
    break;
  case Opcode::Xor:
    r = a ^ b;
    break;
  case Opcode::Shl:
    r = shiftsOut ? 0 : static_cast<int64_t>(ua << ub);
    break;
  case Opcode::ShrS:
    r = sa >> (shiftsOut ? 63 : b);
    break;
  case Opcode::ShrU:
    r = shiftsOut ? 0 : static_cast<int64_t>(asUnsigned(a, x.width) >> ub);
    break;
  case Opcode::MinSI:
    r = std::min(sa, sb);
    break;
  case Opcode::MaxSI:
    r = std::max(sa, sb);
    break;
  case Opcode::MinUI:
    r = unsignedLess ? a : b;
    break;
  case Opcode::MaxUI:
    r = unsignedLess ? b : a;
    break;
  case Opcode::AbsI:
    r = a < 0 ? static_cast<int64_t>(-ua) : a;
    break;
  case Opcode::CmpI:
    registers[x.result].i = compareIntegers(x.immediate, a, b, x.width);
    return;
  // Width is that of the operand; the result is wider.
  case Opcode::ExtUI:
    registers[x.result].i = static_cast<int64_t>(asUnsigned(a, x.width));
    return;
  case Opcode::ExtSI:
    registers[x.result].i = sa;
    return;
  default:
    r = a;
    break; // TruncI
  }
  registers[x.result].i = wrap(r, x.width);
}

void ScalarMachine::executeFloat(const Instruction &x) {
  const double a = registers[x.a].f, b = registers[x.b].f;
  double r = 0;
  switch (x.op) {
  case Opcode::AddF:
    r = a + b;
    break;
  case Opcode::SubF:
    r = a - b;
    break;
  case Opcode::MulF:
    r = a * b;
    break;
  case Opcode::DivF:
    r = a / b;
    break;
  case Opcode::RemF:
    r = std::fmod(a, b);
    break;
  case Opcode::NegF:
    r = -a;
    break;
  case Opcode::MinimumF:
    r = minimum(a, b, true);
    break;
  case Opcode::MaximumF:
    r = maximum(a, b, true);
    break;
  case Opcode::MinNumF:
    r = minimum(a, b, false);
    break;
  case Opcode::MaxNumF:
    r = maximum(a, b, false);
    break;
  case Opcode::AbsF:
    r = std::fabs(a);
    break;
  case Opcode::Exp:
    r = std::exp(a);
    break;
  case Opcode::Exp2:
    r = std::exp2(a);
    break;
  case Opcode::ExpM1:
    r = std::expm1(a);
    break;
  case Opcode::Log:
    r = std::log(a);
    break;
  case Opcode::Log2:
    r = std::log2(a);
    break;
  case Opcode::Log10:
    r = std::log10(a);
    break;
  case Opcode::Log1P:
    r = std::log1p(a);
    break;
  case Opcode::Sqrt:
    r = std::sqrt(a);
    break;
  case Opcode::RSqrt:
    r = 1 / std::sqrt(a);
    break;
  case Opcode::Cbrt:
    r = std::cbrt(a);
    break;
  case Opcode::Tanh:
    r = std::tanh(a);
    break;
  case Opcode::Sin:
    r = std::sin(a);
    break;
  case Opcode::Cos:
    r = std::cos(a);
    break;
  case Opcode::Tan:
    r = std::tan(a);
    break;
  case Opcode::Sinh:
    r = std::sinh(a);
    break;
  case Opcode::Cosh:
    r = std::cosh(a);
    break;
  case Opcode::Asin:
    r = std::asin(a);
    break;
  case Opcode::Acos:
    r = std::acos(a);
    break;
  case Opcode::Atan:
    r = std::atan(a);
    break;
  case Opcode::Asinh:
    r = std::asinh(a);
    break;
  case Opcode::Acosh:
    r = std::acosh(a);
    break;
  case Opcode::Atanh:
    r = std::atanh(a);
    break;
  case Opcode::Atan2:
    r = std::atan2(a, b);
    break;
  case Opcode::Erf:
    r = std::erf(a);
    break;
  case Opcode::PowF:
    r = std::pow(a, b);
    break;
  case Opcode::FPowI:
    r = std::pow(a, static_cast<double>(registers[x.b].i));
    break;
  case Opcode::Ceil:
    r = std::ceil(a);
    break;
  case Opcode::Floor:
    r = std::floor(a);
    break;
  case Opcode::Round:
    r = std::round(a);
    break;
  case Opcode::RoundEven:
    r = std::nearbyint(a);
    break;
  case Opcode::Trunc:
    r = std::trunc(a);
    break;
  case Opcode::Fma:
    r = std::fma(a, b, registers[x.c].f);
    break;
  case Opcode::CopySign:
    r = std::copysign(a, b);
    break;
  case Opcode::SIToF:
    r = static_cast<double>(asSigned(registers[x.a].i, x.width));
    break;
  case Opcode::UIToF:
    r = static_cast<double>(asUnsigned(registers[x.a].i, x.width));
    break;
  case Opcode::RoundF:
    r = roundTo(static_cast<DType>(x.immediate), a);
    break;
  case Opcode::Ext:
    r = a;
    break;
  case Opcode::F32OfBits:
    r = std::bit_cast<float>(static_cast<uint32_t>(registers[x.a].i));
    break;
  case Opcode::F64OfBits:
    r = std::bit_cast<double>(registers[x.a].i);
    break;
  case Opcode::CmpF:
    registers[x.result].i = compareFloats(x.immediate, a, b);
    return;
  case Opcode::IsNaN:
    registers[x.result].i = std::isnan(a);
    return;
  case Opcode::IsInf:
    registers[x.result].i = std::isinf(a);
    return;
  case Opcode::IsFinite:
    registers[x.result].i = std::isfinite(a);
    return;
  case Opcode::FToSI:
    registers[x.result].i = wrap(toInteger(a), x.width);
    return;
  case Opcode::FToUI:
    registers[x.result].i = wrap(toUnsignedInteger(a), x.width);
    return;
  case Opcode::BitsOfF32:
    registers[x.result].i = static_cast<int32_t>(std::bit_cast<uint32_t>(static_cast<float>(a)));
    return;
  case Opcode::BitsOfF64:
    registers[x.result].i = std::bit_cast<int64_t>(a);
    return;
  default:
    break;
  }
  registers[x.result].f = r;
}

} // namespace fa::execution
