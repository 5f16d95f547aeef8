// Arithmetic opcodes: integers, floats, approximate functions.
#include "LowerScalar.h"
#include "fa/Runtime/Emulator/Engine/SpecialFunctions.h"

namespace fa::runtime::emulator {
namespace {

using namespace scalar;
using ptx::Operand;

/// Directed rounding: slow path through the host's rounding mode.
void emitRounded(OpContext &context, int operation, size_t sources) {
  emitTyped(context, LaneOp::MovB32, sources);
  context.out.handler = handleRounded;
  context.out.size = static_cast<uint16_t>(bytesOf(context.op.type()));
  context.out.mode = static_cast<uint16_t>(operation | roundingOf(context.op) << 4 | (context.op.has("ftz") ? 64 : 0) |
                                           (context.op.has("sat") ? 128 : 0));
}

void emitCarry(OpContext &context, int operation, bool uses) {
  emitTyped(context, LaneOp::MovB32, operation >= 2 ? 3 : 2);
  context.out.handler = handleCarry;
  context.out.size = static_cast<uint16_t>(bytesOf(context.op.type()));
  context.out.mode = static_cast<uint16_t>(operation | (uses ? 16 : 0) | (context.op.has("cc") ? 32 : 0) |
                                           (context.op.type()[0] == 's' ? 64 : 0));
}

struct FloatFamily {
  int operation; ///< of handleRounded
  LaneOp f32, f32Ftz, f32Sat, f32SatFtz, f64, f16, bf16, f16x2, bf16x2;
};

/// add, sub, mul, fma on floating-point types.
bool lowerFloat(OpContext &context, const FloatFamily &family, size_t sources) {
  const Opcode &op = context.op;
  std::string_view type = op.type();
  if (!isFloatType(type))
    return false;
  if (roundingOf(op) && (type == "f32" || type == "f64")) {
    emitRounded(context, family.operation, sources);
    return true;
  }
  bool ftz = op.has("ftz"), sat = op.has("sat");
  if (type == "f32")
    emitTyped(context, sat ? (ftz ? family.f32SatFtz : family.f32Sat) : ftz ? family.f32Ftz : family.f32, sources);
  else if (sat || op.has("relu"))
    return true; // no handler: refused
  else
    emitTyped(context,
              type == "f64"     ? family.f64
              : type == "f16"   ? family.f16
              : type == "bf16"  ? family.bf16
              : type == "f16x2" ? family.f16x2
                                : family.bf16x2,
              sources);
  return true;
}

constexpr FloatFamily addFamily{0,
                                LaneOp::AddF32,
                                LaneOp::AddF32Ftz,
                                LaneOp::AddSatF32,
                                LaneOp::AddSatF32Ftz,
                                LaneOp::AddF64,
                                LaneOp::AddF16,
                                LaneOp::AddBF16,
                                LaneOp::AddF16x2,
                                LaneOp::AddBF16x2};
constexpr FloatFamily subFamily{1,
                                LaneOp::SubF32,
                                LaneOp::SubF32Ftz,
                                LaneOp::SubSatF32,
                                LaneOp::SubSatF32Ftz,
                                LaneOp::SubF64,
                                LaneOp::SubF16,
                                LaneOp::SubBF16,
                                LaneOp::SubF16x2,
                                LaneOp::SubBF16x2};
constexpr FloatFamily mulFamily{2,
                                LaneOp::MulF32,
                                LaneOp::MulF32Ftz,
                                LaneOp::MulSatF32,
                                LaneOp::MulSatF32Ftz,
                                LaneOp::MulF64,
                                LaneOp::MulF16,
                                LaneOp::MulBF16,
                                LaneOp::MulF16x2,
                                LaneOp::MulBF16x2};
constexpr FloatFamily fmaFamily{3,
                                LaneOp::FmaF32,
                                LaneOp::FmaF32Ftz,
                                LaneOp::FmaSatF32,
                                LaneOp::FmaSatF32Ftz,
                                LaneOp::FmaF64,
                                LaneOp::FmaF16,
                                LaneOp::FmaBF16,
                                LaneOp::FmaF16x2,
                                LaneOp::FmaBF16x2};

void lowerAdd(OpContext &context) {
  LaneOp op;
  if (lowerFloat(context, addFamily, 2))
    return;
  if (context.op.has("cc"))
    return emitCarry(context, 0, false);
  if (context.op.has("sat")) {
    if (context.op.type() == "s32")
      emitTyped(context, LaneOp::AddSatS32, 2);
  } else if (pick(context,
                  {{"u16", LaneOp::AddU16},
                   {"s16", LaneOp::AddU16},
                   {"u32", LaneOp::AddU32},
                   {"s32", LaneOp::AddU32},
                   {"u64", LaneOp::AddU64},
                   {"s64", LaneOp::AddU64}},
                  op)) {
    emitTyped(context, op, 2);
  }
}

void lowerSub(OpContext &context) {
  LaneOp op;
  if (lowerFloat(context, subFamily, 2))
    return;
  if (context.op.has("cc"))
    return emitCarry(context, 1, false);
  if (context.op.has("sat")) {
    if (context.op.type() == "s32")
      emitTyped(context, LaneOp::SubSatS32, 2);
  } else if (pick(context,
                  {{"u16", LaneOp::SubU16},
                   {"s16", LaneOp::SubU16},
                   {"u32", LaneOp::SubU32},
                   {"s32", LaneOp::SubU32},
                   {"u64", LaneOp::SubU64},
                   {"s64", LaneOp::SubU64}},
                  op)) {
    emitTyped(context, op, 2);
  }
}

void lowerAddCarry(OpContext &context) { emitCarry(context, 0, true); }
void lowerSubCarry(OpContext &context) { emitCarry(context, 1, true); }

void lowerMul(OpContext &context) {
  LaneOp op;
  if (lowerFloat(context, mulFamily, 2))
    return;
  unsigned bytes = bytesOf(context.op.type());
  if (context.op.has("wide")) {
    if (pick(context,
             {{"u16", LaneOp::MulWideU16},
              {"s16", LaneOp::MulWideS16},
              {"u32", LaneOp::MulWideU32},
              {"s32", LaneOp::MulWideS32}},
             op))
      emit(context, op, 2 * bytes, {bytes, bytes});
  } else if (context.op.has("hi")) {
    if (pick(context,
             {{"u16", LaneOp::MulHiU16},
              {"s16", LaneOp::MulHiS16},
              {"u32", LaneOp::MulHiU32},
              {"s32", LaneOp::MulHiS32},
              {"u64", LaneOp::MulHiU64},
              {"s64", LaneOp::MulHiS64}},
             op))
      emitTyped(context, op, 2);
  } else if (context.op.has("lo")) {
    if (pick(context,
             {{"u16", LaneOp::MulLoU16},
              {"s16", LaneOp::MulLoU16},
              {"u32", LaneOp::MulLoU32},
              {"s32", LaneOp::MulLoU32},
              {"u64", LaneOp::MulLoU64},
              {"s64", LaneOp::MulLoU64}},
             op))
      emitTyped(context, op, 2);
  }
}

void lowerFma(OpContext &context) { lowerFloat(context, fmaFamily, 3); }

void lowerMad(OpContext &context) {
  LaneOp op;
  if (lowerFloat(context, fmaFamily, 3))
    return;
  unsigned bytes = bytesOf(context.op.type());
  if (context.op.has("cc"))
    return emitCarry(context, context.op.has("hi") ? 3 : 2, false);
  if (context.op.has("wide")) {
    if (pick(context,
             {{"u16", LaneOp::MadWideU16},
              {"s16", LaneOp::MadWideS16},
              {"u32", LaneOp::MadWideU32},
              {"s32", LaneOp::MadWideS32}},
             op))
      emit(context, op, 2 * bytes, {bytes, bytes, 2 * bytes});
  } else if (context.op.has("hi")) {
    if (pick(context,
             {{"u32", LaneOp::MadHiU32},
              {"s32", LaneOp::MadHiS32},
              {"u64", LaneOp::MadHiU64},
              {"s64", LaneOp::MadHiS64}},
             op))
      emitTyped(context, op, 3);
  } else if (context.op.has("lo")) {
    if (pick(context,
             {{"u16", LaneOp::MadLoU16},
              {"s16", LaneOp::MadLoU16},
              {"u32", LaneOp::MadLoU32},
              {"s32", LaneOp::MadLoU32},
              {"u64", LaneOp::MadLoU64},
              {"s64", LaneOp::MadLoU64}},
             op))
      emitTyped(context, op, 3);
  }
}

void lowerMadCarry(OpContext &context) { emitCarry(context, context.op.has("hi") ? 3 : 2, true); }

void lowerDiv(OpContext &context) {
  LaneOp op;
  if (context.op.type() == "f32") {
    if (roundingOf(context.op))
      return emitRounded(context, 4, 2);
    return emitTyped(context, context.op.has("ftz") ? LaneOp::DivF32Ftz : LaneOp::DivF32, 2);
  }
  if (context.op.type() == "f64" && roundingOf(context.op))
    return emitRounded(context, 4, 2);
  if (pick(context,
           {{"u16", LaneOp::DivU16},
            {"s16", LaneOp::DivS16},
            {"u32", LaneOp::DivU32},
            {"s32", LaneOp::DivS32},
            {"u64", LaneOp::DivU64},
            {"s64", LaneOp::DivS64},
            {"f64", LaneOp::DivF64}},
           op))
    emitTyped(context, op, 2);
}

void lowerRem(OpContext &context) {
  LaneOp op;
  if (pick(context,
           {{"u16", LaneOp::RemU16},
            {"s16", LaneOp::RemS16},
            {"u32", LaneOp::RemU32},
            {"s32", LaneOp::RemS32},
            {"u64", LaneOp::RemU64},
            {"s64", LaneOp::RemS64}},
           op))
    emitTyped(context, op, 2);
}

void lowerNeg(OpContext &context) {
  LaneOp op;
  if (context.op.type() == "f32" && context.op.has("ftz"))
    return emitTyped(context, LaneOp::NegF32Ftz, 1);
  if (pick(context,
           {{"s16", LaneOp::NegS16},
            {"s32", LaneOp::NegS32},
            {"s64", LaneOp::NegS64},
            {"f32", LaneOp::NegF32},
            {"f64", LaneOp::NegF64},
            {"f16", LaneOp::NegB16},
            {"bf16", LaneOp::NegB16},
            {"f16x2", LaneOp::NegB16x2},
            {"bf16x2", LaneOp::NegB16x2}},
           op))
    emitTyped(context, op, 1);
}

void lowerAbs(OpContext &context) {
  LaneOp op;
  if (context.op.type() == "f32" && context.op.has("ftz"))
    return emitTyped(context, LaneOp::AbsF32Ftz, 1);
  if (pick(context,
           {{"s16", LaneOp::AbsS16},
            {"s32", LaneOp::AbsS32},
            {"s64", LaneOp::AbsS64},
            {"f32", LaneOp::AbsF32},
            {"f64", LaneOp::AbsF64},
            {"f16", LaneOp::AbsB16},
            {"bf16", LaneOp::AbsB16},
            {"f16x2", LaneOp::AbsB16x2},
            {"bf16x2", LaneOp::AbsB16x2}},
           op))
    emitTyped(context, op, 1);
}

void lowerMinMax(OpContext &context) {
  bool isMax = context.op.parts[0] == "max", nan = context.op.has("NaN"), ftz = context.op.has("ftz");
  std::string_view type = context.op.type();
  LaneOp op;
  if (context.op.has("xorsign"))
    return;
  if (context.op.has("relu")) {
    if (type == "s32")
      emitTyped(context, isMax ? LaneOp::MaxRelu : LaneOp::MinRelu, 2);
    return;
  }
  if (type == "f32") {
    op = isMax ? (nan   ? (ftz ? LaneOp::MaxNaNF32Ftz : LaneOp::MaxNaNF32)
                  : ftz ? LaneOp::MaxF32Ftz
                        : LaneOp::MaxF32)
               : (nan   ? (ftz ? LaneOp::MinNaNF32Ftz : LaneOp::MinNaNF32)
                  : ftz ? LaneOp::MinF32Ftz
                        : LaneOp::MinF32);
    return emitTyped(context, op, 2);
  }
  bool found = isMax ? pick(context,
                            {{"u16", LaneOp::MaxU16},
                             {"s16", LaneOp::MaxS16},
                             {"u32", LaneOp::MaxU32},
                             {"s32", LaneOp::MaxS32},
                             {"u64", LaneOp::MaxU64},
                             {"s64", LaneOp::MaxS64},
                             {"f64", LaneOp::MaxF64},
                             {"f16", nan ? LaneOp::MaxNaNF16 : LaneOp::MaxF16},
                             {"bf16", nan ? LaneOp::MaxNaNBF16 : LaneOp::MaxBF16},
                             {"f16x2", nan ? LaneOp::MaxNaNF16x2 : LaneOp::MaxF16x2},
                             {"bf16x2", nan ? LaneOp::MaxNaNBF16x2 : LaneOp::MaxBF16x2}},
                            op)
                     : pick(context,
                            {{"u16", LaneOp::MinU16},
                             {"s16", LaneOp::MinS16},
                             {"u32", LaneOp::MinU32},
                             {"s32", LaneOp::MinS32},
                             {"u64", LaneOp::MinU64},
                             {"s64", LaneOp::MinS64},
                             {"f64", LaneOp::MinF64},
                             {"f16", nan ? LaneOp::MinNaNF16 : LaneOp::MinF16},
                             {"bf16", nan ? LaneOp::MinNaNBF16 : LaneOp::MinBF16},
                             {"f16x2", nan ? LaneOp::MinNaNF16x2 : LaneOp::MinF16x2},
                             {"bf16x2", nan ? LaneOp::MinNaNBF16x2 : LaneOp::MinBF16x2}},
                            op);
  if (found)
    emitTyped(context, op, 2);
}

void lowerSad(OpContext &context) {
  LaneOp op;
  if (pick(context, {{"u32", LaneOp::SadU32}, {"s32", LaneOp::SadS32}}, op))
    emitTyped(context, op, 3);
}

void lowerCopysign(OpContext &context) {
  emitTyped(context, context.op.type() == "f64" ? LaneOp::CopysignF64 : LaneOp::CopysignF32, 2);
}

void lowerSpecialFunction(OpContext &context) {
  std::string_view word = context.op.parts[0], type = context.op.type();
  const Opcode &op = context.op;
  bool ftz = op.has("ftz"), approx = op.has("approx");
  if (type == "f64") {
    if (roundingOf(op))
      return;
    if (word == "rcp" || word == "sqrt" || word == "rsqrt")
      emitTyped(context, word == "rcp" ? LaneOp::RcpF64 : word == "sqrt" ? LaneOp::SqrtF64 : LaneOp::RsqrtF64, 1);
    return;
  }
  if (type == "f32" && !approx && (word == "rcp" || word == "sqrt")) {
    if (roundingOf(op))
      return emitRounded(context, word == "rcp" ? 6 : 5, 1);
    return emitTyped(context,
                     word == "rcp" ? (ftz ? LaneOp::RcpF32Ftz : LaneOp::RcpF32)
                     : ftz         ? LaneOp::SqrtF32Ftz
                                   : LaneOp::SqrtF32,
                     1);
  }
  SpecialFunction function = word == "ex2"     ? SpecialFunction::Ex2
                             : word == "lg2"   ? SpecialFunction::Lg2
                             : word == "rcp"   ? SpecialFunction::Rcp
                             : word == "rsqrt" ? SpecialFunction::Rsqrt
                             : word == "sqrt"  ? SpecialFunction::Sqrt
                             : word == "tanh"  ? SpecialFunction::Tanh
                             : word == "sin"   ? SpecialFunction::Sin
                                               : SpecialFunction::Cos;
  emitTyped(context, LaneOp::MovB32, 1);
  context.out.mode = static_cast<uint16_t>(static_cast<unsigned>(function) | (ftz ? 256 : 0) |
                                           (type.starts_with("bf16") ? 512 : 0) | (type.ends_with("x2") ? 1024 : 0));
  context.out.handler = type == "f32" ? handleSpecialFunction : handleSpecialFunctionHalf;
}

constexpr OpPattern patterns[] = {
    {"add", "@int @float rn rz rm rp ftz sat cc", "daa", lowerAdd},
    {"sub", "@int @float rn rz rm rp ftz sat cc", "daa", lowerSub},
    {"addc", "cc u32 s32 u64 s64", "daa", lowerAddCarry},
    {"subc", "cc u32 s32 u64 s64", "daa", lowerSubCarry},
    {"mul", "@int @float lo hi wide rn rz rm rp ftz sat", "daa", lowerMul},
    {"fma", "@float rn rz rm rp ftz sat relu", "daaa", lowerFma},
    {"mad", "@int f32 f64 lo hi wide rn rz rm rp ftz sat cc", "daaa", lowerMad},
    {"madc", "cc lo hi u32 s32 u64 s64", "daaa", lowerMadCarry},
    {"div", "@int f32 f64 rn rz rm rp approx full ftz", "daa", lowerDiv},
    {"rem", "@int", "daa", lowerRem},
    {"neg", "@int @float ftz", "da", lowerNeg},
    {"abs", "@int @float ftz", "da", lowerAbs},
    {"min", "@int @float ftz NaN relu", "daa", lowerMinMax},
    {"max", "@int @float ftz NaN relu", "daa", lowerMinMax},
    {"sad", "u32 s32", "daaa", lowerSad},
    {"copysign", "f32 f64", "daa", lowerCopysign},
    {"ex2", "approx ftz f32 f16 f16x2 bf16 bf16x2", "da", lowerSpecialFunction},
    {"lg2", "approx ftz f32", "da", lowerSpecialFunction},
    {"rcp", "approx ftz rn rz rm rp f32 f64", "da", lowerSpecialFunction},
    {"rsqrt", "approx ftz f32 f64", "da", lowerSpecialFunction},
    {"sqrt", "approx ftz rn rz rm rp f32 f64", "da", lowerSpecialFunction},
    {"tanh", "approx f32 f16 f16x2 bf16 bf16x2", "da", lowerSpecialFunction},
    {"sin", "approx ftz f32", "da", lowerSpecialFunction},
    {"cos", "approx ftz f32", "da", lowerSpecialFunction},
};

} // namespace

std::span<const OpPattern> arithmeticPatterns() { return patterns; }

} // namespace fa::runtime::emulator
